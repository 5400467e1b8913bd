//! The inputs of the roles' machine and its outputs.

use std::collections::BTreeMap;

use kafka_assigner_types::id::{Epoch, HandoffId, TopicPartition};

use super::ack::AckKind;
use super::call::{Call, CallResult};
use super::change::RoleChange;

/// An event that the machine takes in.
#[derive(Debug)]
pub(crate) enum RoleEvent {
    /// The service said something about partitions.
    Changed(RoleChange),
    /// The session is over.
    SessionLost,
    /// The claim of the stricter modes has run out, by this client's own clock.
    ClaimLapsed,
    /// It is valid, for the first time or again.
    ClaimValid,
    /// The service has fenced this member of partitions, each up to an epoch: nothing may act under such a grant any more, and
    /// none is begun. The list takes the place of the one before.
    Fenced(Vec<(TopicPartition, Epoch)>),
    /// The process stops: give everything up, and ignore what the service says from here on.
    LeaveAll,
    /// A call of the handler ended.
    CallEnded {
        /// For this partition.
        partition: TopicPartition,
        /// Its result.
        result: CallResult,
    },
    /// The handler can't go on with what it holds of this partition.
    Spoiled(TopicPartition),
    /// The service answered an acknowledgement definitely.
    Acked {
        /// For this partition.
        partition: TopicPartition,
        /// The kind of the acknowledgement.
        kind: AckKind,
        /// For this handoff.
        handoff: HandoffId,
    },
    /// So much is done of each preparation that runs, in units of its own: see [`Roles::next_wake`](super::Roles::next_wake).
    PreparationsSeen(BTreeMap<TopicPartition, u64>),
}

/// An action for the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RoleAction {
    /// Call the handler; the end comes back as [`RoleEvent::CallEnded`].
    Call(TopicPartition, Call),
    /// Tell the running call that its result is not wanted any more.
    Cancel(TopicPartition),
    /// Tell the running drain that it is not wanted any more. Before the handler was called it ends undone, and its claim
    /// goes on; afterwards it can't be stopped.
    Recall(TopicPartition),
    /// The owner goes on, as a rule under a higher epoch, and admits requests.
    RaiseEpoch {
        /// For this partition.
        partition: TopicPartition,
        /// The epoch.
        epoch: Epoch,
        /// True if the mode of the new grant promises one owner at a time.
        strict: bool,
    },
    /// End the record in the works, if there is one, and begin none until then; where records take long, none until
    /// [`EndRest`](Self::EndRest).
    Rest(TopicPartition),
    /// Begin records as always.
    EndRest(TopicPartition),
    /// The preparation makes no progress, and holds no place any more: tell people.
    Stalled(TopicPartition),
    /// Nothing is left of the partition.
    Forget(TopicPartition),
}
