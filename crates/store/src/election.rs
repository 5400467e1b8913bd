//! Leader election: a key under a lease, created by the instance that finds it absent.
//!
//! Standbys write nothing while the key is held: they watch it from the revision at which they read it,
//! and read it again at a bounded interval in case the watch has gone deaf. A won [`Term`] is a guard for
//! the leader's writes and a clock of its own, which ends before the lease can.
//!
//! All keys of an instance hang on one [`LeaderLease`]: renewals cost the same however many groups it leads. A term that
//! ends alone deletes its own key.

mod campaign;
mod keeper;
mod lease;
mod lease_keeper;
mod options;
mod part;
mod term;
mod vacancy;

pub use lease::LeaderLease;
pub use lease_keeper::LeaderLeaseKeeper;
pub use options::{LeaseOptions, Options};
pub use part::Election;
pub use term::{End, Term};
