//! The audit of a run: what was produced against what consumers say that they handled.
//!
//! ```text
//!  Produced (ids by partition) ─┐
//!  Handled (a line a record) ───┼─► Ledger ─► Audit: lost, duplicated, out of order, state, gaps
//!  Incident (who died when) ────┘
//! ```
//!
//! The demonstration and the end-to-end test judge by the same numbers. All times are those that consumers wrote
//! when they handled a record; nothing is taken from the assigner's own records. All of this is pure. The module
//! [`requests`] judges in the same way the answers that callers of single writers got against the log.
//!
//! The feature `watcher` adds an observer of a group's records in the store, whichever store it is.
//!
//! Start reading at [`Ledger`], then [`Audit`] for the meaning of each number.

mod audit;
mod calm;
mod counts;
mod entry;
mod moves;
mod percentile;
pub mod requests;
mod span;
mod stale;
mod state;
mod together;
#[cfg(feature = "watcher")]
pub mod watcher;

pub use audit::{Audit, Gaps};
pub use entry::{Handled, Incident, Micros};
pub use moves::{Class, Move};
pub use percentile::Spread;
pub use state::{FinalState, KeyState};

use std::collections::BTreeMap;

use kafka_assigner_types::id::TopicPartition;

/// Everything that is known of a run.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// By partition: the ids that were produced and acknowledged, in the order of their offsets.
    pub produced: BTreeMap<TopicPartition, Vec<Record>>,
    /// The records that consumers say they handled, in any order.
    pub handled: Vec<Handled>,
    /// The faults that were injected into the run, in any order.
    pub incidents: Vec<Incident>,
    /// The state of each partition's owner at the end.
    pub states: Vec<FinalState>,
}

/// One produced record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id, unique in the run.
    pub id: u64,
    /// Its key.
    pub key: String,
}
