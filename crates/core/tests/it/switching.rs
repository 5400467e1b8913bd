//! A mode is switched while the group lives: the stricter one begins once nobody else may act.

use std::time::Duration;

use kafka_assigner_core::ack::Ack;
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::plan::Deferral;
use kafka_assigner_core::reason::DeferReason;
use kafka_assigner_core::record::{GroupConfig, Taken, Topic, encode};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::state::Entry;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::mode::Mode;

fn at() -> TopicPartition {
    tp("t", 1)
}

fn switch(group: &mut TestGroup, mode: Mode) {
    group.configure(&GroupConfig { mode, ..config(group) });
}

/// The configuration that is stored, or the default one.
fn config(group: &TestGroup) -> GroupConfig {
    let stored = group.state.config_entry().and_then(Entry::readable);
    stored.map_or_else(GroupConfig::default, |config| (**config).clone())
}

fn say_that_owners_stopped(group: &mut TestGroup) {
    let owners_stopped_at = Some(group.state.owners_stopped_now());
    group.configure(&GroupConfig { owners_stopped_at, ..config(group) });
}

fn role(group: &TestGroup, member: &Member) -> Option<Role> {
    group.view(member).roles.get(&at()).cloned()
}

fn mode(group: &TestGroup) -> Mode {
    group.state.assignment(&at()).expect("it is granted").mode
}

/// `a` gives a partition to `b` in `overlap`: the assignment names `b`, and `a` works on until `b` does.
fn complete() -> (TestGroup, Member, Member) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    group.say(&b, &at(), None, &Ack::Ready);
    group.pass();
    assert!(matches!(role(&group, &b), Some(Role::Owner { taking: Some(_), .. })));
    (group, a, b)
}

#[test]
fn a_stricter_mode_waits_for_the_claims_of_those_who_owned_it_before() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    group.settle();
    group.later(Duration::from_secs(60));
    let successor = group.join("a");
    group.pass();
    switch(&mut group, Mode::Exclusive);
    group.later(Duration::from_millis(19_999));
    assert!(group.pass().is_empty());
    let why: Vec<_> = group.plan().deferred.into_iter().map(|deferral| deferral.why).collect();
    assert_eq!(why, [DeferReason::Outlived { left_ms: 1 }, DeferReason::Outlived { left_ms: 1 }]);
    assert_eq!(group.plan().soonest_switch(), Some(Duration::from_millis(1)));
    assert!(matches!(role(&group, &successor), Some(Role::Owner { mode: Mode::Overlap, .. })), "it works on");
    group.later(Duration::from_millis(1));
    group.settle();
    assert!(matches!(
        role(&group, &successor),
        Some(Role::Owner { mode: Mode::Exclusive, taking: None, .. })
    ));
}

#[test]
fn a_group_that_has_been_quiet_is_switched_at_once() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    group.settle();
    group.join("a");
    group.settle();
    group.later(Duration::from_secs(20));
    switch(&mut group, Mode::Routed);
    group.settle();
    assert_eq!(mode(&group), Mode::Routed);
}

#[test]
fn what_an_owner_had_in_overlap_goes_on_in_overlap_until_its_next_owner_is_the_only_one() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    switch(&mut group, Mode::Exclusive);
    let successor = group.join("a");
    group.pass();
    assert_ne!(a, successor);
    assert_eq!(mode(&group), Mode::Overlap, "the session before it may act for two thirds of its time");
    group.later(Duration::from_secs(20));
    group.settle();
    assert_eq!(mode(&group), Mode::Exclusive);
}

#[test]
fn what_is_not_switched_yet_moves_in_overlap() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    group.settle();
    let a = group.join("a");
    group.pass();
    switch(&mut group, Mode::Exclusive);
    group.join("b");
    group.leave(&a, &Leaving::Drain);
    group.pass();
    assert_eq!(group.state.handoff(&at()).expect("it moves").mode, Mode::Overlap);
}

