//! Co-partitioned topics move as one.

use kafka_assigner_core::ack::{Ack, Verdict};
use kafka_assigner_core::action::Step;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::record::{HandoffRecord, MAX_SET, Phase, Taken};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_types::id::Member;

fn set_of(topics: &[(&str, u32)]) -> Lab {
    let mut lab = Lab::default();
    topics.iter().for_each(|(name, partitions)| lab.topic_in_set(name, *partitions, "s"));
    lab
}

fn owners(lab: &Lab, number: u32) -> Vec<&str> {
    ["t", "u", "v"].iter().filter_map(|topic| lab.owner(&tp(topic, number))).collect()
}

#[test]
fn a_set_moves_under_one_id_one_phase_and_one_epoch() {
    let mut lab = set_of(&[("t", 2), ("u", 2), ("v", 1)]);
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    let begun = lab.pass();
    assert_eq!(begun.len(), 1);
    assert_eq!(begun[0].unit, [tp("t", 1), tp("u", 1)], "v has no partition 1");
    assert!(matches!(lab.stored(&Key::Handoff(tp("u", 1))), HandoffRecord::Reference(_)));
    // It goes on once it was said of all its partitions, or the rest of the unit would be switched cold.
    let phase = |lab: &Lab| lab.state.handoff(&tp("t", 1)).unwrap().phase;
    lab.say(&b, &tp("u", 1), None, &Ack::Ready);
    assert_eq!(lab.say(&b, &tp("u", 1), None, &Ack::Ready), Verdict::Already);
    assert_eq!(phase(&lab), Phase::Warming);
    lab.say(&b, &tp("t", 1), None, &Ack::Ready);
    assert_eq!(phase(&lab), Phase::Ready);
    lab.pass();
    lab.say(&b, &tp("t", 1), None, &Ack::Taken(Taken::default()));
    assert_eq!(lab.state.handoff(&tp("t", 1)).unwrap().taken, None);
    let epoch = |topic| lab.state.assignment(&tp(topic, 1)).unwrap().held_epoch();
    assert_eq!(epoch("t"), epoch("u"));
    lab.settle();
    assert_eq!((owners(&lab, 0), owners(&lab, 1)), (vec!["a", "a", "a"], vec!["b", "b"]));
    assert!(lab.state.handoffs().is_empty());
}

#[test]
fn a_set_goes_on_only_once_it_was_said_of_each_of_its_partitions() {
    let mut lab = set_of(&[("t", 2), ("u", 2)]);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    let handoff = |lab: &Lab| lab.state.handoff(&tp("t", 1)).cloned();
    lab.say(&b, &tp("u", 1), None, &Ack::Ready);
    assert_eq!(lab.say(&b, &tp("u", 1), None, &Ack::Ready), Verdict::Already);
    assert_eq!(handoff(&lab).unwrap().phase, Phase::Warming);
    lab.say(&b, &tp("t", 1), None, &Ack::Ready);
    lab.pass();
    lab.say(&b, &tp("t", 1), None, &Ack::Taken(Taken::default()));
    assert!(handoff(&lab).unwrap().taken.is_none(), "the old owner still works on u/1");
    lab.say(&b, &tp("u", 1), None, &Ack::Taken(Taken::default()));
    assert!(handoff(&lab).unwrap().taken.is_some());
    lab.say(&a, &tp("t", 1), None, &Ack::Released { last_at: None });
    assert!(handoff(&lab).is_some());
    lab.say(&a, &tp("u", 1), None, &Ack::Released { last_at: None });
    assert!(handoff(&lab).is_none());
}

#[test]
fn the_largest_set_fits_into_one_transaction_at_every_step() {
    let names: Vec<String> = (0..MAX_SET).map(|n| format!("t{n}")).collect();
    let mut lab = set_of(&names.iter().map(|name| (name.as_str(), 2)).collect::<Vec<_>>());
    lab.join("a");
    lab.settle();
    lab.join("b");
    let done = lab.settle();
    for action in &done {
        assert!(action.write.ops.len() <= 128 && action.write.guards.len() < 128, "{}", action.step);
    }
    assert_eq!(lab.loads().into_values().collect::<Vec<_>>(), [MAX_SET, MAX_SET]);
    lab.crash("a");
    for action in lab.settle() {
        assert!(action.write.ops.len() <= 128 && action.write.guards.len() < 128, "{}", action.step);
    }
}

