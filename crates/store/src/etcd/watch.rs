//! Watches: one stream for all of them.

mod command;
mod driver;
mod progress;
mod registry;
mod watches;

pub(super) use watches::Watches;
