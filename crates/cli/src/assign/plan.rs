//! The answer of a strategy to a line that was read: [`placed::place`].

mod kafka;
pub(super) mod placed;
mod problem;
pub(super) mod reason;
mod warning;
