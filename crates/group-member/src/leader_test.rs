//! Plans of a leader, read as its members read them.

use kafka_assigner_strategies::kafka::wire::{ConsumerSubscription, StickyUserData};

use super::*;
use crate::subscription::assigned;

fn member(id: &str, topics: &[&str], owned: &[(&str, &[i32])]) -> JoinedMember {
    let owned =
        owned.iter().map(|(topic, partitions)| TopicPartitions { topic, partitions: partitions.to_vec() });
    let subscription = ConsumerSubscription {
        version: 3,
        topics: topics.to_vec(),
        owned: owned.collect(),
        generation: Some(1),
        ..ConsumerSubscription::default()
    };
    JoinedMember { id: id.to_owned(), instance: None, subscription: subscription.write().into() }
}

fn facts(topics: &[(&str, u32)]) -> BTreeMap<String, TopicFacts> {
    let facts = |partitions: u32| TopicFacts { partitions, racks: Vec::new() };
    topics.iter().map(|(topic, partitions)| ((*topic).to_owned(), facts(*partitions))).collect()
}

/// `t0 t1 | t2`: the parts by member, in the members' order.
fn shown(plan: &[(String, Vec<u8>)]) -> String {
    let part = |bytes: &[u8]| {
        let partitions = assigned(bytes).unwrap();
        let names = partitions.iter().map(|partition| format!("{}{}", partition.topic, partition.partition));
        names.collect::<Vec<_>>().join(" ")
    };
    plan.iter().map(|(_, bytes)| part(bytes)).collect::<Vec<_>>().join(" | ")
}

#[test]
fn each_rule_plans_as_kafka_does() {
    let members = vec![member("a", &["t", "u"], &[]), member("b", &["t", "u"], &[])];
    let planned = |name: &str| {
        let mut plan = GroupPlan::new(PlanRule::of_name(name).unwrap(), members.clone());
        shown(&plan.make(facts(&[("t", 3), ("u", 3)])).unwrap())
    };
    assert_eq!(planned("range"), "t0 t1 u0 u1 | t2 u2");
    assert_eq!(planned("roundrobin"), "t0 t2 u1 | t1 u0 u2");
    assert_eq!(PlanRule::of_name("mine"), Err(UnknownRule("mine".to_owned())));
}

#[test]
fn what_another_still_owns_waits_for_the_next_generation() {
    let members = vec![member("a", &["t"], &[("t", &[0, 1])]), member("b", &["t"], &[])];
    let mut plan = GroupPlan::new(PlanRule::CooperativeSticky, members);
    assert_eq!(shown(&plan.make(facts(&[("t", 2)])).unwrap()), "t0 | ");
}

#[test]
fn a_member_that_cannot_be_read_or_comes_twice_costs_the_others_nothing() {
    let unreadable = JoinedMember { subscription: Bytes::from_static(&[0]), ..member("b", &[], &[]) };
    let members = vec![member("a", &["t"], &[]), unreadable, member("a", &["u"], &[])];
    let mut plan = GroupPlan::new(PlanRule::Range, members);
    assert_eq!(plan.topics(), ["t".to_owned()].into());
    assert_eq!(shown(&plan.make(facts(&[("t", 2)])).unwrap()), "t0 t1 | ");
}

#[test]
fn the_plan_is_for_the_topics_of_all_and_outdated_with_them() {
    let members = vec![member("a", &["t"], &[]), member("b", &["u", "gone"], &[])];
    let mut plan = GroupPlan::new(PlanRule::Range, members);
    assert_eq!(shown(&plan.make(facts(&[("t", 1), ("u", 2)])).unwrap()), "t0 | u0 u1");
    assert!(!plan.is_outdated(&facts(&[("t", 1), ("u", 2), ("of nobody", 9)])));
    assert!(
        plan.is_outdated(&facts(&[("t", 1), ("u", 3)])),
        "a topic that the leader itself does not read has grown"
    );
    assert!(plan.is_outdated(&facts(&[("t", 1)])));
    assert!(plan.is_outdated(&facts(&[("t", 1), ("u", 2), ("gone", 1)])));
}

#[test]
fn a_broker_that_restarts_changes_no_rack() {
    let with = |racks: &[&[&str]]| {
        let racks = racks.iter().map(|racks| racks.iter().map(|rack| (*rack).to_owned()).collect()).collect();
        BTreeMap::from([("t".to_owned(), TopicFacts { partitions: 1, racks })])
    };
    let mut plan = GroupPlan::new(PlanRule::Range, vec![member("a", &["t"], &[])]);
    plan.make(with(&[&["x", "y"]])).unwrap();
    assert!(!plan.is_outdated(&with(&[&["x"]])));
    assert!(!plan.is_outdated(&with(&[])));
    assert!(plan.is_outdated(&with(&[&["x", "z"]])));
}

/// A member that gave everything up to join, and remembers what it had in `generation`.
fn remembering(id: &str, had: &[i32], generation: i32) -> JoinedMember {
    let had = StickyUserData {
        partitions: vec![TopicPartitions { topic: "t", partitions: had.to_vec() }],
        generation: Some(generation),
    };
    let had = had.write();
    let subscription = ConsumerSubscription {
        version: 3,
        topics: vec!["t"],
        user_data: Some(&had),
        ..ConsumerSubscription::default()
    };
    JoinedMember { id: id.to_owned(), instance: None, subscription: subscription.write().into() }
}

fn planned(rule: PlanRule, members: Vec<JoinedMember>, topics: &[(&str, u32)]) -> String {
    shown(&GroupPlan::new(rule, members).make(facts(topics)).unwrap())
}

#[test]
fn an_own_strategy_moves_as_little_as_it_can_and_waits_for_who_still_owns() {
    let first = vec![member("a", &["t"], &[("t", &[0, 1, 2, 3])]), member("b", &["t"], &[])];
    assert_eq!(planned(PlanRule::Balanced, first, &[("t", 4)]), "t0 t1 | ", "b waits for what a gives up");
    let then = vec![member("a", &["t"], &[("t", &[0, 1])]), member("b", &["t"], &[])];
    assert_eq!(planned(PlanRule::Balanced, then, &[("t", 4)]), "t0 t1 | t2 t3");
    let sets = vec![member("a", &["t", "u"], &[]), member("b", &["t", "u"], &[])];
    assert_eq!(
        planned(PlanRule::CopartitionedSticky, sets, &[("t", 2), ("u", 2)]),
        "t0 u0 | t1 u1",
        "equal numbers on one member"
    );
}

#[test]
fn an_own_strategy_heeds_what_members_remember_and_the_newest_claim() {
    let had = vec![remembering("a", &[2, 3], 4), remembering("b", &[0, 1], 4)];
    assert_eq!(planned(PlanRule::Balanced, had, &[("t", 4)]), "t2 t3 | t0 t1");
    let claimed = vec![remembering("a", &[0, 1, 2, 3], 3), remembering("b", &[0, 1], 4)];
    assert_eq!(planned(PlanRule::Balanced, claimed, &[("t", 4)]), "t2 t3 | t0 t1");
    let impossible = vec![remembering("a", &[-1, 7, 7], 3), remembering("b", &[], 4)];
    assert_eq!(planned(PlanRule::Balanced, impossible, &[("t", 2)]).len(), "t0 | t1".len());
}

#[test]
fn what_two_still_own_in_one_generation_neither_keeps() {
    let both = vec![member("a", &["t"], &[("t", &[0])]), member("b", &["t"], &[("t", &[0])])];
    assert_eq!(planned(PlanRule::Balanced, both, &[("t", 1)]), " | ");
}
