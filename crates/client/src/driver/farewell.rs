//! The last word of a session that was taken away: it has stopped.
//!
//! Until it is said, others wait for the session's claim, up to its time to live. It is proof, so it is said only once
//! everything that the session held was dropped and no request is left that it admitted. Nothing depends on it: unsaid,
//! or not heard in time, the session runs out.

use kafka_assigner_types::id::Incarnation;

/// The notice that is owed to the service for a session that is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StoppedNotice {
    /// Nothing.
    Settled,
    /// Something of this incarnation may still act.
    Owed { incarnation: Incarnation },
    /// It is being said.
    UnderWay { incarnation: Incarnation },
}

impl StoppedNotice {
    pub(super) fn is_settled(&self) -> bool {
        *self == Self::Settled
    }

    /// The incarnation of which it is to be said now, if `has_stopped` says that it is true.
    pub(super) fn take_due(&mut self, has_stopped: impl FnOnce() -> bool) -> Option<Incarnation> {
        let Self::Owed { incarnation } = self else { return None };
        if !has_stopped() {
            return None;
        }
        let incarnation = incarnation.clone();
        *self = Self::UnderWay { incarnation: incarnation.clone() };
        Some(incarnation)
    }

    /// It was said, or nobody heard it in time.
    pub(super) fn said(&mut self, incarnation: Incarnation) {
        // Another session may have been lost meanwhile.
        if *self == (Self::UnderWay { incarnation }) {
            *self = Self::Settled;
        }
    }
}
