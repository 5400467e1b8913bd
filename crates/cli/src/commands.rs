//! The commands: their arguments, and the calls to an instance. One file for each noun.

mod admin_command;
mod arguments;
mod assignments;
mod confirm;
mod consumers;
mod explain;
mod groups;
mod handoffs;
mod plan;
mod resume;
mod strategies;
mod topics;
mod watch;

pub(crate) use admin_command::AdminCommand;
pub(crate) use confirm::ConfirmationFlag;
