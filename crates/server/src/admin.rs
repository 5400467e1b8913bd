//! The calls of operators: everything that there is to see of a group, and the few things that they may change.
//!
//! Answers are read from this instance's view. Changes are written under guards on the records that were read, by
//! whichever instance was asked; a leader then acts on it as on any other change.

mod abort;
mod assignments;
mod configure;
mod consumers;
mod end;
mod explain;
mod groups;
mod handoffs;
mod modes;
mod page;
mod plan;
mod resume;
mod service;
mod show;
mod topics;
mod watch;

pub use service::AdminService;
pub use watch::Events;
