//! The audit of a run: what was produced against what consumers say that they handled.
//!
//! ```text
//!  Produced (ids by partition) ─┐
//!  Handled (a line a record) ───┼─► Ledger ─► Audit: lost, duplicated, out of order, state, gaps
//!  Incident (who died when) ────┘
//! ```
//!
//! The demonstration and the end-to-end test judge by the same numbers. All times are those that consumers wrote
//! when they handled a record; nothing is taken from the assigner's own records. Everything here is pure.
//!
//! Start reading at [`Ledger`], then [`Audit`] for what each number means.

mod audit;
mod calm;
mod counts;
mod entry;
mod moves;
mod percentile;
mod span;
mod stale;
mod state;
mod together;

pub use audit::{Audit, Gaps};
pub use entry::{Handled, Incident, Micros, Slot};
pub use moves::{Class, Move};
pub use percentile::Spread;
pub use state::{FinalState, KeyState};

use std::collections::BTreeMap;

/// Everything that is known of a run.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// By partition: the ids that were produced and acknowledged, in the order of their offsets.
    pub produced: BTreeMap<Slot, Vec<Record>>,
    /// What consumers wrote about their own handling, in any order.
    pub handled: Vec<Handled>,
    /// What was done to the run on purpose, in any order.
    pub incidents: Vec<Incident>,
    /// What the owners of each partition had in their state at the end.
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
