//! A copy of everything under a prefix that follows the store.
//!
//! A [`Keeper`] lists at a revision, watches from the next one on, and applies what comes in order. When
//! the watch is lost it lists again and applies the difference. At intervals it compares the copy with a
//! fresh listing, and heals and counts what differs. [`View`] is the handle: it reads, waits and listens.

mod check;
mod error;
mod handle;
mod index;
mod keeper;
mod listener;
mod options;
mod state;

pub use error::Error;
pub use handle::View;
pub use keeper::Keeper;
pub use listener::{Listener, Notice};
pub use options::Options;
pub use state::{Materialized, ViewHealth};
