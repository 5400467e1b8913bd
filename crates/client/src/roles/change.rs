//! Commands of the service as changes of roles.

use std::collections::BTreeSet;

use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_session::named;
use kafka_assigner_types::id::TopicPartition;

use super::role::{CatchingUpRole, ConsumerRole, DrainingRole, ReleasingRole, WarmingRole};

/// A change of roles, read from one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RoleChange {
    /// Every role there is; what is not listed is over, except for partitions that the service can't decide just now:
    /// those stay as they are.
    All {
        /// The roles.
        roles: Vec<(TopicPartition, ConsumerRole)>,
        /// The partitions that stay as they are.
        undecided: BTreeSet<TopicPartition>,
    },
    /// New roles; what is not listed stays.
    Some(Vec<(TopicPartition, ConsumerRole)>),
}

impl RoleChange {
    /// The change that a command makes; `None` for those that the session takes in itself.
    pub(crate) fn from_command(command: Command) -> Option<Self> {
        match command {
            Command::Assignment(assignment) => Some(from_assignment(assignment)),
            Command::Warm(warm) => {
                Some(Self::Some(warm.partitions.into_iter().filter_map(warming).collect()))
            }
            Command::Release(release) => {
                Some(Self::Some(release.partitions.into_iter().filter_map(releasing).collect()))
            }
            Command::Drain(drain) => {
                Some(Self::Some(drain.partitions.into_iter().filter_map(draining).collect()))
            }
            Command::CatchUp(catch_up) => {
                Some(Self::Some(catch_up.partitions.into_iter().filter_map(catching_up).collect()))
            }
            Command::Snapshot(_) | Command::GoAway(_) | Command::Fenced(_) | Command::OutOfTouch(_) => None,
        }
    }

    /// The change that a whole snapshot makes.
    pub(crate) fn from_snapshot(snapshot: v1::Snapshot) -> Self {
        let assigned = snapshot.assigned.into_iter().filter_map(owner);
        let warming = snapshot.warming.into_iter().filter_map(warming);
        let catching_up = snapshot.catching_up.into_iter().filter_map(catching_up);
        let draining = snapshot.draining.into_iter().filter_map(draining);
        let releasing = snapshot.releasing.into_iter().filter_map(releasing);
        let undecided = snapshot.undecided.into_iter();
        Self::All {
            roles: assigned.chain(warming).chain(catching_up).chain(draining).chain(releasing).collect(),
            undecided: undecided.filter_map(|at| named(&at.topic, at.partition)).collect(),
        }
    }
}

fn from_assignment(assignment: v1::Assignment) -> RoleChange {
    let assigned = assignment.assigned.into_iter().filter_map(owner);
    if assignment.full {
        return RoleChange::All { roles: assigned.collect(), undecided: BTreeSet::new() };
    }
    let over = assignment.unassigned.into_iter();
    let over = over.filter_map(|gone| Some((named(&gone.topic, gone.partition)?, ConsumerRole::None)));
    RoleChange::Some(over.chain(assigned).collect())
}

fn owner(wire: v1::AssignedPartition) -> Option<(TopicPartition, ConsumerRole)> {
    Some((named(&wire.topic, wire.partition)?, ConsumerRole::Owner(wire.into())))
}

fn warming(wire: v1::WarmPartition) -> Option<(TopicPartition, ConsumerRole)> {
    Some((named(&wire.topic, wire.partition)?, ConsumerRole::Warming(WarmingRole::from(wire))))
}

fn catching_up(wire: v1::CatchUpPartition) -> Option<(TopicPartition, ConsumerRole)> {
    Some((named(&wire.topic, wire.partition)?, ConsumerRole::CatchingUp(CatchingUpRole::from(wire))))
}

fn draining(wire: v1::DrainPartition) -> Option<(TopicPartition, ConsumerRole)> {
    Some((named(&wire.topic, wire.partition)?, ConsumerRole::Draining(DrainingRole::from(wire))))
}

fn releasing(wire: v1::ReleasePartition) -> Option<(TopicPartition, ConsumerRole)> {
    Some((named(&wire.topic, wire.partition)?, ConsumerRole::Releasing(ReleasingRole::from(wire))))
}
