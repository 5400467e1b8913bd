//! The grants that a consumer is sent, as far as a session has to know them, each under epoch 0, and their end.

use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{AssignmentCommand, Snapshot};
use kafka_assigner_types::digest::RoleKey;
use kafka_assigner_types::id::{Epoch, TopicPartition};

use crate::named_partition::named;
use crate::session::{Dialect, Heard, ToldItems, consumer_message};

/// A change of what is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GrantChange {
    /// All that is granted.
    All(Vec<TopicPartition>),
    /// Some is granted from now on, and some no more.
    Some { granted: Vec<TopicPartition>, over: Vec<TopicPartition> },
}

/// The dialect of these tests.
#[derive(Debug)]
pub(super) enum GrantDialect {}

impl Dialect for GrantDialect {
    type Command = AssignmentCommand;
    type Snapshot = Snapshot;
    type News = GrantChange;

    const IS_PRESENT: bool = true;

    fn hear(command: AssignmentCommand) -> Heard<Snapshot, GrantChange> {
        consumer_message(command, |other| Some(change(other)))
    }

    fn append(whole: &mut Snapshot, mut part: Snapshot) {
        whole.assigned.append(&mut part.assigned);
    }

    fn news(whole: Snapshot) -> GrantChange {
        GrantChange::All(whole.assigned.iter().filter_map(|at| named(&at.topic, at.partition)).collect())
    }

    fn note(news: &GrantChange, told: &mut ToldItems) {
        let (granted, over) = match news {
            GrantChange::All(granted) => {
                told.clear(&Default::default());
                (granted, &Vec::new())
            }
            GrantChange::Some { granted, over } => (granted, over),
        };
        over.iter().for_each(|at| told.take(at, None));
        granted.iter().for_each(|at| told.take(at, Some(RoleKey::Owner(Epoch(0)).in_partition(at))));
    }
}

/// The change that a command makes; those that grant and end nothing make an empty one.
fn change(command: Command) -> GrantChange {
    let Command::Assignment(assignment) = command else {
        return GrantChange::Some { granted: Vec::new(), over: Vec::new() };
    };
    let granted = assignment.assigned.iter().filter_map(|at| named(&at.topic, at.partition));
    let over = assignment.unassigned.iter().filter_map(|at| named(&at.topic, at.partition));
    GrantChange::Some { granted: granted.collect(), over: over.collect() }
}
