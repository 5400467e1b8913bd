//! The promises of [`Store`](crate::Store), as a suite that every implementation has to pass.
//!
//! It ships, behind the feature `testing`, because whoever writes a store of their own needs it: the service relies on each
//! of these promises.
//!
//! A test hands a [`Subject`] to [`run`]. Each [`Case`] works under a prefix of its own, so that the
//! suite can share a server with others, and is bounded in time. It works in real and in paused time.

mod bench;
mod compaction;
mod leases;
mod records;
mod suite;
mod txns;
mod watches;

pub use bench::{Case, Subject};
pub use suite::{cases, run};
