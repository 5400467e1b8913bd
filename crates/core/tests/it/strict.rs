//! One owner at a time: the handoffs of `exclusive` and `routed`.

mod freezing;
mod rows;
mod topics;

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained, Verdict};
use kafka_assigner_core::action::Step;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::{DeferReason, Reason};
use kafka_assigner_core::record::{Assignment, Capability, GroupConfig, Phase, Taken, encode};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{HandoffId, Member, Offset, TopicPartition};
use kafka_assigner_types::mode::Mode;

fn at() -> TopicPartition {
    tp("t", 1)
}

fn group(mode: Mode) -> TestGroup {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode, ..GroupConfig::default() });
    group
}

/// `a` owns both partitions, and one is on its way to `b`, which warms.
fn warming(mode: Mode) -> (TestGroup, Member, Member) {
    let mut group = group(mode);
    let (a, b) = one_after_the_other(&mut group);
    assert_eq!(phase(&group), Some(Phase::Warming));
    (group, a, b)
}

/// The same, once the old owner was told to stop.
fn draining(mode: Mode) -> (TestGroup, Member, Member) {
    let (mut group, a, b) = warming(mode);
    group.say(&b, &at(), Some(&id(&group)), &Ack::Ready);
    while phase(&group) != Some(Phase::Draining) {
        assert!(!group.pass().is_empty(), "it does not drain: {:?}", phase(&group));
    }
    (group, a, b)
}

/// Joins `a`, which gets everything, and `b`, to which the leader begins a handoff.
fn one_after_the_other(group: &mut TestGroup) -> (Member, Member) {
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    (a, b)
}

/// The same, once `b` is ready and the leader has seen it.
fn ready(group: &mut TestGroup) -> (Member, Member) {
    let (a, b) = one_after_the_other(group);
    group.say(&b, &at(), Some(&id(group)), &Ack::Ready);
    group.pass();
    (a, b)
}

fn phase(group: &TestGroup) -> Option<Phase> {
    group.state.handoff(&at()).map(|handoff| handoff.phase)
}

/// The partition of the only handoff.
fn moving(group: &TestGroup) -> TopicPartition {
    group.state.handoffs().keys().next().expect("a handoff").clone()
}

fn id(group: &TestGroup) -> HandoffId {
    id_at(group, &at())
}

fn id_at(group: &TestGroup, at: &TopicPartition) -> HandoffId {
    group.state.handoff(at).expect("a handoff").id.clone()
}

fn role(group: &TestGroup, member: &Member) -> Option<Role> {
    group.view(member).roles.get(&at()).cloned()
}

fn offset(number: i64) -> Offset {
    Offset::new(number).expect("not negative")
}

fn stopped_at(number: i64) -> Ack {
    Ack::Drained(Drained { offset: Some(offset(number)), last_at: None })
}

#[track_caller]
fn is_recorded(verdict: &Verdict) {
    assert!(matches!(verdict, Verdict::Record { .. }), "{verdict:?}");
}

#[test]
fn the_word_that_the_old_owner_stopped_makes_the_new_one_the_owner_where_it_stopped() {
    let (mut group, a, b) = draining(Mode::Exclusive);
    let Some(Role::Draining { epoch: old, .. }) = role(&group, &a) else { panic!("{:?}", role(&group, &a)) };
    assert!(matches!(role(&group, &b), Some(Role::Warming { .. })), "warm until the owner has stopped");
    is_recorded(&group.say(&a, &at(), Some(&id(&group)), &stopped_at(42)));
    // No leader acted in between.
    let Some(Role::Owner { epoch, run, start, mode, .. }) = role(&group, &b) else { panic!() };
    assert!(epoch > old && run == epoch);
    assert_eq!((start, mode), (Some(offset(42)), Mode::Exclusive));
    assert!(matches!(role(&group, &a), Some(Role::Releasing { .. })), "{:?}", role(&group, &a));
}

