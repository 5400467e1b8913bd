//! The state that a view shows: the copy, and its health.

use std::fmt::Debug;

use kafka_assigner_types::kv::{Change, Revision};
use tokio::time::Instant;

/// A value that a view keeps, and that changes are applied to.
pub trait Materialized: Debug + Send + Sync + 'static {
    /// The part of the value that an update concerns, for listeners.
    type Touched: Debug + Send + Sync + 'static;

    /// Takes over `changes`, after which the value stands at `revision`.
    ///
    /// From a watch they come in the order of their revisions and may be none, when only the revision
    /// moves on. After a listing they are the difference to it: deletions first, then puts in the order of
    /// their keys; what happened in between is not told.
    fn apply(&mut self, changes: &[Change], revision: Revision) -> Self::Touched;
}

/// The health of a view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewHealth {
    /// Everything up to here has been applied. Zero before the first listing; it never goes back.
    pub revision: Revision,
    /// A watch runs.
    pub connected: bool,
    /// The keeper has ended: the view does not change any more.
    pub stopped: bool,
    /// The time of the store's last answer.
    pub last_progress: Option<Instant>,
    /// Listings that were taken over; one on a calm day.
    pub listings: u64,
    /// Comparisons with a fresh listing that were completed.
    pub checks: u64,
    /// Keys that such a comparison found to differ, and healed. Anything but zero is a fault to report.
    pub drifted: u64,
    /// A listing, at the start of a watch or of a comparison, showed a key at an earlier state than the copy has, though the
    /// store's revision is higher: the store was put back, and the copy does not follow it.
    pub went_back: bool,
    /// The last failure, also when it has been recovered from.
    pub last_error: Option<String>,
}

/// The copy, and the revision at which it stands.
#[derive(Debug)]
pub(super) struct State<T> {
    pub(super) value: T,
    pub(super) revision: Revision,
}
