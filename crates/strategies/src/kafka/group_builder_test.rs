//! Input that a builder sorts, ignores and refuses.

use super::*;

/// A group of topic `t` with three partitions, and what `tell` adds.
fn group(tell: impl FnOnce(&mut GroupBuilder, TopicHandle)) -> Group {
    let mut builder = Group::builder();
    let topic = builder.topic("t", 3);
    tell(&mut builder, topic);
    builder.build().unwrap()
}

fn claims(group: &Group, id: &str) -> Vec<u32> {
    let claims = group.claims_of(group.member_named(id).unwrap());
    claims.iter().map(|unit| group.topic_of(*unit).1).collect()
}

#[test]
fn nothing_at_all_is_a_group() {
    let group = Group::builder().build().unwrap();
    assert_eq!((group.units(), group.topics().len(), group.members().len()), (0, 0, 0));
}

#[test]
fn topics_and_members_are_sorted_as_java_does() {
    let group = group(|builder, topic| {
        builder.topic("s", 1);
        let subscription = builder.subscription([topic]);
        for id in ["\u{FB00}", "\u{10000}", "a"] {
            builder.member(GroupMemberSpec::new(id, subscription));
        }
    });
    let ids: Vec<_> = group.members().iter().map(|member| &*member.id).collect();
    assert_eq!(ids, ["a", "\u{10000}", "\u{FB00}"]);
    assert_eq!(group.topics().iter().map(|topic| &*topic.name).collect::<Vec<_>>(), ["s", "t"]);
    assert_eq!(group.topic_of(UnitIndex::new(3)), (TopicIndex::new(1), 2));
}

#[test]
fn claims_keep_their_order_and_lose_what_does_not_exist() {
    let group = group(|builder, topic| {
        let subscription = builder.subscription([topic]);
        let member = builder.member(GroupMemberSpec::new("a", subscription));
        builder.claims(member, topic, [2, 3, -1, i32::MIN, i32::MAX, 0]);
    });
    assert_eq!(claims(&group, "a"), [2, 0]);
}

#[test]
fn a_member_told_again_takes_the_place_of_the_first() {
    let group = group(|builder, topic| {
        let subscription = builder.subscription([topic]);
        let first = builder.member(GroupMemberSpec::new("a", subscription));
        builder.claims(first, topic, [0]);
        let spec = GroupMemberSpec { generation: Some(2), ..GroupMemberSpec::new("a", subscription) };
        let second = builder.member(spec);
        builder.claims(second, topic, [1]);
    });
    assert_eq!(group.members().len(), 1);
    assert_eq!((group.members()[0].generation, claims(&group, "a")), (Some(2), vec![1]));
}

#[test]
fn empty_racks_and_negative_generations_are_none() {
    let group = group(|builder, topic| {
        let subscription = builder.subscription([topic]);
        let spec = GroupMemberSpec::new("a", subscription);
        builder.member(GroupMemberSpec { rack: Some("".into()), generation: Some(-1), ..spec });
    });
    assert_eq!((&group.members()[0].rack, group.members()[0].generation), (&None, None));
}

/// The mistake in a group of topic `t` with three partitions and what `tell` adds.
fn refused<T>(tell: impl FnOnce(&mut GroupBuilder, TopicHandle) -> T) -> InvalidProblem {
    let mut builder = Group::builder();
    let topic = builder.topic("t", 3);
    tell(&mut builder, topic);
    builder.build().unwrap_err()
}

#[test]
fn doubles_and_too_many_are_refused() {
    let double = refused(|builder, _| builder.topic("t", 1));
    assert_eq!(double, InvalidProblem::DuplicateTopic("t".into()));
    let many = refused(|builder, _| builder.topic("u", u32::MAX));
    assert_eq!(many, InvalidProblem::TooManyUnits { topic: "u".into(), partitions: u32::MAX });
}

#[test]
fn handles_of_another_builder_are_refused() {
    let foreign = TopicHandle::new(7);
    let replicas = refused(|builder, _| builder.replicas(foreign, 0, ["a"]));
    let subscription = refused(|builder, _| builder.subscription([foreign]));
    let claims = refused(|builder, topic| builder.claims(MemberHandle::new(0), topic, [0]));
    let member = refused(|builder, _| builder.member(GroupMemberSpec::new("a", SubscriptionHandle(0))));
    assert_eq!([replicas, subscription, claims, member], [const { InvalidProblem::ForeignHandle }; 4]);
}
