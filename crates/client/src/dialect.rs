//! The messages of a consumer's session.

use kafka_assigner_proto::v1::{AssignmentCommand, Snapshot};
use kafka_assigner_session::{Dialect, Heard, ToldItems, consumer_message};

use crate::roles::RoleChange;

/// The dialect of consumers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ConsumerDialect {}

impl Dialect for ConsumerDialect {
    type Command = AssignmentCommand;
    type Snapshot = Snapshot;
    type News = RoleChange;

    const IS_PRESENT: bool = true;

    fn hear(command: AssignmentCommand) -> Heard<Snapshot, RoleChange> {
        consumer_message(command, RoleChange::from_command)
    }

    fn append(whole: &mut Snapshot, mut part: Snapshot) {
        whole.assigned.append(&mut part.assigned);
        whole.warming.append(&mut part.warming);
        whole.catching_up.append(&mut part.catching_up);
        whole.draining.append(&mut part.draining);
        whole.releasing.append(&mut part.releasing);
        whole.undecided.append(&mut part.undecided);
    }

    fn news(whole: Snapshot) -> RoleChange {
        RoleChange::from_snapshot(whole)
    }

    fn note(news: &RoleChange, told: &mut ToldItems) {
        let roles = match news {
            RoleChange::All { roles, undecided } => {
                told.clear(undecided);
                roles
            }
            RoleChange::Some(roles) => roles,
        };
        for (at, role) in roles {
            told.take(at, role.key().map(|key| key.in_partition(at)));
        }
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_proto::v1::assignment_command::Command;
    use kafka_assigner_proto::v1::{AssignedPartition, Assignment, UnassignedPartition, UndecidedPartition};
    use kafka_assigner_types::digest::{Digest, RoleKey};
    use kafka_assigner_types::id::{Epoch, TopicPartition};

    use kafka_assigner_session::MessageBody;

    use super::*;

    fn assigned(partition: i32, epoch: u64) -> AssignedPartition {
        AssignedPartition { topic: "t".into(), partition, epoch, ..AssignedPartition::default() }
    }

    fn heard(command: Command) -> RoleChange {
        let command = AssignmentCommand { command: Some(command), ..AssignmentCommand::default() };
        let MessageBody::News(news) = ConsumerDialect::hear(command).what else { panic!("a change") };
        news
    }

    /// The digest of a member that owns these partitions, each under its epoch.
    fn owning(owned: &[(u32, u64)]) -> Digest {
        let item = |(partition, epoch): &(u32, u64)| {
            let at = TopicPartition::new("t".parse().expect("a name"), *partition);
            RoleKey::Owner(Epoch(*epoch)).in_partition(&at)
        };
        owned.iter().map(item).collect()
    }

    #[test]
    fn all_that_was_told_is_in_the_digest_until_it_is_over() {
        let mut told = ToldItems::default();
        let mut whole = Snapshot { assigned: vec![assigned(0, 5), assigned(1, 6)], ..Snapshot::default() };
        ConsumerDialect::append(
            &mut whole,
            Snapshot { assigned: vec![assigned(2, 7)], ..Snapshot::default() },
        );
        ConsumerDialect::note(&ConsumerDialect::news(whole), &mut told);
        assert_eq!(told.digest(), owning(&[(0, 5), (1, 6), (2, 7)]));
        let over = UnassignedPartition { topic: "t".into(), partition: 0, ..UnassignedPartition::default() };
        let change =
            Assignment { assigned: vec![assigned(1, 8)], unassigned: vec![over], ..Assignment::default() };
        ConsumerDialect::note(&heard(Command::Assignment(change)), &mut told);
        assert_eq!(told.digest(), owning(&[(1, 8), (2, 7)]));
    }

    #[test]
    fn a_snapshot_ends_all_but_what_is_undecided() {
        let mut told = ToldItems::default();
        let first = Snapshot { assigned: vec![assigned(0, 5), assigned(1, 6)], ..Snapshot::default() };
        ConsumerDialect::note(&ConsumerDialect::news(first), &mut told);
        let undecided = UndecidedPartition { topic: "t".into(), partition: 1 };
        let second = Snapshot { undecided: vec![undecided], ..Snapshot::default() };
        ConsumerDialect::note(&ConsumerDialect::news(second), &mut told);
        assert_eq!(told.digest(), owning(&[(1, 6)]));
    }
}
