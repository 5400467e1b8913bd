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
mod strategy;
mod topic;

pub(crate) use assignment::{AssignmentEntry, Assignments};
pub(crate) use consumer::{ConsumerEntry, ConsumerList};
pub(crate) use done::{Aborted, GroupDeleted, GroupSet, TopicDeleted, TopicSet};
pub(crate) use event::EventReport;
pub(crate) use explanation::Explanation;
pub(crate) use group::{GroupDescription, GroupLeader, GroupSettings, GroupSummary, Groups};
pub(crate) use handoff::{HandoffEnded, HandoffEntry, Handoffs};
pub(crate) use plan::{PlanReport, PlannedMove};
pub(crate) use strategy::{StrategyEntry, StrategyList};
pub(crate) use topic::{TopicEntry, Topics};

use crate::output::span;

/// The wire's empty text stands for none.
fn some(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}

/// The wire's moment zero stands for unknown.
const fn known(unix_ms: i64) -> Option<i64> {
    if unix_ms == 0 { None } else { Some(unix_ms) }
}

/// The gap that a move left, in words.
fn gap(ms: u64) -> String {
    if ms == 0 { "no gap".to_owned() } else { format!("a gap of {}", span(ms)) }
}
