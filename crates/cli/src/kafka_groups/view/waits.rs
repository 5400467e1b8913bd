//! The members that wait for others.

use std::collections::BTreeMap;

use serde::Serialize;

use super::group::{KafkaGroupView, KafkaMemberView, MemberWork};

/// A member that is to have work which it has not got yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::kafka_groups) struct WaitView {
    /// The topic, or the subtopology of a task.
    pub(in crate::kafka_groups) of: String,
    pub(in crate::kafka_groups) partition: i32,
    /// The member that waits.
    pub(in crate::kafka_groups) member: String,
    /// The member that has it now; `null` where the broker shows none: it is being given up, or nobody has it.
    pub(in crate::kafka_groups) holder: Option<String>,
}

type WorkKey = (String, i32);

/// The work that a member has, and that it is to have.
fn work(member: &KafkaMemberView) -> (Vec<WorkKey>, Vec<WorkKey>) {
    match &member.work {
        MemberWork::Partitions { assignment, target_assignment } => {
            let target = target_assignment.as_ref().unwrap_or(assignment);
            (assignment.keys().collect(), target.keys().collect())
        }
        MemberWork::Tasks { assignment, target_assignment } => {
            let owned = |(subtopology, number): (&str, i32)| (subtopology.to_owned(), number);
            (assignment.active().map(owned).collect(), target_assignment.active().map(owned).collect())
        }
    }
}

/// Everything for which a member waits, by topic and partition.
pub(in crate::kafka_groups) fn waits(group: &KafkaGroupView) -> Vec<WaitView> {
    let works: Vec<_> = group.members.iter().map(|member| (member.id.as_str(), work(member))).collect();
    let holds = |(id, (has, _)): &(&str, (Vec<WorkKey>, Vec<WorkKey>))| {
        let id = (*id).to_owned();
        has.iter().map(|key| (key.clone(), id.clone())).collect::<Vec<_>>()
    };
    let holders: BTreeMap<WorkKey, String> = works.iter().flat_map(holds).collect();
    let mut waits = Vec::new();
    for (id, (has, target)) in &works {
        for (of, partition) in target.iter().filter(|key| !has.contains(key)) {
            let holder = holders.get(&(of.clone(), *partition)).cloned();
            waits.push(WaitView { of: of.clone(), partition: *partition, member: (*id).to_owned(), holder });
        }
    }
    waits.sort_by(|a, b| (&a.of, a.partition).cmp(&(&b.of, b.partition)));
    waits
}

#[cfg(test)]
mod tests {
    use super::super::group::group_test::{consumer_group, consumer_member};
    use super::*;

    #[test]
    fn a_member_waits_for_whoever_has_what_it_is_to_have() {
        let group = consumer_group(vec![
            consumer_member("a", &[0, 1, 2], &[0]),
            consumer_member("b", &[], &[1]),
            consumer_member("c", &[], &[2, 3]),
        ]);
        let told: Vec<_> =
            waits(&group).into_iter().map(|wait| (wait.partition, wait.member, wait.holder)).collect();
        let from_a = Some("a".to_owned());
        assert_eq!(
            told,
            [(1, "b".to_owned(), from_a.clone()), (2, "c".to_owned(), from_a), (3, "c".to_owned(), None)]
        );
    }

    #[test]
    fn nobody_waits_in_a_group_that_stands() {
        let group = consumer_group(vec![consumer_member("a", &[0], &[0]), consumer_member("b", &[1], &[1])]);
        assert_eq!(waits(&group), []);
    }
}
