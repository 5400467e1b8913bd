//! Groups in which racks count, and the sticky rules in them.

use super::super::claims::Claims;
use super::super::{Group, GroupAssignment, GroupMemberSpec, equal, mixed};
use crate::TopicIndex;

/// Topics by the racks of each partition's replicas, a letter each; members by rack, and what they
/// subscribe to.
fn group(topics: &[(&str, &[&str])], members: &[(&str, &[&str])]) -> Group {
    let mut builder = Group::builder();
    for (name, partitions) in topics {
        let topic = builder.topic(*name, u32::try_from(partitions.len()).unwrap());
        for (racks, partition) in partitions.iter().zip(0..) {
            builder.replicas(topic, partition, (0..racks.len()).map(|at| &racks[at..=at]));
        }
    }
    for (at, (rack, topics)) in members.iter().enumerate() {
        let topics: Vec<_> = topics.iter().map(|name| builder.topic_handle(name).unwrap()).collect();
        let subscription = builder.subscription(topics);
        let spec = GroupMemberSpec::new(format!("c{at}"), subscription);
        builder.member(GroupMemberSpec { rack: Some((*rack).into()), ..spec });
    }
    builder.build().unwrap()
}

/// True if racks count for partitions with replicas in `partitions` and members in `members`.
fn matter(partitions: &[&str], members: &[&str]) -> bool {
    let members: Vec<_> = members.iter().map(|rack| (*rack, &["t"][..])).collect();
    let group = group(&[("t", partitions)], &members);
    let matter = group.racks_matter();
    let units = group.units_of(TopicIndex::new(0));
    assert_eq!(group.racks.matter(group.member_indices(), units), matter);
    matter
}

#[test]
fn racks_count_if_a_member_is_in_one_and_partitions_differ() {
    assert!(!matter(&["a", "b"], &["", ""]), "no member has a rack");
    assert!(!matter(&["", ""], &["a", "b"]), "no replica has one");
    assert!(!matter(&["a", "b"], &["d", "e"]), "no rack has both");
    assert!(!matter(&["ab", "ba"], &["a", "b"]), "every partition is in every rack");
    assert!(!matter(&["ab"], &["a", "b"]), "there is one partition only");
    assert!(matter(&["a", "b"], &["a", "b"]));
    assert!(matter(&["a", "b"], &["a", ""]), "one member's rack is enough");
    assert!(matter(&["abc", "ab"], &["a", "b"]), "one partition misses one rack");
    assert!(matter(&["ab", ""], &["a", "b"]), "one partition is in none");
}

/// Three topics with `6`, `7` and `2` partitions, each with replicas in two racks of two; members
/// in three.
fn in_two_racks(third: &'static [&'static str]) -> Group {
    const ALL: &[&str] = &["t1", "t2", "t3"];
    let topics = [("t1", &["ab"; 6][..]), ("t2", &["ab"; 7]), ("t3", &["ab"; 2])];
    group(&topics, &[("a", ALL), ("b", ALL), ("c", third)])
}

/// By member: `t1-0,2 t2-1`.
fn told(group: &Group, assignment: &GroupAssignment) -> [String; 3] {
    [0, 1, 2].map(|at| {
        let mut units = assignment.of(crate::MemberIndex::new(at)).to_vec();
        units.sort_unstable();
        let of_topic = |topic: TopicIndex| {
            let numbers = units.iter().map(|unit| group.topic_of(*unit)).filter(|(of, _)| *of == topic);
            let numbers: Vec<_> = numbers.map(|(_, partition)| partition.to_string()).collect();
            (!numbers.is_empty())
                .then(|| format!("{}-{}", group.topics()[topic.index()].name, numbers.join(",")))
        };
        group.served_topics().filter_map(of_topic).collect::<Vec<_>>().join(" ")
    })
}

/// Kafka's own tests turn its gate off. Who is in the third rack then waits until the others have
/// had what is near them.
#[test]
fn sticky_made_to_count_racks_serves_members_in_racks_with_replicas_first() {
    let group = in_two_racks(&["t1", "t2", "t3"]);
    assert!(!group.racks_matter());
    let alike = equal::assign(&group, &Claims::of(&group), true);
    assert_eq!(told(&group, &alike), ["t1-0,2,4 t2-0,2", "t1-1,3,5 t2-1,3", "t2-4,5,6 t3-0,1"]);
    let group = in_two_racks(&["t1", "t3"]);
    let differing = mixed::assign(&group, &Claims::of(&group), true);
    assert_eq!(told(&group, &differing), ["t2-0,2,4,6 t3-1", "t1-4 t2-1,3,5 t3-0", "t1-0,1,2,3,5"]);
}
