//! Leader election: a key under a lease, created by the instance that finds it absent.
//!
//! Standbys write nothing while the key is held: they watch it from the revision at which they read it,
//! and read it again at a bounded interval in case the watch has gone deaf. A won [`Term`] is a guard for
//! the leader's writes and a clock of its own, which ends before the lease can.

mod campaign;
mod keeper;
mod options;
mod part;
mod term;
mod vacancy;

pub use options::Options;
pub use part::Election;
pub use term::{End, Term};
