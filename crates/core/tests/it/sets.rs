//! Co-partitioned topics move as one.

use kafka_assigner_core::ack::{Ack, Drained, Verdict};
use kafka_assigner_core::action::Step;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{GroupConfig, HandoffRecord, MAX_SET, Phase, Taken};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::{Member, Offset};
use kafka_assigner_types::mode::Mode;

fn set_of(topics: &[(&str, u32)]) -> TestGroup {
    let mut group = TestGroup::default();
    topics.iter().for_each(|(name, partitions)| group.topic_in_set(name, *partitions, "s"));
    group
}

fn owners(group: &TestGroup, number: u32) -> Vec<&str> {
    ["t", "u", "v"].iter().filter_map(|topic| group.owner(&tp(topic, number))).collect()
}

#[test]
fn a_set_moves_under_one_id_one_phase_and_one_epoch() {
    let mut group = set_of(&[("t", 2), ("u", 2), ("v", 1)]);
    group.join("a");
    group.settle();
    let b = group.join("b");
    let begun = group.pass();
    assert_eq!(begun.len(), 1);
    assert_eq!(begun[0].unit, [tp("t", 1), tp("u", 1)], "v has no partition 1");
    assert!(matches!(group.stored(&Key::Handoff(tp("u", 1))), HandoffRecord::Reference(_)));
    // It goes on once it was said of all its partitions, or the rest of the unit would be switched cold.
    let phase = |group: &TestGroup| group.state.handoff(&tp("t", 1)).unwrap().phase;
    group.say(&b, &tp("u", 1), None, &Ack::Ready);
    assert_eq!(group.say(&b, &tp("u", 1), None, &Ack::Ready), Verdict::Already);
    assert_eq!(phase(&group), Phase::Warming);
    group.say(&b, &tp("t", 1), None, &Ack::Ready);
    assert_eq!(phase(&group), Phase::Ready);
    group.pass();
    group.say(&b, &tp("t", 1), None, &Ack::Taken(Taken::default()));
    assert_eq!(group.state.handoff(&tp("t", 1)).unwrap().taken, None);
    let epoch = |topic| group.state.assignment(&tp(topic, 1)).unwrap().held_epoch();
    assert_eq!(epoch("t"), epoch("u"));
    group.settle();
    assert_eq!((owners(&group, 0), owners(&group, 1)), (vec!["a", "a", "a"], vec!["b", "b"]));
    assert!(group.state.handoffs().is_empty());
}

#[test]
fn a_set_goes_on_only_once_it_was_said_of_each_of_its_partitions() {
    let mut group = set_of(&[("t", 2), ("u", 2)]);
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    let handoff = |group: &TestGroup| group.state.handoff(&tp("t", 1)).cloned();
    group.say(&b, &tp("u", 1), None, &Ack::Ready);
    assert_eq!(group.say(&b, &tp("u", 1), None, &Ack::Ready), Verdict::Already);
    assert_eq!(handoff(&group).unwrap().phase, Phase::Warming);
    group.say(&b, &tp("t", 1), None, &Ack::Ready);
    group.pass();
    group.say(&b, &tp("t", 1), None, &Ack::Taken(Taken::default()));
    assert!(handoff(&group).unwrap().taken.is_none(), "the old owner still works on u/1");
    group.say(&b, &tp("u", 1), None, &Ack::Taken(Taken::default()));
    assert!(handoff(&group).unwrap().taken.is_some());
    group.say(&a, &tp("t", 1), None, &Ack::Released { last_at: None });
    assert!(handoff(&group).is_some());
    group.say(&a, &tp("u", 1), None, &Ack::Released { last_at: None });
    assert!(handoff(&group).is_none());
}

#[test]
fn the_largest_set_fits_into_one_transaction_at_every_step() {
    let names: Vec<String> = (0..MAX_SET).map(|n| format!("t{n}")).collect();
    let mut group = set_of(&names.iter().map(|name| (name.as_str(), 2)).collect::<Vec<_>>());
    group.join("a");
    group.settle();
    group.join("b");
    let done = group.settle();
    for action in &done {
        assert!(action.write.ops.len() <= 128 && action.write.guards.len() < 128, "{}", action.step);
    }
    assert_eq!(group.loads().into_values().collect::<Vec<_>>(), [MAX_SET, MAX_SET]);
    group.crash("a");
    for action in group.settle() {
        assert!(action.write.ops.len() <= 128 && action.write.guards.len() < 128, "{}", action.step);
    }
}