#[test]
fn a_word_counts_for_the_handoff_that_it_names_and_for_none_where_it_names_none() {
    // H13, I8
    for mode in [Mode::Exclusive, Mode::Routed] {
        let (mut group, _, b) = warming(mode);
        assert!(matches!(group.say(&b, &at(), None, &Ack::Ready), Verdict::Refused { .. }));
        assert_eq!(phase(&group), Some(Phase::Warming));
        let (mut group, a, _) = draining(mode);
        assert!(matches!(group.say(&a, &at(), None, &stopped_at(7)), Verdict::Refused { .. }));
        assert_eq!(phase(&group), Some(Phase::Draining), "whoever said it may mean an earlier attempt");
        is_recorded(&group.say(&a, &at(), Some(&id(&group)), &stopped_at(7)));
    }
}

#[test]
fn a_handoff_is_over_once_the_new_owner_works_and_the_old_one_let_go_in_either_order() {
    for release_first in [true, false] {
        let (mut group, a, b) = draining(Mode::Exclusive);
        group.say(&a, &at(), Some(&id(&group)), &stopped_at(1));
        let mut words = [(b, Ack::Taken(Taken::default())), (a, Ack::Released { last_at: None })];
        if release_first {
            words.reverse();
        }
        is_recorded(&group.say(&words[0].0, &at(), Some(&id(&group)), &words[0].1));
        assert_eq!(phase(&group), Some(Phase::Complete));
        assert_eq!(group.say(&words[0].0, &at(), Some(&id(&group)), &words[0].1), Verdict::Already);
        is_recorded(&group.say(&words[1].0, &at(), Some(&id(&group)), &words[1].1));
        assert_eq!(phase(&group), None);
    }
}

#[test]
fn nobody_owns_it_while_the_new_owner_catches_up_under_a_reserved_epoch() {
    let mut group = group(Mode::Exclusive);
    group.configure(&GroupConfig { mode: Mode::Exclusive, catch_up: true, ..GroupConfig::default() });
    let (a, b) = ready(&mut group);
    let Some(Role::Draining { epoch: held, .. }) = role(&group, &a) else { panic!() };
    is_recorded(&group.say(&a, &at(), Some(&id(&group)), &stopped_at(7)));
    let Some(Role::CatchingUp { epoch: reserved, until, .. }) = role(&group, &b) else { panic!() };
    assert!(reserved > held);
    assert_eq!(until, Some(offset(7)));
    assert!(
        matches!(role(&group, &a), Some(Role::Draining { epoch, .. }) if epoch == held),
        "it keeps its state"
    );
    is_recorded(&group.say(&b, &at(), Some(&id(&group)), &Ack::CaughtUp));
    assert!(
        matches!(role(&group, &b), Some(Role::Owner { epoch, start, .. }) if start == Some(offset(7)) && epoch == reserved)
    );
}

#[test]
fn a_cancel_after_the_reservation_grants_the_old_owner_above_it_in_the_same_run() {
    let mut group = group(Mode::Exclusive);
    group.configure(&GroupConfig { mode: Mode::Exclusive, catch_up: true, ..GroupConfig::default() });
    let a = group.join("a");
    group.settle();
    let Some(Role::Owner { run, .. }) = role(&group, &a) else { panic!() };
    let b = group.join("b");
    group.pass();
    group.say(&b, &at(), Some(&id(&group)), &Ack::Ready);
    group.pass();
    group.say(&a, &at(), Some(&id(&group)), &stopped_at(7));
    let Some(Role::CatchingUp { epoch: reserved, .. }) = role(&group, &b) else { panic!() };
    group.crash("b");
    group.pass();
    let Some(Role::Owner { epoch, run: kept, start, .. }) = role(&group, &a) else { panic!() };
    assert!(epoch > reserved);
    assert_eq!((kept, start), (run, Some(offset(7))), "the run goes on, from where it stopped");
}

#[test]
fn a_cancel_keeps_the_start_of_the_grant_where_nobody_said_another() {
    let (mut group, a, b) = draining(Mode::Exclusive);
    group.say(&a, &at(), Some(&id(&group)), &stopped_at(9));
    group.settle();
    // Back to `a`, told to drain before it ever started.
    group.leave(&a, &Leaving::Now);
    let a = group.join("a");
    group.leave(&b, &Leaving::Drain);
    group.pass();
    group.say(&a, &at(), Some(&id(&group)), &Ack::Ready);
    group.pass();
    let Some(Role::Draining { start, .. }) = role(&group, &b) else { panic!("{:?}", role(&group, &b)) };
    assert_eq!(start, Some(offset(9)));
    group.crash("a");
    group.pass();
    assert!(matches!(role(&group, &b), Some(Role::Owner { start, .. }) if start == Some(offset(9))));
}

