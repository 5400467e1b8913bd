//! The calls of operators: everything that there is to see of a group, and the few things that they may change.
//!
//! What is shown is read from this instance's view. What is changed is written under guards on what was read, by
//! whichever instance was asked; a leader then acts on it as on any other change.

mod abort;
mod assignments;
mod configure;
mod consumers;
mod explain;
mod groups;
mod handoffs;
mod modes;
mod page;
mod plan;
mod service;
mod show;
mod topics;
mod watch;

pub use service::AdminService;
pub use watch::Events;
