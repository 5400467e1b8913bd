//! The results of commands: each report is a table for people and, field by field, JSON for programs.
//!
//! The names of fields are stable: later versions add fields and take none away. What is missing is `null`.
//! Moments are `…_unix_ms`, milliseconds since 1970; time spans are `…_ms`.

mod assignment;
mod consumer;
mod done;
mod event;
mod explanation;
mod group;
mod handoff;
mod plan;
mod store;
mod strategy;
mod topic;
mod values;

pub(crate) use assignment::Assignments;
pub(crate) use consumer::ConsumerList;
pub(crate) use done::{Aborted, ConsumerEnded, GroupDeleted, GroupSet, Resumed, TopicDeleted, TopicSet};
pub(crate) use event::EventReport;
pub(crate) use explanation::Explanation;
pub(crate) use group::{GroupDescription, Groups};
pub(crate) use handoff::Handoffs;
pub(crate) use plan::PlanReport;
pub(crate) use store::{ImportedGroup, StoreImport, StoreRestoration};
pub(crate) use strategy::{StrategyEntry, StrategyList};
pub(crate) use topic::Topics;
