//! Commands of the service as changes of targets.

use std::collections::BTreeSet;

use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::assignment_command::Command;

use super::target::{Draining, Leave, Reserved, Target, Warming};
use crate::partition::TopicPartition;

/// What a command says about partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleChange {
    /// Every role there is; what is not listed is over, except for partitions that the service can't decide just now:
    /// those stay as they are.
    All {
        /// The roles.
        roles: Vec<(TopicPartition, Target)>,
        /// What stays as it is.
        undecided: BTreeSet<TopicPartition>,
    },
    /// New targets; what is not listed stays.
    Some(Vec<(TopicPartition, Target)>),
}

impl RoleChange {
    /// The change that a command makes; `None` for those that the session takes in itself.
    pub(crate) fn from_command(command: Command) -> Option<Self> {
        match command {
            Command::Assignment(assignment) => Some(from_assignment(assignment)),
            Command::Warm(warm) => Some(Self::Some(warm.partitions.into_iter().map(warming).collect())),
            Command::Release(release) => {
                Some(Self::Some(release.partitions.into_iter().map(releasing).collect()))
            }
            Command::Drain(drain) => Some(Self::Some(drain.partitions.into_iter().map(draining).collect())),
            Command::CatchUp(catch_up) => {
                Some(Self::Some(catch_up.partitions.into_iter().map(catching_up).collect()))
            }
            Command::Snapshot(_) | Command::GoAway(_) | Command::Fenced(_) => None,
        }
    }

    /// The change that a whole snapshot makes.
    pub(crate) fn from_snapshot(snapshot: v1::Snapshot) -> Self {
        let assigned = snapshot.assigned.into_iter().map(owner);
        let warming = snapshot.warming.into_iter().map(warming);
        let catching_up = snapshot.catching_up.into_iter().map(catching_up);
        let draining = snapshot.draining.into_iter().map(draining);
        let releasing = snapshot.releasing.into_iter().map(releasing);
        let undecided = snapshot.undecided.into_iter();
        Self::All {
            roles: assigned.chain(warming).chain(catching_up).chain(draining).chain(releasing).collect(),
            undecided: undecided.map(|at| TopicPartition::new(at.topic, at.partition)).collect(),
        }
    }
}

fn from_assignment(assignment: v1::Assignment) -> RoleChange {
    let assigned = assignment.assigned.into_iter().map(owner);
    if assignment.full {
        return RoleChange::All { roles: assigned.collect(), undecided: BTreeSet::new() };
    }
    let over = assignment.unassigned.into_iter();
    let over = over.map(|gone| (TopicPartition::new(gone.topic, gone.partition), Target::None));
    RoleChange::Some(over.chain(assigned).collect())
}

fn owner(wire: v1::AssignedPartition) -> (TopicPartition, Target) {
    let partition = TopicPartition::new(wire.topic.as_str(), wire.partition);
    (partition, Target::Owner(wire.into()))
}

fn warming(wire: v1::WarmPartition) -> (TopicPartition, Target) {
    let partition = TopicPartition::new(wire.topic.as_str(), wire.partition);
    (partition, Target::Warming(Warming::from(wire)))
}

fn catching_up(wire: v1::CatchUpPartition) -> (TopicPartition, Target) {
    let partition = TopicPartition::new(wire.topic.as_str(), wire.partition);
    (partition, Target::CatchingUp(Reserved::from(wire)))
}

fn draining(wire: v1::DrainPartition) -> (TopicPartition, Target) {
    let partition = TopicPartition::new(wire.topic.as_str(), wire.partition);
    (partition, Target::Draining(Draining::from(wire)))
}

fn releasing(wire: v1::ReleasePartition) -> (TopicPartition, Target) {
    let partition = TopicPartition::new(wire.topic.as_str(), wire.partition);
    (partition, Target::Releasing(Leave::from(wire)))
}
