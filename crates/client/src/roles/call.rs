//! Calls of the handler, and their ends.

use kafka_assigner_types::id::{Epoch, HandoffId, Offset};

use super::role::Provenance;

/// A call of the handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    /// Prepare.
    Warm {
        /// The purpose of the preparation.
        provenance: Provenance,
        /// The consumer that owns the partition meanwhile; `None` = nobody.
        current_owner: Option<String>,
        /// The offset at which the grant that it is for starts; `None` = it is not known yet, or the committed one.
        start: Option<Offset>,
    },
    /// Take every fence, then read what is left.
    CatchUp {
        /// The handoff.
        handoff: HandoffId,
        /// The epoch that is reserved for it.
        epoch: Epoch,
        /// The offset at which the old owner stopped; `None` = it did not say.
        until: Option<Offset>,
    },
    /// Begin to process.
    Assigned {
        /// The fencing token.
        epoch: Epoch,
        /// The offset to start at; `None` = the committed one.
        start: Option<Offset>,
        /// True = after a drain, with the state that was kept.
        resumed: bool,
        /// True if the mode of the grant promises one owner at a time.
        strict: bool,
    },
    /// Stop, finish and commit.
    Drain,
    /// Drop what is left.
    Release,
    /// Stop without committing, and drop everything.
    Lost,
}

impl Call {
    /// True if it may only begin while the claim of the stricter modes is valid. A fence that is taken without it
    /// would shut out the rightful owner.
    pub(super) const fn needs_claim(&self) -> bool {
        matches!(self, Self::CatchUp { .. } | Self::Assigned { strict: true, .. })
    }

    /// True if the handler begins to process with it.
    pub(super) const fn starts(&self) -> bool {
        matches!(self, Self::Assigned { .. })
    }
}

/// The result of a call. A drain returns the offset after the last handled record, where it knows one.
pub(crate) type CallResult = Result<Option<Offset>, CallFailure>;

/// The failure of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallFailure {
    /// For people.
    pub(crate) message: String,
    /// True = what the call began with is of no use any more, and has to be prepared again.
    pub(crate) spoiled: bool,
}

/// The next action for a partition.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextCall {
    Nothing,
    Call(Call),
    Cancel,
    Recall,
    RaiseEpoch { epoch: Epoch, strict: bool },
}
