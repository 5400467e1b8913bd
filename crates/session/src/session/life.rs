//! The life of a session: being opened, open, or over.

use kafka_assigner_proto::v1::SessionInfo;
use kafka_assigner_types::id::Incarnation;
use kafka_assigner_types::kv::LeaseId;

use super::claim_clock::ClaimClock;

/// The state of the session.
#[derive(Debug)]
pub(super) enum Life {
    Opening { incarnation: Incarnation },
    Live(Live),
    Finished,
}

/// An open session.
#[derive(Debug, Clone)]
pub(super) struct Live {
    pub(super) incarnation: Incarnation,
    pub(super) lease: LeaseId,
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

    /// The incarnation and the lease to ask for, [`LeaseId::NONE`] for a new one; `None` = for nothing any more.
    pub(super) fn to_ask_for(&self) -> Option<(Incarnation, LeaseId)> {
        match self {
            Self::Opening { incarnation } => Some((incarnation.clone(), LeaseId::NONE)),
            Self::Live(live) => Some((live.incarnation.clone(), live.lease)),
            Self::Finished => None,
        }
    }

    /// True if a snapshot of this session is one of the session that was asked for.
    pub(super) fn may_be(&self, session: &SessionInfo) -> bool {
        let (incarnation, lease) = (session.incarnation.as_str(), LeaseId(session.lease));
        match self {
            Self::Opening { incarnation: asked } => {
                incarnation == asked.as_str() && lease != LeaseId::NONE && session.ttl_ms > 0
            }
            Self::Live(live) => incarnation == live.incarnation.as_str() && lease == live.lease,
            Self::Finished => false,
        }
    }
}
