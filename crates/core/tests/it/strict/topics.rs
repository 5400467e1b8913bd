//! Topics of the strict modes that go and come back.

use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::Reason;
use kafka_assigner_core::record::{Assignment, GroupConfig};
use kafka_assigner_core::route::{Route, route};
use kafka_assigner_core::test_group::TestGroup;
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Member, Offset};
use kafka_assigner_types::mode::Mode;

use super::{at, draining, group, id, is_recorded, role, stopped_at, warming};

#[test]
fn a_topic_that_comes_back_finds_the_owner_that_may_still_act_on_it() {
    let mut group = group(Mode::Exclusive);
    let zombie = group.join("a");
    group.settle();
    let topic = Key::Topic("t".parse().unwrap());
    group.remove(&topic);
    group.pass();
    assert_eq!(role(&group, &zombie), None);
    let successor = group.join("a");
    group.topic("t", 2);
    group.pass();
    assert_eq!(role(&group, &successor), None, "the session before it has not heard yet");
    group.remove(&topic);
    group.later(Duration::from_secs(20));
    group.pass();
    assert!(group.state.assignments().is_empty());
}

/// `b` owns the partition from offset 7 on, in its second run; then its topic goes, and comes back.
fn returned_topic() -> (TestGroup, Member, Assignment) {
    let (mut group, a, b) = draining(Mode::Exclusive);
    is_recorded(&group.say(&a, &at(), Some(&id(&group)), &stopped_at(7)));
    group.settle();
    let before = group.state.assignment(&at()).unwrap().clone();
    assert_eq!((group.owner(&at()), before.start), (Some("b"), Offset::new(7).ok()));
    group.remove(&Key::Topic("t".parse().unwrap()));
    group.pass();
    assert_eq!(role(&group, &b), None);
    group.topic("t", 2);
    (group, b, before)
}

#[test]
fn a_topic_that_comes_back_starts_its_owner_anew() {
    let (mut group, b, before) = returned_topic();
    assert_eq!(role(&group, &b), None, "what it had is not shown again: it has forgotten it");
    group.pass();
    let Some(Role::Owner { epoch, run, start, .. }) = role(&group, &b) else {
        panic!("{:?}", role(&group, &b))
    };
    assert!(epoch > before.highest_epoch(), "{epoch}");
    assert_eq!((run, start), (epoch, None), "a new run from the committed offset");
    assert_eq!(group.state.assignment(&at()).unwrap().why, Reason::TopicReturned);
    group.settle();
    assert_eq!(group.owner(&at()), Some("b"));
}

#[test]
fn nobody_is_sent_requests_of_a_topic_that_came_back_before_it_is_granted_anew() {
    let (mut group, b, _) = returned_topic();
    assert_eq!(route(&group.state, &at()), Some(Route::Unowned));
    group.pass();
    assert!(matches!(route(&group.state, &at()), Some(Route::Open { owner, .. }) if owner == b));
}

/// Nobody was told anything of the topic's absence.
#[test]
fn a_switch_to_a_strict_mode_forgets_that_a_topic_was_gone_in_overlap() {
    let mut group = group(Mode::Overlap);
    let a = group.join("a");
    group.settle();
    group.remove(&Key::Topic("t".parse().unwrap()));
    group.topic("t", 2);
    let run = |group: &TestGroup| group.state.assignment(&at()).unwrap().run();
    let before = run(&group);
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    group.later(Duration::from_secs(60));
    group.settle();
    assert!(matches!(role(&group, &a), Some(Role::Owner { mode: Mode::Exclusive, .. })));
    assert_eq!(run(&group), before, "the owner goes on");
}

#[test]
fn a_topic_that_is_gone_for_less_than_a_pass_comes_back_all_the_same() {
    let (mut group, a, b) = draining(Mode::Exclusive);
    let topic = Key::Topic("t".parse().unwrap());
    let (handoff, before) = (id(&group), group.state.assignment(&at()).unwrap().clone());
    group.remove(&topic);
    group.topic("t", 2);
    group.say(&a, &at(), Some(&handoff), &stopped_at(7));
    group.settle();
    let (after, member) = (group.state.assignment(&at()).unwrap(), group.owner(&at()).unwrap());
    assert!([&a, &b].iter().any(|party| party.name.as_str() == member));
    assert_eq!(after.start, None, "offset 7 was one of the topic that is gone");
    assert!(after.run() > before.highest_epoch());
}

/// The old owner says where it stopped before the leader sees that the topic is gone.
#[test]
fn a_move_that_ends_while_its_topic_is_gone_hands_no_start_to_the_topic_that_returns() {
    let (mut group, a, _) = draining(Mode::Exclusive);
    let topic = Key::Topic("t".parse().unwrap());
    let handoff = id(&group);
    group.remove(&topic);
    group.say(&a, &at(), Some(&handoff), &stopped_at(7));
    group.topic("t", 2);
    group.settle();
    let after = group.state.assignment(&at()).unwrap();
    assert!(after.owner.is_some());
    assert_eq!(after.start, None, "offset 7 was one of the topic that is gone");
}

#[test]
fn a_topic_that_grows_leaves_its_owners_alone() {
    let (mut group, a, _) = warming(Mode::Exclusive);
    let before = role(&group, &a);
    group.topic("t", 4);
    group.pass();
    assert_eq!(role(&group, &a), before);
}
