//! The pace of a preparation: it holds a place among those that run at once for as long as it gets further.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;

/// The time without progress after which a preparation holds no place any more: as long as one for a handoff may wait for its
/// first record, and far above the pauses of one that gets further. One that is only slow, as one whose
/// handler opens a large state and tells nothing of it, costs no more than a preparation that begins beside it.
const STALLED_AFTER: Duration = Duration::from_secs(30);

/// The time between two looks at a preparation: short against [`STALLED_AFTER`], and most are over before the first one.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The text for people about a preparation that holds no place.
pub(super) const NO_PROGRESS: &str = "it has made no progress for 30 s or longer";

/// The pace of one preparation, as it was at the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WarmUpPace {
    done: u64,
    moved_at: Moment,
    looked_at: Moment,
}

impl WarmUpPace {
    /// It begins now.
    pub(super) const fn since(now: Moment) -> Self {
        Self { done: 0, moved_at: now, looked_at: now }
    }

    /// Takes in how much is done by `now`; any other number than before is progress.
    pub(super) fn look(&mut self, now: Moment, done: u64) {
        let moved_at = if done == self.done { self.moved_at } else { now };
        *self = Self { done, moved_at, looked_at: now };
    }

    /// True if it had made no progress for long at the last look.
    pub(super) fn is_stalled(self) -> bool {
        self.looked_at.since(self.moved_at) >= STALLED_AFTER
    }

    pub(super) fn next_look(self) -> Moment {
        self.looked_at + LOOK_EVERY
    }
}