/// Each partition of the largest set is on its way by a handoff of its own, from `a` to `b`.
fn parts_of_the_largest_set() -> (TestGroup, Member, Member) {
    let names: Vec<String> = (0..MAX_SET).map(|n| format!("t{n}")).collect();
    let mut group = TestGroup::default();
    group.configure(&GroupConfig { mode: Mode::Routed, ..GroupConfig::default() });
    names.iter().for_each(|name| group.topic(name, 1));
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.leave(&a, &Leaving::Drain);
    group.pass();
    assert_eq!(group.state.handoffs().len(), MAX_SET);
    names.iter().for_each(|name| group.topic_in_set(name, 1, "s"));
    (group, a, b)
}

#[test]
fn a_set_whose_parts_moved_alone_is_granted_in_writes_that_a_store_takes() {
    let (mut group, a, b) = parts_of_the_largest_set();
    // The old owner of one part has said where it stopped.
    let (at, offset) = (tp("t7", 0), Offset::new(42).unwrap());
    let id = group.state.handoff(&at).unwrap().id.clone();
    group.say(&b, &at, Some(&id), &Ack::Ready);
    group.pass();
    group.pass();
    group.say(&a, &at, Some(&id), &Ack::Drained(Drained { offset: Some(offset), last_at: None }));
    group.crash("a");
    group.crash("b");
    group.join("c");
    for action in group.settle() {
        assert!(action.write.ops.len() <= 128 && action.write.guards.len() < 128, "{}", action.step);
    }
    assert_eq!(group.loads(), [("c".to_owned(), MAX_SET)].into());
    assert!(group.state.handoffs().is_empty());
    assert_eq!(group.state.assignment(&at).unwrap().start, Some(offset));
}

#[test]
fn a_set_with_several_owners_comes_together() {
    // The topics got their label after they were spread; one more between them keeps their owners apart.
    let mut group = TestGroup::with_topics(&[("t", 2), ("tt", 1), ("u", 2)]);
    for name in ["a", "b"] {
        group.join(name);
    }
    group.settle();
    assert_ne!(group.owner(&tp("t", 0)), group.owner(&tp("u", 0)));
    group.topic_in_set("t", 2, "s");
    group.topic_in_set("u", 2, "s");
    group.settle();
    assert_eq!(group.owner(&tp("t", 0)), group.owner(&tp("u", 0)));
    assert_eq!(group.owner(&tp("t", 1)), group.owner(&tp("u", 1)));
    let mut loads: Vec<_> = group.loads().into_values().collect();
    loads.sort_unstable();
    assert_eq!(loads, [2, 3]);
}

/// `t/0` is on its way to `c` from `a`, and `u/0` from `b`: one set, two handoffs.
fn two_parts() -> (TestGroup, Member) {
    let mut group = TestGroup::with_topics(&[("t", 1), ("u", 1)]);
    let (a, b) = (group.join("a"), group.join("b"));
    group.settle();
    group.topic_in_set("t", 1, "s");
    group.topic_in_set("u", 1, "s");
    let c = group.join("c");
    group.leave(&a, &Leaving::Drain);
    group.leave(&b, &Leaving::Drain);
    group.pass();
    assert_eq!(group.state.handoffs().len(), 2);
    (group, c)
}

#[test]
fn a_part_that_failed_is_not_tried_again_at_once_because_another_part_is_under_way() {
    let (mut group, c) = two_parts();
    group.say(&c, &tp("u", 0), None, &Ack::WarmFailed { reason: "no".to_owned() });
    group.pass();
    group.pass();
    assert!(group.state.handoff(&tp("u", 0)).is_none());
    let plan = group.plan();
    assert!(plan.actions.is_empty());
    assert_eq!(plan.deferred[0].why.label(), "failed_lately");
}

#[test]
fn the_rest_of_a_set_is_not_granted_to_a_consumer_that_drains() {
    let (mut group, c) = two_parts();
    group.join("d");
    group.leave(&c, &Leaving::Drain);
    group.crash("b");
    let planned = group.plan();
    assert!(planned.actions.iter().all(|a| !matches!(&a.step, Step::Grant { to, .. } if *to == c)));
    group.settle();
    assert_eq!(owners(&group, 0), ["d", "d"]);
}

