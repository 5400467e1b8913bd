//! The role that the service wants this member to have for a partition, read from the wire.

use kafka_assigner_proto::v1;
use kafka_assigner_types::digest::RoleKey;
use kafka_assigner_types::id::{Epoch, HandoffId, Offset};
use kafka_assigner_types::topic_id::TopicId;
use tracing::error;

/// The role that the service gave this member for one partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum ConsumerRole {
    /// No role.
    #[default]
    None,
    /// Prepare to own it.
    Warming(WarmingRole),
    /// Be about to own it: take its fences, and read what is left.
    CatchingUp(CatchingUpRole),
    /// Own it.
    Owner(OwnerRole),
    /// Stop, say where, and keep the state for now.
    Draining(DrainingRole),
    /// Give it up.
    Releasing(ReleasingRole),
}

impl ConsumerRole {
    /// The role as digests see it; `None` = there is none, or one that no service gave.
    pub(crate) fn key(&self) -> Option<RoleKey<'_>> {
        match self {
            Self::None => None,
            Self::Warming(role) => Some(RoleKey::Warming(&role.handoff)),
            Self::CatchingUp(role) => Some(RoleKey::CatchingUp(&role.handoff)),
            Self::Owner(OwnerRole { rest: Some(handoff), .. }) => Some(RoleKey::Resting(handoff)),
            Self::Owner(role) => Some(RoleKey::Owner(role.epoch)),
            Self::Draining(role) => Some(RoleKey::Draining(&role.handoff)),
            Self::Releasing(role) => role.handoff.as_ref().map(RoleKey::Releasing),
        }
    }
}

impl ConsumerRole {
    /// The id of the topic for which the role was given; `None` = not known, or the role gives something up.
    pub(crate) const fn topic_id(&self) -> Option<TopicId> {
        match self {
            Self::Warming(role) => role.topic_id,
            Self::CatchingUp(role) => role.topic_id,
            Self::Owner(role) => role.topic_id,
            Self::None | Self::Draining(_) | Self::Releasing(_) => None,
        }
    }
}

/// A preparation that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WarmingRole {
    /// The handoff that it is for.
    pub(crate) handoff: HandoffId,
    /// The name of the present owner; `None` = the partition has none.
    pub(crate) current_owner: Option<String>,
    /// The id of the topic; `None` = not known.
    pub(crate) topic_id: Option<TopicId>,
}

/// A partition that is kept for this member until it has caught up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatchingUpRole {
    /// The handoff that it is for.
    pub(crate) handoff: HandoffId,
    /// The epoch that is reserved.
    pub(crate) epoch: Epoch,
    /// The offset at which the old owner stopped; `None` = it did not say.
    pub(crate) until: Option<Offset>,
    /// The id of the topic; `None` = not known.
    pub(crate) topic_id: Option<TopicId>,
}

/// A grant of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnerRole {
    /// The fencing token.
    pub(crate) epoch: Epoch,
    /// The epoch of the first grant of this unbroken run.
    pub(crate) run: Epoch,
    /// The offset to start reading at; `None` = the committed one. Only for one who has started no epoch of the run.
    pub(crate) start: Option<Offset>,
    /// True if the mode promises one owner at a time: such an owner stops by its own clock.
    pub(crate) strict: bool,
    /// The handoff whose `PartitionTaken` the service waits for; `None` = it does not wait.
    pub(crate) taking: Option<HandoffId>,
    /// The handoff whose preparation counts for this grant; `None` = only one made for the run itself counts.
    pub(crate) prepared_by: Option<HandoffId>,
    /// The handoff before which the record in the works is to be ended; `None` = records go on.
    pub(crate) rest: Option<HandoffId>,
    /// The id of the topic; `None` = not known.
    pub(crate) topic_id: Option<TopicId>,
    /// The record to be passed over; `None` = none.
    pub(crate) skip: Option<Offset>,
    /// True if an offset is known to have been committed before the grant.
    pub(crate) was_committed: bool,
}

/// A partition to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DrainingRole {
    /// The handoff to acknowledge.
    pub(crate) handoff: HandoffId,
    /// The epoch of the first grant of its run.
    pub(crate) run: Epoch,
    /// The offset at which its grant told it to start: the answer of a member that has started no epoch of the run.
    pub(crate) start: Option<Offset>,
}