#[test]
fn one_that_never_took_has_to_let_go_of_what_is_given_back() {
    let (mut group, a, b) = complete();
    group.later(Duration::from_secs(30));
    group.pass();
    let Some(Role::Owner { epoch, taking: None, .. }) = role(&group, &a) else { panic!() };
    let Some(Role::Releasing { handoff, epoch: before, .. }) = role(&group, &b) else { panic!() };
    assert!(epoch > before);
    switch(&mut group, Mode::Exclusive);
    group.later(Duration::from_secs(25));
    group.pass();
    assert_eq!(mode(&group), Mode::Overlap, "it may not have heard");
    group.say(&b, &at(), Some(&handoff), &Ack::Released { last_at: None });
    assert!(group.state.handoff(&at()).is_none());
    group.later(Duration::from_secs(20));
    group.pass();
    assert_eq!(mode(&group), Mode::Exclusive);
}

#[test]
fn one_that_never_lets_go_of_what_was_given_back_loses_its_session() {
    let (mut group, _, b) = complete();
    group.later(Duration::from_secs(30));
    group.pass();
    group.later(Duration::from_secs(30));
    let ended = group.pass();
    assert!(
        ended.iter().any(|action| matches!(&action.step, Step::EndSession { member, .. } if *member == b))
    );
}

#[test]
fn an_old_owner_has_to_let_go_though_the_new_one_died() {
    let (mut group, a, b) = complete();
    group.say(&b, &at(), None, &Ack::Taken(Taken::default()));
    let Some(Role::Releasing { handoff, .. }) = role(&group, &a) else { panic!() };
    group.crash("b");
    let again = group.join("b");
    group.pass();
    assert!(matches!(role(&group, &again), Some(Role::Owner { taking: None, .. })), "it works at once");
    assert!(matches!(role(&group, &a), Some(Role::Releasing { handoff: same, .. }) if same == handoff));
    group.say(&a, &at(), Some(&handoff), &Ack::Released { last_at: None });
    assert!(group.state.handoffs().is_empty());
}

/// `x` has `t/0` and `u/0`, one set, and what `y` had of them before is not switched yet; returns which that is.
fn half_switched() -> (TestGroup, Member, TopicPartition) {
    let mut group = TestGroup::with_topics(&[("t", 1), ("u", 1)]);
    let x = group.join("x");
    group.settle();
    group.join("y");
    group.settle();
    let late = if group.owner(&tp("t", 0)) == Some("y") { tp("t", 0) } else { tp("u", 0) };
    group.later(Duration::from_secs(60));
    // The partition that y had is x's again, and y may act on it for a while.
    group.crash("y");
    group.settle();
    group.topic_in_set("t", 1, "s");
    group.topic_in_set("u", 1, "s");
    switch(&mut group, Mode::Exclusive);
    group.settle();
    assert!(modes(&group).contains(&Mode::Exclusive) && modes(&group).contains(&Mode::Overlap));
    (group, x, late)
}

fn modes(group: &TestGroup) -> [Mode; 2] {
    [tp("t", 0), tp("u", 0)].map(|at| group.state.assignment(&at).unwrap().mode)
}

#[test]
fn what_is_switched_of_a_set_does_not_step_back_when_its_owner_dies() {
    let (mut group, x, late) = half_switched();
    let z = group.join("z");
    group.crash(x.name.as_str());
    let granted = |action: &&Action| matches!(&action.step, Step::Grant { to, .. } if *to == z);
    let granted = group.pass().iter().filter(granted).map(|action| action.unit.len()).collect::<Vec<_>>();
    assert_eq!(granted, [1, 1], "each part in its mode");
    for at in [tp("t", 0), tp("u", 0)] {
        let mode = if at == late { Mode::Overlap } else { Mode::Exclusive };
        assert_eq!(group.state.assignment(&at).unwrap().mode, mode, "{at}");
        assert_eq!(group.owner(&at), Some("z"));
    }
    group.later(Duration::from_secs(20));
    group.settle();
    assert_eq!(modes(&group), [Mode::Exclusive; 2]);
}

