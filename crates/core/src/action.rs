//! The action of a leader, as a value: one step for one unit, with the write that carries it out.

use std::fmt;

use crate::reason::{CancelReason, FenceReason, Reason};
use crate::record::Phase;
use crate::write::Write;
use kafka_assigner_types::id::{Epoch, HandoffId, Member, TopicPartition};
use kafka_assigner_types::name::MemberName;

/// One step for one unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The partitions that it concerns; empty where it concerns a router, or the group.
    pub unit: Vec<TopicPartition>,
    /// The action.
    pub step: Step,
    /// The decision.
    pub write: Write,
}

/// The kinds of step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Give the unit to a consumer without a handoff.
    Grant {
        /// The member that gets the unit.
        to: Member,
        /// The consumer that its assignment names so far.
        from: Option<MemberName>,
        /// The new epoch.
        epoch: Epoch,
        /// The reason.
        why: Reason,
    },
    /// Begin a handoff.
    Begin {
        /// Its id.
        id: HandoffId,
        /// The member that gives.
        from: Member,
        /// The member that takes.
        to: Member,
        /// The reason.
        why: Reason,
    },
    /// Bring a handoff into its next phase.
    Advance {
        /// The handoff.
        id: HandoffId,
        /// The phase that it enters.
        phase: Phase,
    },
    /// Switch the assignment to the new owner.
    Complete {
        /// The handoff.
        id: HandoffId,
        /// The member that gives.
        from: Member,
        /// The member that takes.
        to: Member,
        /// The new epoch.
        epoch: Epoch,
    },
    /// Let the handoff go on with the old owner's new session.
    Adopt {
        /// The handoff.
        id: HandoffId,
        /// The old owner in its new session.
        owner: Member,
        /// The new epoch.
        epoch: Epoch,
    },
    /// End the attempt without a move.
    Cancel {
        /// The handoff.
        id: HandoffId,
        /// The member that was to have the unit.
        to: Member,
        /// The reason.
        why: CancelReason,
    },
    /// Clear away a handoff that is over.
    Clear {
        /// The handoff.
        id: HandoffId,
    },
    /// Forget partitions that no topic has any more.
    Forget,
    /// Note the store's history: no claim of an earlier one runs any more.
    NoteHistory {
        /// The cluster id.
        cluster_id: String,
    },
    /// Fence a consumer of the unit, and of nothing else.
    Fence {
        /// The consumer.
        member: Member,
    },
    /// End a consumer's session by force.
    EndSession {
        /// The consumer.
        member: Member,
        /// The reason.
        why: FenceReason,
    },
}

impl Step {
    /// A stable word for metrics and programs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Grant { .. } => "grant",
            Self::Begin { .. } => "begin",
            Self::Advance { .. } => "advance",
            Self::Complete { .. } => "complete",
            Self::Adopt { .. } => "adopt",
            Self::Cancel { .. } => "cancel",
            Self::Clear { .. } => "clear",
            Self::Forget => "forget",
            Self::NoteHistory { .. } => "note_history",
            Self::Fence { .. } => "fence",
            Self::EndSession { .. } => "end_session",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grant { to, epoch, why, .. } => write!(f, "grant to {} at epoch {epoch}: {why}", to.name),
            Self::Begin { from, to, why, .. } => write!(f, "move from {} to {}: {why}", from.name, to.name),
            Self::Advance { phase, .. } => write!(f, "go on: {phase}"),
            Self::Complete { from, to, epoch, .. } => {
                write!(f, "switch from {} to {} at epoch {epoch}", from.name, to.name)
            }
            Self::Adopt { owner, .. } => write!(f, "go on with {} in its new session", owner.name),
            Self::Cancel { to, why, .. } => write!(f, "cancel the move to {}: {why}", to.name),
            Self::Clear { .. } => f.write_str("clear away the handoff"),
            Self::Forget => f.write_str("forget it: its topic is gone"),
            Self::NoteHistory { cluster_id } => write!(f, "note the store's history: {cluster_id}"),
            Self::Fence { member } => write!(f, "fence {} of it: it never let go", member.name),
            Self::EndSession { member, why } => write!(f, "end the session of {}: {why}", member.name),
        }
    }
}