#[test]
fn what_is_balanced_is_partitions_and_not_sets() {
    let mut group = set_of(&[("t", 4), ("u", 4), ("v", 4)]);
    group.topic("single", 12);
    ["a", "b"].iter().for_each(|name| drop(group.join(name)));
    group.settle();
    assert_eq!(group.loads().into_values().collect::<Vec<_>>(), [12, 12]);
}

/// Nothing is left to do, and nothing without an owner.
fn rests(group: &TestGroup) -> bool {
    let plan = group.plan();
    plan.actions.is_empty() && plan.deferred.is_empty()
}

#[test]
fn a_limit_leaves_nothing_without_an_owner_that_has_room_somewhere() {
    let mut group = set_of(&[("t", 4), ("u", 4), ("v", 4)]);
    group.topic("single", 12);
    ["a", "b"].iter().for_each(|name| drop(group.join_as(name, |c| c.max_partitions = Some(13))));
    group.settle();
    assert_eq!(group.loads().into_values().collect::<Vec<_>>(), [12, 12]);
    assert!(rests(&group));
}

#[test]
fn who_takes_fewer_partitions_than_move_together_gets_those_that_move_alone() {
    let mut group = set_of(&[("t", 1), ("u", 1), ("v", 1)]);
    group.topic("single", 4);
    group.join_as("a", |a| a.max_partitions = Some(2));
    group.settle();
    assert_eq!(group.loads()["a"], 2);
    let deferred = group.plan().deferred;
    let of_set = deferred.iter().find(|deferred| deferred.unit.contains(&tp("t", 0))).unwrap();
    assert!(of_set.why.to_string().contains("as many partitions as move together"), "{}", of_set.why);
    group.join_as("b", |b| b.max_partitions = Some(6));
    group.settle();
    assert_eq!((group.loads()["a"], group.loads()["b"]), (2, 5));
    assert!(rests(&group));
}

#[test]
fn a_limit_counts_partitions_and_not_sets() {
    let mut group = set_of(&[("t", 4), ("u", 4)]);
    group.join_as("a", |a| a.max_partitions = Some(5));
    group.settle();
    assert_eq!(group.loads()["a"], 4, "two whole units, and no third");
}

#[test]
fn the_rest_of_a_set_does_not_follow_a_part_to_a_consumer_that_does_not_take_it() {
    let mut lab = TestGroup::with_topics(&[("t", 2), ("u", 2)]);
    lab.join("c");
    lab.settle();
    let a = lab.join_as("a", |consumer| consumer.topics = ["t".parse().unwrap()].into());
    lab.pass();
    let moving = lab.state.handoffs().keys().next().expect("a gets a part of t").clone();
    // While it moves, both topics get a label: now they move together.
    ["t", "u"].iter().for_each(|topic| lab.topic_in_set(topic, 2, "s"));
    let rest = tp("u", moving.partition);
    let gives = |step: &Step| matches!(step, Step::Begin { to, .. } if *to == a);
    let wrong: Vec<_> =
        lab.plan().actions.into_iter().filter(|act| gives(&act.step) && act.unit.contains(&rest)).collect();
    assert_eq!(wrong, [], "a does not subscribe to u");
}

#[test]
fn a_set_that_grows_under_a_handoff_does_not_bring_its_consumer_above_its_limit() {
    let mut group = TestGroup::default();
    group.topic_in_set("u", 2, "s");
    group.join("c");
    group.settle();
    group.join_as("a", |consumer| consumer.max_partitions = Some(1));
    group.pass();
    let moves: Vec<_> = group.state.handoffs().keys().cloned().collect();
    assert_eq!(moves.len(), 1, "one goes to the consumer that takes one");
    group.topic_in_set("v", 3, "s");
    group.pass();
    let rest = [tp("v", 0), tp("v", 1), tp("v", 2)];
    assert!(rest.iter().all(|at| group.owner(at) == Some("c")), "{:?}", group.loads());
    group.settle();
    let of_a = group.loads().get("a").copied().unwrap_or_default();
    assert!(of_a <= 1, "{:?}", group.loads());
}