#[test]
fn nobody_is_granted_an_owners_partition_before_its_claim_is_over() {
    let mut group = group(Mode::Exclusive);
    group.join("a");
    group.settle();
    group.join("b");
    // A new session of the name, while the lease of the old one runs on.
    let successor = group.join("a");
    group.later(Duration::from_millis(19_999));
    assert!(group.pass().iter().all(|action| !matches!(action.step, Step::Grant { .. })));
    let waits = group.plan().deferred.into_iter().map(|deferral| deferral.why);
    let left = DeferReason::ClaimRunning { owner: "a".parse().unwrap(), left_ms: Some(1) };
    assert_eq!(waits.collect::<Vec<_>>(), vec![left.clone(), left]);
    assert_eq!(role(&group, &successor), None);
    group.later(Duration::from_millis(1));
    group.pass();
    assert!(matches!(role(&group, &successor), Some(Role::Owner { .. })));
}

#[test]
fn a_session_that_is_ended_by_force_is_waited_for_until_it_has_stopped() {
    let mut group = group(Mode::Exclusive);
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    let why = kafka_assigner_core::reason::FenceReason::NoProgress;
    let write = kafka_assigner_core::session::end(&group.state, &a, why).unwrap();
    assert!(group.apply(&write.unfenced()));
    group.pass();
    assert!(matches!(role(&group, &a), Some(Role::Owner { .. })), "it may still act");
    group.leave(&a, &Leaving::Now);
    group.pass();
    assert!(matches!(role(&group, &b), Some(Role::Owner { .. })), "it said that it stopped");
}

#[test]
fn an_old_owner_that_died_draining_is_not_waited_for_longer_than_its_claim() {
    let (mut group, _, b) = draining(Mode::Exclusive);
    group.join("a");
    assert!(matches!(role(&group, &b), Some(Role::Warming { .. })));
    assert!(group.steps().is_empty(), "its claim runs");
    group.later(Duration::from_secs(20));
    let steps = group.steps();
    group.carry_out(steps);
    assert!(matches!(role(&group, &b), Some(Role::Owner { start: None, .. })), "without a final offset");
}

#[test]
fn a_drain_whose_new_owner_died_is_kept_for_the_cancel() {
    let (mut group, a, _) = draining(Mode::Exclusive);
    group.crash("b");
    is_recorded(&group.say(&a, &at(), Some(&id(&group)), &stopped_at(5)));
    assert_eq!(phase(&group), Some(Phase::Draining));
    group.pass();
    let Some(Role::Owner { start, .. }) = role(&group, &a) else { panic!("{:?}", role(&group, &a)) };
    assert_eq!(start, Some(offset(5)));
}

#[test]
fn where_both_die_after_the_drain_the_next_owner_starts_where_the_old_one_stopped() {
    let (mut group, a, _) = draining(Mode::Exclusive);
    group.crash("b");
    group.say(&a, &at(), Some(&id(&group)), &stopped_at(5));
    group.crash("a");
    let c = group.join("c");
    group.settle();
    assert!(
        matches!(role(&group, &c), Some(Role::Owner { start, .. }) if start == Some(offset(5))),
        "{:?}",
        role(&group, &c)
    );
}

#[test]
fn a_stronger_mode_is_granted_to_the_owner_again_and_shown_until_it_confirmed() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    let Some(Role::Owner { epoch: before, run, .. }) = role(&group, &a) else { panic!() };
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    let applied = group.pass();
    let changed = |step: &Step| matches!(step, Step::Grant { why: Reason::ModeChanged { .. }, .. });
    assert!(applied.len() == 2 && applied.iter().all(|action| changed(&action.step)), "{applied:?}");
    let Some(Role::Owner { epoch, run: kept, mode, taking: Some(token), .. }) = role(&group, &a) else {
        panic!()
    };
    assert!(epoch > before);
    assert_eq!((kept, mode), (run, Mode::Exclusive), "it goes on");
    is_recorded(&group.say(&a, &at(), Some(&token), &Ack::Taken(Taken::default())));
    assert!(group.state.assignment(&at()).unwrap().switching.is_none());
    assert!(matches!(role(&group, &a), Some(Role::Owner { taking: None, .. })));
    assert_eq!(group.say(&a, &at(), Some(&token), &Ack::Taken(Taken::default())), Verdict::Over);
}