#[test]
fn a_set_with_several_owners_comes_together() {
    // The topics got their label after they were spread; one more between them keeps their owners apart.
    let mut lab = Lab::with_topics(&[("t", 2), ("tt", 1), ("u", 2)]);
    for name in ["a", "b"] {
        lab.join(name);
    }
    lab.settle();
    assert_ne!(lab.owner(&tp("t", 0)), lab.owner(&tp("u", 0)));
    lab.topic_in_set("t", 2, "s");
    lab.topic_in_set("u", 2, "s");
    lab.settle();
    assert_eq!(lab.owner(&tp("t", 0)), lab.owner(&tp("u", 0)));
    assert_eq!(lab.owner(&tp("t", 1)), lab.owner(&tp("u", 1)));
    let mut loads: Vec<_> = lab.loads().into_values().collect();
    loads.sort_unstable();
    assert_eq!(loads, [2, 3]);
}

/// `t/0` is on its way to `c` from `a`, and `u/0` from `b`: one set, two handoffs.
fn two_parts() -> (Lab, Member) {
    let mut lab = Lab::with_topics(&[("t", 1), ("u", 1)]);
    let (a, b) = (lab.join("a"), lab.join("b"));
    lab.settle();
    lab.topic_in_set("t", 1, "s");
    lab.topic_in_set("u", 1, "s");
    let c = lab.join("c");
    lab.leave(&a, &Leaving::Drain);
    lab.leave(&b, &Leaving::Drain);
    lab.pass();
    assert_eq!(lab.state.handoffs().len(), 2);
    (lab, c)
}

#[test]
fn a_part_that_failed_is_not_tried_again_at_once_because_another_part_is_under_way() {
    let (mut lab, c) = two_parts();
    lab.say(&c, &tp("u", 0), None, &Ack::WarmFailed { reason: "no".to_owned() });
    lab.pass();
    lab.pass();
    assert!(lab.state.handoff(&tp("u", 0)).is_none());
    let plan = lab.plan();
    assert!(plan.actions.is_empty());
    assert_eq!(plan.deferred[0].why.label(), "failed_lately");
}

#[test]
fn the_rest_of_a_set_is_not_granted_to_a_consumer_that_drains() {
    let (mut lab, c) = two_parts();
    lab.join("d");
    lab.leave(&c, &Leaving::Drain);
    lab.crash("b");
    let planned = lab.plan();
    assert!(planned.actions.iter().all(|a| !matches!(&a.step, Step::Grant { to, .. } if *to == c)));
    lab.settle();
    assert_eq!(owners(&lab, 0), ["d", "d"]);
}

#[test]
fn what_is_balanced_is_partitions_and_not_sets() {
    let mut lab = set_of(&[("t", 4), ("u", 4), ("v", 4)]);
    lab.topic("single", 12);
    ["a", "b"].iter().for_each(|name| drop(lab.join(name)));
    lab.settle();
    assert_eq!(lab.loads().into_values().collect::<Vec<_>>(), [12, 12]);
}

/// Nothing is left to do, and nothing without an owner.
fn rests(lab: &Lab) -> bool {
    let plan = lab.plan();
    plan.actions.is_empty() && plan.deferred.is_empty()
}

#[test]
fn a_limit_leaves_nothing_without_an_owner_that_has_room_somewhere() {
    let mut lab = set_of(&[("t", 4), ("u", 4), ("v", 4)]);
    lab.topic("single", 12);
    ["a", "b"].iter().for_each(|name| drop(lab.join_as(name, |c| c.max_partitions = Some(13))));
    lab.settle();
    assert_eq!(lab.loads().into_values().collect::<Vec<_>>(), [12, 12]);
    assert!(rests(&lab));
}

#[test]
fn who_takes_fewer_partitions_than_move_together_gets_those_that_move_alone() {
    let mut lab = set_of(&[("t", 1), ("u", 1), ("v", 1)]);
    lab.topic("single", 4);
    lab.join_as("a", |a| a.max_partitions = Some(2));
    lab.settle();
    assert_eq!(lab.loads()["a"], 2);
    let deferred = lab.plan().deferred;
    let of_set = deferred.iter().find(|deferred| deferred.unit.contains(&tp("t", 0))).unwrap();
    assert!(of_set.why.to_string().contains("as many partitions as move together"), "{}", of_set.why);
    lab.join_as("b", |b| b.max_partitions = Some(6));
    lab.settle();
    assert_eq!((lab.loads()["a"], lab.loads()["b"]), (2, 5));
    assert!(rests(&lab));
}

#[test]
fn a_limit_counts_partitions_and_not_sets() {
    let mut lab = set_of(&[("t", 4), ("u", 4)]);
    lab.join_as("a", |a| a.max_partitions = Some(5));
    lab.settle();
    assert_eq!(lab.loads()["a"], 4, "two whole units, and no third");
}

#[test]
fn the_rest_of_a_set_does_not_follow_a_part_to_a_consumer_that_does_not_take_it() {
    let mut lab = Lab::with_topics(&[("t", 2), ("u", 2)]);
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
