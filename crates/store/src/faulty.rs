//! A link to a store with injected faults, for simulations and tests.
//!
//! It ships, behind the feature `testing`, because the tests of this crate and of the server use it as the simulation does,
//! and whoever embeds the server can see their own program with a store that fails.
//!
//! Each simulated instance gets a [`FaultyStore`] of its own over one shared store, so that one instance
//! can be cut off while the others work. What goes wrong is a script, a seed with [`Rates`], or an
//! [`Outage`] with a beginning and an end; [`Counts`] tells what really happened. On a current-thread
//! runtime in paused time, equal seeds give equal runs.

mod link;
mod source;
mod store;
mod watch;

pub use link::Outage;
pub use source::{Counts, Fault, Rates};
pub use store::{CALL_DEADLINE, FaultyStore};
