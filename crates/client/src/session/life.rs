//! The life of a session: being opened, open, or over.

use kafka_assigner_proto::v1::SessionInfo;

use super::claim_clock::ClaimClock;

/// The state of the session.
#[derive(Debug)]
pub(super) enum Life {
    Opening { incarnation: String },
    Live(Live),
    Finished,
}

/// An open session.
#[derive(Debug, Clone)]
pub(super) struct Live {
    pub(super) incarnation: String,
    pub(super) lease: i64,
    pub(super) claim: ClaimClock,
}

impl Life {
    pub(super) const fn live(&self) -> Option<&Live> {
        match self {
            Self::Live(live) => Some(live),
            Self::Opening { .. } | Self::Finished => None,
        }
    }

    pub(super) const fn live_mut(&mut self) -> Option<&mut Live> {
        match self {
            Self::Live(live) => Some(live),
            Self::Opening { .. } | Self::Finished => None,
        }
    }

    /// The incarnation and the lease to ask for, 0 for a new one; `None` = for nothing any more.
    pub(super) fn to_ask_for(&self) -> Option<(String, i64)> {
        match self {
            Self::Opening { incarnation } => Some((incarnation.clone(), 0)),
            Self::Live(live) => Some((live.incarnation.clone(), live.lease)),
            Self::Finished => None,
        }
    }

    /// True if a snapshot of this session is one of the session that was asked for.
    pub(super) fn may_be(&self, session: &SessionInfo) -> bool {
        match self {
            Self::Opening { incarnation } => {
                session.incarnation == *incarnation && session.lease != 0 && session.ttl_ms > 0
            }
            Self::Live(live) => session.incarnation == live.incarnation && session.lease == live.lease,
            Self::Finished => false,
        }
    }
}