#[test]
fn a_set_that_is_switched_in_part_does_not_move_before_the_rest_is() {
    let (mut group, x, late) = half_switched();
    let z = group.join("z");
    group.leave(&x, &Leaving::Drain);
    group.pass();
    assert!(group.state.handoffs().is_empty(), "two would work on what is promised to one");
    let waits = |d: &Deferral| d.unit.len() == 2 && matches!(d.why, DeferReason::Outlived { .. });
    assert!(group.plan().deferred.iter().any(waits), "{:?}", group.plan().deferred);
    group.later(Duration::from_secs(20));
    group.pass();
    assert_eq!(group.state.assignment(&late).unwrap().mode, Mode::Exclusive);
    group.pass();
    let handoff = group.state.handoff(&tp("t", 0)).expect("now it moves");
    assert_eq!((handoff.mode, handoff.unit.len(), &handoff.new), (Mode::Exclusive, 2, &z));
}

/// `t` is to be exclusive, and `u`, in the same set, has no mode of its own in a group of `overlap`: all of it is
/// exclusive. `a` has `u/1`, and `b` has `t/1`.
fn strict_through_the_set() -> (TestGroup, Member) {
    let mut group = TestGroup::with_topics(&[("t", 3), ("u", 2)]);
    let a = group.join("a");
    group.join("b");
    group.settle();
    assert_eq!((group.owner(&tp("t", 1)), group.owner(&tp("u", 1))), (Some("b"), Some("a")));
    group.topic_in_set("t", 3, "s");
    group.topic_in_set("u", 2, "s");
    let key = Key::Topic("t".parse().unwrap());
    let strict = Topic { mode: Some(Mode::Exclusive), ..group.stored::<Topic>(&key) };
    group.put(&key, encode(&strict));
    group.pass();
    assert!(group.state.assignments().values().all(|entry| entry.readable().unwrap().mode.is_strict()));
    (group, a)
}

#[test]
fn a_part_of_a_set_moves_in_the_mode_of_the_whole_set() {
    let (mut group, a) = strict_through_the_set();
    group.leave(&a, &Leaving::Drain);
    group.pass();
    let moves: Vec<_> = group.state.handoffs().keys().filter_map(|at| group.state.handoff(at)).collect();
    assert!(moves.iter().any(|handoff| handoff.unit == [tp("u", 1)]), "a part moves alone: {moves:?}");
    let modes: Vec<_> = moves.iter().map(|handoff| handoff.mode).collect();
    assert!(modes.iter().all(|mode| *mode == Mode::Exclusive), "{modes:?}");
}

/// The outage grace of the consumers of these tests.
const GRACE: Duration = Duration::from_secs(600);

/// A consumer that goes on for [`GRACE`] while it hears that the store can't be reached.
fn join_with_grace(group: &mut TestGroup, name: &str) -> Member {
    group.join_as(name, |consumer| consumer.outage_grace_ms = 600_000)
}

/// `a` owned both partitions in `overlap`, and its session has ended without its word: `b` owns them.
fn orphaned() -> TestGroup {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = join_with_grace(&mut group, "a");
    group.settle();
    join_with_grace(&mut group, "b");
    group.remove(&Key::Consumer(a.name));
    group.settle();
    group
}

/// True if the switch to `exclusive` comes when `wait` has passed, and not before.
fn is_switched_after(group: &mut TestGroup, wait: Duration) -> bool {
    group.later(wait.saturating_sub(Duration::from_millis(1)));
    group.settle();
    let is_early = !wait.is_zero() && mode(group) == Mode::Exclusive;
    group.later(Duration::from_millis(1));
    group.settle();
    !is_early && mode(group) == Mode::Exclusive
}

// It may hear for so long, from an instance that is cut off as it is, that the store can't be reached.
#[test]
fn an_owner_that_ended_without_its_word_is_waited_for_by_its_outage_grace() {
    let mut group = orphaned();
    switch(&mut group, Mode::Exclusive);
    assert!(is_switched_after(&mut group, GRACE));
}

