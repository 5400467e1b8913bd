//! What a consumer is told, as far as a session has to know it: grants, each under epoch 0, and their end.

use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{AssignmentCommand, Snapshot};
use kafka_assigner_types::digest::RoleKey;
use kafka_assigner_types::id::{Epoch, TopicPartition};

use crate::named_partition::named;
use crate::session::{Dialect, Heard, MessageBody, ToldItems};

/// A change of what is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToldChange {
    /// All that is granted.
    All(Vec<TopicPartition>),
    /// Some is granted from now on, and some no more.
    Some { granted: Vec<TopicPartition>, over: Vec<TopicPartition> },
}

/// The dialect of these tests.
#[derive(Debug)]
pub(super) enum ToldDialect {}

impl Dialect for ToldDialect {
    type Command = AssignmentCommand;
    type Snapshot = Snapshot;
    type News = ToldChange;

    const IS_PRESENT: bool = true;

    fn hear(command: AssignmentCommand) -> Heard<Snapshot, ToldChange> {
        let AssignmentCommand { cluster_id, revision, command } = command;
        let what = match command {
            Some(Command::Snapshot(mut part)) => {
                let session = part.session.take().unwrap_or_default();
                MessageBody::Snapshot { session, more: part.more, part }
            }
            Some(Command::GoAway(go_away)) => MessageBody::GoAway(go_away),
            Some(Command::Fenced(fenced)) => MessageBody::Fenced(fenced),
            Some(Command::OutOfTouch(_)) => MessageBody::OutOfTouch,
            Some(other) => MessageBody::News(change(other)),
            None => MessageBody::Nothing,
        };
        Heard { cluster_id, revision, what }
    }

    fn append(whole: &mut Snapshot, mut part: Snapshot) {
        whole.assigned.append(&mut part.assigned);
    }

    fn news(whole: Snapshot) -> ToldChange {
        ToldChange::All(whole.assigned.iter().filter_map(|at| named(&at.topic, at.partition)).collect())
    }

    fn note(news: &ToldChange, told: &mut ToldItems) {
        let (granted, over) = match news {
            ToldChange::All(granted) => {
                told.clear(&Default::default());
                (granted, &Vec::new())
            }
            ToldChange::Some { granted, over } => (granted, over),
        };
        over.iter().for_each(|at| told.take(at, None));
        granted.iter().for_each(|at| told.take(at, Some(RoleKey::Owner(Epoch(0)).in_partition(at))));
    }
}

/// The change that a command makes; those that grant and end nothing make an empty one.
fn change(command: Command) -> ToldChange {
    let Command::Assignment(assignment) = command else {
        return ToldChange::Some { granted: Vec::new(), over: Vec::new() };
    };
    let granted = assignment.assigned.iter().filter_map(|at| named(&at.topic, at.partition));
    let over = assignment.unassigned.iter().filter_map(|at| named(&at.topic, at.partition));
    ToldChange::Some { granted: granted.collect(), over: over.collect() }
}