#[test]
fn one_that_lacks_what_a_mode_needs_neither_gets_nor_keeps_it() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let simple = group.join_as("simple", |consumer| {
        consumer.capabilities.remove(&Capability::Drain);
    });
    group.settle();
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    group.settle();
    assert!(
        matches!(role(&group, &simple), Some(Role::Owner { mode: Mode::Overlap, .. })),
        "in the mode it has"
    );
    let able = group.join("able");
    group.settle();
    group.later(Duration::from_secs(20));
    group.settle();
    assert!(matches!(role(&group, &able), Some(Role::Owner { mode: Mode::Exclusive, .. })));
    assert_eq!(role(&group, &simple), None);
}

#[test]
fn a_reservation_whose_handoff_vanished_is_granted_again_above_it() {
    let mut group = group(Mode::Routed);
    let (a, b) = ready(&mut group);
    group.pass();
    group.say(&a, &at(), Some(&id(&group)), &stopped_at(3));
    let Some(Role::CatchingUp { epoch: reserved, .. }) = role(&group, &b) else {
        panic!("{:?}", phase(&group))
    };
    let Some(Role::Draining { epoch: held, .. }) = role(&group, &a) else { panic!() };
    group.remove(&Key::Handoff(at()));
    assert!(matches!(role(&group, &a), Some(Role::Owner { epoch, .. }) if epoch == held));
    group.pass();
    assert!(matches!(role(&group, &a), Some(Role::Owner { epoch, .. }) if epoch > reserved));
}

#[test]
fn every_mode_settles_with_everybody_doing_their_part() {
    for mode in Mode::ALL {
        let mut group = group(mode);
        group.join("a");
        group.settle();
        group.join("b");
        group.settle();
        assert_eq!(group.loads().values().copied().collect::<Vec<_>>(), [1, 1], "{mode}");
        assert!(group.state.handoffs().is_empty());
    }
}

/// The old owner has said where it stopped and died, and the new one never gets there: nobody owns it meanwhile.
#[test]
fn the_offset_at_which_an_owner_stopped_outlives_a_handoff_that_nobody_ends() {
    let mut group = group(Mode::Exclusive);
    group.configure(&GroupConfig { mode: Mode::Exclusive, catch_up: true, ..GroupConfig::default() });
    let (a, _) = ready(&mut group);
    is_recorded(&group.say(&a, &at(), Some(&id(&group)), &stopped_at(7)));
    assert_eq!(phase(&group), Some(Phase::CatchingUp));
    group.crash("a");
    group.later(Duration::from_secs(300));
    let steps = group.pass();
    assert!(steps.iter().any(|action| matches!(action.step, Step::Clear { .. })), "{steps:?}");
    group.settle();
    let assignment = group.state.assignment(&at()).unwrap();
    assert!(assignment.owner.is_some());
    assert_eq!(assignment.start, Offset::new(7).ok());
}

/// A log may be truncated, and an owner whose start is gone goes back: rather a record twice than a record lost.
#[test]
fn an_owner_that_stops_below_its_start_is_believed() {
    let (mut group, a, b) = draining(Mode::Exclusive);
    let started = Assignment {
        start: Some(Offset::new(10).unwrap()),
        ..group.state.assignment(&at()).unwrap().clone()
    };
    group.put(&Key::Assignment(at()), encode(&started));
    is_recorded(&group.say(&a, &at(), Some(&id(&group)), &stopped_at(5)));
    let Some(Role::Owner { start, .. }) = role(&group, &b) else { panic!("{:?}", role(&group, &b)) };
    assert_eq!(start, Some(Offset::new(5).unwrap()));
}