#[test]
fn an_owner_that_let_go_is_waited_for_by_its_claim() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = join_with_grace(&mut group, "a");
    group.settle();
    join_with_grace(&mut group, "b");
    group.leave(&a, &Leaving::Drain);
    group.settle();
    group.everybody_acts();
    group.settle();
    assert!(group.state.handoffs().is_empty() && !group.state.owns_something(&a), "all is with b");
    group.remove(&Key::Consumer(a.name));
    switch(&mut group, Mode::Exclusive);
    assert!(is_switched_after(&mut group, Duration::from_secs(20)));
}

#[test]
fn an_old_owner_that_died_before_it_let_go_is_waited_for_by_its_outage_grace() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = join_with_grace(&mut group, "a");
    group.settle();
    let b = group.join("b");
    group.pass();
    group.say(&b, &at(), None, &Ack::Ready);
    group.pass();
    group.say(&b, &at(), None, &Ack::Taken(Taken::default()));
    group.remove(&Key::Consumer(a.name));
    group.settle();
    assert!(group.state.handoffs().is_empty());
    switch(&mut group, Mode::Exclusive);
    assert!(is_switched_after(&mut group, GRACE));
}

#[test]
fn an_operators_word_that_the_owners_have_stopped_is_the_end_of_the_wait() {
    let mut group = orphaned();
    say_that_owners_stopped(&mut group);
    switch(&mut group, Mode::Exclusive);
    assert!(is_switched_after(&mut group, Duration::ZERO));
}

/// The topic is in `exclusive` from now on, and the group's configuration is as before.
fn switch_topic(group: &mut TestGroup) {
    let key = Key::Topic("t".parse().unwrap());
    let strict = Topic { mode: Some(Mode::Exclusive), ..group.stored::<Topic>(&key) };
    group.put(&key, encode(&strict));
}

#[test]
fn an_operators_word_says_nothing_of_owners_that_come_later() {
    let mut group = orphaned();
    say_that_owners_stopped(&mut group);
    let owner = group.state.owner(&at()).expect("b owns it");
    join_with_grace(&mut group, "c");
    group.remove(&Key::Consumer(owner.name));
    group.settle();
    switch_topic(&mut group);
    assert!(is_switched_after(&mut group, GRACE));
}

#[test]
fn an_operators_word_says_nothing_of_an_old_owner_that_dies_later() {
    let mut group = orphaned();
    let b = group.state.owner(&at()).expect("b owns it");
    let c = group.join("c");
    group.pass();
    group.say(&c, &at(), None, &Ack::Ready);
    group.pass();
    group.say(&c, &at(), None, &Ack::Taken(Taken::default()));
    say_that_owners_stopped(&mut group);
    group.remove(&Key::Consumer(b.name));
    group.settle();
    switch_topic(&mut group);
    assert!(is_switched_after(&mut group, GRACE));
}

// It never heard of the switch, and hears from an instance that is cut off that the store can't be reached.
#[test]
fn an_owner_that_never_confirmed_the_stricter_mode_is_waited_for_by_its_outage_grace() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    join_with_grace(&mut group, "a");
    group.settle();
    switch(&mut group, Mode::Exclusive);
    group.pass();
    assert!(
        group.state.assignment(&at()).is_some_and(|granted| granted.switching.is_some()),
        "not confirmed"
    );
    join_with_grace(&mut group, "b");
    group.crash("a");
    group.settle();
    group.later(GRACE.saturating_sub(Duration::from_millis(1)));
    group.settle();
    assert_eq!(group.owner(&at()), Some("a"), "it may act");
    group.later(Duration::from_millis(1));
    group.settle();
    assert_eq!(group.owner(&at()), Some("b"));
}

#[test]
fn an_owner_that_confirmed_the_stricter_mode_has_no_grace_any_more() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    join_with_grace(&mut group, "a");
    group.settle();
    switch(&mut group, Mode::Exclusive);
    group.settle();
    group.everybody_acts();
    assert!(group.state.assignment(&at()).is_some_and(|granted| granted.switching.is_none()), "confirmed");
    join_with_grace(&mut group, "b");
    group.crash("a");
    group.settle();
    assert_eq!(group.owner(&at()), Some("b"), "its lease is gone");
}
