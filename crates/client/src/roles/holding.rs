//! The handler's side of one partition: its state, and the call that runs.

use kafka_assigner_types::id::{Epoch, HandoffId, Offset};

use super::call::Call;
use super::pace::WarmUpPace;
use super::role::Provenance;

/// The handler's state of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Holding {
    /// Nothing.
    #[default]
    Nothing,
    /// A finished preparation.
    Warm(Provenance),
    /// Its fences, and everything up to where the old owner stopped, for this handoff.
    CaughtUp(HandoffId),
    /// The rest of a preparation that failed or was cancelled, or that a failed start made useless.
    Spoiled,
    /// It processes.
    Owned,
    /// It has stopped, and keeps its state.
    Drained(Stop),
}

/// The point at which an owner stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    /// The last epoch that it held.
    pub(super) epoch: Epoch,
    /// The offset after the last handled record; `None` = not known.
    pub(super) next_offset: Option<Offset>,
}

/// A call that the handler has not answered yet.
#[derive(Debug)]
pub(super) struct RunningCall {
    pub(super) call: Call,
    pub(super) cancelled: bool,
    /// True if it is a drain that is not wanted any more, and ends undone if it still waits for requests.
    pub(super) recalled: bool,
    pub(super) pace: WarmUpPace,
}