/// A partition to give up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReleasingRole {
    /// The handoff to acknowledge; `None` = leave without telling (a local stop).
    pub(crate) handoff: Option<HandoffId>,
    /// The name of the new owner; `None` = not known.
    pub(crate) new_owner: Option<String>,
}

/// The purpose of a preparation, so that a stale one is never used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Provenance {
    /// For a handoff.
    Handoff(HandoffId),
    /// For a direct grant: the epoch of the run's first grant.
    Run(Epoch),
}

impl OwnerRole {
    /// Returns true if a preparation made for `provenance` may be used for this grant.
    pub(crate) fn accepts(&self, provenance: &Provenance) -> bool {
        match provenance {
            Provenance::Handoff(id) => self.prepared_by.as_ref() == Some(id),
            Provenance::Run(run) => *run == self.run,
        }
    }

    /// The purpose of a preparation that is begun for this grant.
    pub(crate) fn provenance(&self) -> Provenance {
        self.prepared_by.clone().map_or(Provenance::Run(self.run), Provenance::Handoff)
    }

    /// Carries over, from the target before, which preparation counts.
    ///
    /// A member that is granted a partition while it prepares for it keeps its preparation, even when the
    /// handoff is gone because the old owner died. Only a change on an unbroken stream shows that; after a
    /// snapshot, handoffs in between may have been missed, and only the handoff's own id counts.
    pub(crate) fn follow(&mut self, before: &ConsumerRole, unbroken: bool) {
        if self.prepared_by.is_some() {
            return;
        }
        self.prepared_by = match before {
            ConsumerRole::Warming(WarmingRole { handoff, .. })
            | ConsumerRole::CatchingUp(CatchingUpRole { handoff, .. })
                if unbroken =>
            {
                Some(handoff.clone())
            }
            ConsumerRole::Owner(grant) if grant.run == self.run => grant.prepared_by.clone(),
            _ => None,
        };
    }
}

impl From<v1::AssignedPartition> for OwnerRole {
    fn from(wire: v1::AssignedPartition) -> Self {
        let strict = wire.mode() != v1::Mode::Overlap;
        let handoff = some_handoff(&wire.handoff_id);
        Self {
            strict,
            epoch: Epoch(wire.epoch),
            run: Epoch(wire.run),
            start: known("start_offset", wire.start_offset),
            taking: handoff.clone(),
            prepared_by: handoff,
            rest: some_handoff(&wire.rest_handoff_id),
            topic_id: wire.topic_id.parse().ok(),
            skip: known("skip_offset", wire.skip_offset),
            was_committed: wire.was_committed,
        }
    }
}

impl From<v1::WarmPartition> for WarmingRole {
    fn from(wire: v1::WarmPartition) -> Self {
        Self {
            handoff: HandoffId::new(&wire.handoff_id),
            current_owner: non_empty(wire.current_owner),
            topic_id: wire.topic_id.parse().ok(),
        }
    }
}

impl From<v1::CatchUpPartition> for CatchingUpRole {
    fn from(wire: v1::CatchUpPartition) -> Self {
        Self {
            handoff: HandoffId::new(&wire.handoff_id),
            epoch: Epoch(wire.epoch),
            until: known("until_offset", wire.until_offset),
            topic_id: wire.topic_id.parse().ok(),
        }
    }
}

impl From<v1::DrainPartition> for DrainingRole {
    fn from(wire: v1::DrainPartition) -> Self {
        Self {
            handoff: HandoffId::new(&wire.handoff_id),
            run: Epoch(wire.run),
            start: known("start_offset", wire.start_offset),
        }
    }
}

impl From<v1::ReleasePartition> for ReleasingRole {
    fn from(wire: v1::ReleasePartition) -> Self {
        Self { handoff: some_handoff(&wire.handoff_id), new_owner: non_empty(wire.new_owner) }
    }
}

/// An offset of the service; a negative one counts as not known, so that the committed offset counts. It can't be refused:
/// the partition would have no owner.
fn known(field: &str, offset: Option<i64>) -> Option<Offset> {
    let checked = Offset::new(offset?);
    checked.inspect_err(|error| error!(field, %error, "an offset of the service counts as not known")).ok()
}

fn some_handoff(id: &str) -> Option<HandoffId> {
    (!id.is_empty()).then(|| HandoffId::new(id))
}

fn non_empty(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}
