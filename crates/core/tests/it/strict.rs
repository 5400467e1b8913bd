//! One owner at a time: the handoffs of `exclusive` and `routed`.

mod freezing;

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained, Verdict};
use kafka_assigner_core::action::Step;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::reason::{DeferReason, Reason};
use kafka_assigner_core::record::{Assignment, Capability, GroupConfig, Phase, Taken, encode};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{HandoffId, Member, Offset, TopicPartition};
use kafka_assigner_types::mode::Mode;

fn at() -> TopicPartition {
    tp("t", 1)
}

fn lab(mode: Mode) -> Lab {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.configure(&GroupConfig { mode, ..GroupConfig::default() });
    lab
}

/// `a` owns both partitions, and one is on its way to `b`, which warms.
fn warming(mode: Mode) -> (Lab, Member, Member) {
    let mut lab = lab(mode);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    assert_eq!(phase(&lab), Some(Phase::Warming));
    (lab, a, b)
}

/// The same, once the old owner was told to stop.
fn draining(mode: Mode) -> (Lab, Member, Member) {
    let (mut lab, a, b) = warming(mode);
    lab.say(&b, &at(), Some(&id(&lab)), &Ack::Ready);
    while phase(&lab) != Some(Phase::Draining) {
        assert!(!lab.pass().is_empty(), "it does not drain: {:?}", phase(&lab));
    }
    (lab, a, b)
}

fn phase(lab: &Lab) -> Option<Phase> {
    lab.state.handoff(&at()).map(|handoff| handoff.phase)
}

/// Where the only handoff is.
fn moving(lab: &Lab) -> TopicPartition {
    lab.state.handoffs().keys().next().expect("a handoff").clone()
}

fn id(lab: &Lab) -> HandoffId {
    id_at(lab, &at())
}

fn id_at(lab: &Lab, at: &TopicPartition) -> HandoffId {
    lab.state.handoff(at).expect("a handoff").id.clone()
}

fn role(lab: &Lab, member: &Member) -> Option<Role> {
    lab.view(member).roles.get(&at()).cloned()
}

fn stopped_at(offset: i64) -> Ack {
    Ack::Drained(Drained { offset: Some(Offset(offset)), last_at: None })
}

#[track_caller]
fn is_recorded(verdict: &Verdict) {
    assert!(matches!(verdict, Verdict::Record { .. }), "{verdict:?}");
}

#[test]
fn the_word_that_the_old_owner_stopped_makes_the_new_one_the_owner_where_it_stopped() {
    let (mut lab, a, b) = draining(Mode::Exclusive);
    let Some(Role::Draining { epoch: old, .. }) = role(&lab, &a) else { panic!("{:?}", role(&lab, &a)) };
    assert!(matches!(role(&lab, &b), Some(Role::Warming { .. })), "warm until the owner has stopped");
    is_recorded(&lab.say(&a, &at(), Some(&id(&lab)), &stopped_at(42)));
    // No leader acted in between.
    let Some(Role::Owner { epoch, run, start, mode, .. }) = role(&lab, &b) else { panic!() };
    assert!(epoch > old && run == epoch);
    assert_eq!((start, mode), (Some(Offset(42)), Mode::Exclusive));
    assert!(matches!(role(&lab, &a), Some(Role::Releasing { .. })), "{:?}", role(&lab, &a));
}

#[test]
fn a_word_counts_for_the_handoff_that_it_names_and_for_none_where_it_names_none() {
    // H13, I8
    for mode in [Mode::Exclusive, Mode::Routed] {
        let (mut lab, _, b) = warming(mode);
        assert!(matches!(lab.say(&b, &at(), None, &Ack::Ready), Verdict::Refused { .. }));
        assert_eq!(phase(&lab), Some(Phase::Warming));
        let (mut lab, a, _) = draining(mode);
        assert!(matches!(lab.say(&a, &at(), None, &stopped_at(7)), Verdict::Refused { .. }));
        assert_eq!(phase(&lab), Some(Phase::Draining), "whoever said it may mean an earlier attempt");
        is_recorded(&lab.say(&a, &at(), Some(&id(&lab)), &stopped_at(7)));
    }
}

#[test]
fn a_handoff_is_over_once_the_new_owner_works_and_the_old_one_let_go_in_either_order() {
    for release_first in [true, false] {
        let (mut lab, a, b) = draining(Mode::Exclusive);
        lab.say(&a, &at(), Some(&id(&lab)), &stopped_at(1));
        let mut words = [(b, Ack::Taken(Taken::default())), (a, Ack::Released { last_at: None })];
        if release_first {
            words.reverse();
        }
        is_recorded(&lab.say(&words[0].0, &at(), Some(&id(&lab)), &words[0].1));
        assert_eq!(phase(&lab), Some(Phase::Complete));
        assert_eq!(lab.say(&words[0].0, &at(), Some(&id(&lab)), &words[0].1), Verdict::Already);
        is_recorded(&lab.say(&words[1].0, &at(), Some(&id(&lab)), &words[1].1));
        assert_eq!(phase(&lab), None);
    }
}

#[test]
fn nobody_owns_it_while_the_new_owner_catches_up_under_a_reserved_epoch() {
    let mut lab = lab(Mode::Exclusive);
    lab.configure(&GroupConfig { mode: Mode::Exclusive, catch_up: true, ..GroupConfig::default() });
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &at(), Some(&id(&lab)), &Ack::Ready);
    lab.pass();
    let Some(Role::Draining { epoch: held, .. }) = role(&lab, &a) else { panic!() };
    is_recorded(&lab.say(&a, &at(), Some(&id(&lab)), &stopped_at(7)));
    let Some(Role::CatchingUp { epoch: reserved, until, .. }) = role(&lab, &b) else { panic!() };
    assert!(reserved > held);
    assert_eq!(until, Some(Offset(7)));
    assert!(
        matches!(role(&lab, &a), Some(Role::Draining { epoch, .. }) if epoch == held),
        "it keeps its state"
    );
    is_recorded(&lab.say(&b, &at(), Some(&id(&lab)), &Ack::CaughtUp));
    assert!(
        matches!(role(&lab, &b), Some(Role::Owner { epoch, start: Some(Offset(7)), .. }) if epoch == reserved)
    );
}

#[test]
fn a_cancel_after_the_reservation_grants_the_old_owner_above_it_in_the_same_run() {
    let mut lab = lab(Mode::Exclusive);
    lab.configure(&GroupConfig { mode: Mode::Exclusive, catch_up: true, ..GroupConfig::default() });
    let a = lab.join("a");
    lab.settle();
    let Some(Role::Owner { run, .. }) = role(&lab, &a) else { panic!() };
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &at(), Some(&id(&lab)), &Ack::Ready);
    lab.pass();
    lab.say(&a, &at(), Some(&id(&lab)), &stopped_at(7));
    let Some(Role::CatchingUp { epoch: reserved, .. }) = role(&lab, &b) else { panic!() };
    lab.crash("b");
    lab.pass();
    let Some(Role::Owner { epoch, run: kept, start, .. }) = role(&lab, &a) else { panic!() };
    assert!(epoch > reserved);
    assert_eq!((kept, start), (run, Some(Offset(7))), "the run goes on, from where it stopped");
}

#[test]
fn a_cancel_keeps_the_start_of_the_grant_where_nobody_said_another() {
    let (mut lab, a, b) = draining(Mode::Exclusive);
    lab.say(&a, &at(), Some(&id(&lab)), &stopped_at(9));
    lab.settle();
    // Back to `a`, told to drain before it ever started.
    lab.leave(&a, &Leaving::Now);
    let a = lab.join("a");
    lab.leave(&b, &Leaving::Drain);
    lab.pass();
    lab.say(&a, &at(), Some(&id(&lab)), &Ack::Ready);
    lab.pass();
    let Some(Role::Draining { start, .. }) = role(&lab, &b) else { panic!("{:?}", role(&lab, &b)) };
    assert_eq!(start, Some(Offset(9)));
    lab.crash("a");
    lab.pass();
    assert!(matches!(role(&lab, &b), Some(Role::Owner { start: Some(Offset(9)), .. })));
}

#[test]
fn nobody_is_granted_an_owners_partition_before_its_claim_is_over() {
    let mut lab = lab(Mode::Exclusive);
    lab.join("a");
    lab.settle();
    lab.join("b");
    // A new session of the name, while the lease of the old one runs on.
    let successor = lab.join("a");
    lab.later(Duration::from_millis(19_999));
    assert!(lab.pass().iter().all(|action| !matches!(action.step, Step::Grant { .. })));
    let waits = lab.plan().deferred.into_iter().map(|deferral| deferral.why);
    let left = DeferReason::ClaimRunning { owner: "a".parse().unwrap(), left_ms: Some(1) };
    assert_eq!(waits.collect::<Vec<_>>(), vec![left.clone(), left]);
    assert_eq!(role(&lab, &successor), None);
    lab.later(Duration::from_millis(1));
    lab.pass();
    assert!(matches!(role(&lab, &successor), Some(Role::Owner { .. })));
}

#[test]
fn a_session_that_is_ended_by_force_is_waited_for_until_it_has_stopped() {
    let mut lab = lab(Mode::Exclusive);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    let why = kafka_assigner_core::reason::FenceReason::NoProgress;
    let write = kafka_assigner_core::session::end(&lab.state, &a, why).unwrap();
    assert!(lab.apply(&write.unfenced()));
    lab.pass();
    assert!(matches!(role(&lab, &a), Some(Role::Owner { .. })), "it may still act");
    lab.leave(&a, &Leaving::Now);
    lab.pass();
    assert!(matches!(role(&lab, &b), Some(Role::Owner { .. })), "it said that it stopped");
}

#[test]
fn an_old_owner_that_died_draining_is_not_waited_for_longer_than_its_claim() {
    let (mut lab, _, b) = draining(Mode::Exclusive);
    lab.join("a");
    assert!(matches!(role(&lab, &b), Some(Role::Warming { .. })));
    assert!(lab.steps().is_empty(), "its claim runs");
    lab.later(Duration::from_secs(20));
    let steps = lab.steps();
    lab.carry_out(steps);
    assert!(matches!(role(&lab, &b), Some(Role::Owner { start: None, .. })), "without a final offset");
}

#[test]
fn a_drain_whose_new_owner_died_is_kept_for_the_cancel() {
    let (mut lab, a, _) = draining(Mode::Exclusive);
    lab.crash("b");
    is_recorded(&lab.say(&a, &at(), Some(&id(&lab)), &stopped_at(5)));
    assert_eq!(phase(&lab), Some(Phase::Draining));
    lab.pass();
    let Some(Role::Owner { start, .. }) = role(&lab, &a) else { panic!("{:?}", role(&lab, &a)) };
    assert_eq!(start, Some(Offset(5)));
}

#[test]
fn where_both_die_after_the_drain_the_next_owner_starts_where_the_old_one_stopped() {
    let (mut lab, a, _) = draining(Mode::Exclusive);
    lab.crash("b");
    lab.say(&a, &at(), Some(&id(&lab)), &stopped_at(5));
    lab.crash("a");
    let c = lab.join("c");
    lab.settle();
    assert!(
        matches!(role(&lab, &c), Some(Role::Owner { start: Some(Offset(5)), .. })),
        "{:?}",
        role(&lab, &c)
    );
}

#[test]
fn a_stronger_mode_is_granted_to_the_owner_again_and_shown_until_it_confirmed() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    let a = lab.join("a");
    lab.settle();
    let Some(Role::Owner { epoch: before, run, .. }) = role(&lab, &a) else { panic!() };
    lab.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    let applied = lab.pass();
    let changed = |step: &Step| matches!(step, Step::Grant { why: Reason::ModeChanged { .. }, .. });
    assert!(applied.len() == 2 && applied.iter().all(|action| changed(&action.step)), "{applied:?}");
    let Some(Role::Owner { epoch, run: kept, mode, taking: Some(token), .. }) = role(&lab, &a) else {
        panic!()
    };
    assert!(epoch > before);
    assert_eq!((kept, mode), (run, Mode::Exclusive), "it goes on");
    is_recorded(&lab.say(&a, &at(), Some(&token), &Ack::Taken(Taken::default())));
    assert!(lab.state.assignment(&at()).unwrap().switching.is_none());
    assert!(matches!(role(&lab, &a), Some(Role::Owner { taking: None, .. })));
    assert_eq!(lab.say(&a, &at(), Some(&token), &Ack::Taken(Taken::default())), Verdict::Over);
}

#[test]
fn one_that_lacks_what_a_mode_needs_neither_gets_nor_keeps_it() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    let simple = lab.join_as("simple", |consumer| {
        consumer.capabilities.remove(&Capability::Drain);
    });
    lab.settle();
    lab.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    lab.settle();
    assert!(
        matches!(role(&lab, &simple), Some(Role::Owner { mode: Mode::Overlap, .. })),
        "in the mode it has"
    );
    let able = lab.join("able");
    lab.settle();
    lab.later(Duration::from_secs(20));
    lab.settle();
    assert!(matches!(role(&lab, &able), Some(Role::Owner { mode: Mode::Exclusive, .. })));
    assert_eq!(role(&lab, &simple), None);
}

#[test]
fn a_reservation_whose_handoff_vanished_is_granted_again_above_it() {
    let mut lab = lab(Mode::Routed);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &at(), Some(&id(&lab)), &Ack::Ready);
    lab.pass();
    lab.pass();
    lab.say(&a, &at(), Some(&id(&lab)), &stopped_at(3));
    let Some(Role::CatchingUp { epoch: reserved, .. }) = role(&lab, &b) else { panic!("{:?}", phase(&lab)) };
    let Some(Role::Draining { epoch: held, .. }) = role(&lab, &a) else { panic!() };
    lab.remove(&Key::Handoff(at()));
    assert!(matches!(role(&lab, &a), Some(Role::Owner { epoch, .. }) if epoch == held));
    lab.pass();
    assert!(matches!(role(&lab, &a), Some(Role::Owner { epoch, .. }) if epoch > reserved));
}

#[test]
fn every_mode_settles_with_everybody_doing_their_part() {
    for mode in Mode::ALL {
        let mut lab = lab(mode);
        lab.join("a");
        lab.settle();
        lab.join("b");
        lab.settle();
        assert_eq!(lab.loads().values().copied().collect::<Vec<_>>(), [1, 1], "{mode}");
        assert!(lab.state.handoffs().is_empty());
    }
}

#[test]
fn a_topic_that_comes_back_finds_the_owner_that_may_still_act_on_it() {
    let mut lab = lab(Mode::Exclusive);
    let zombie = lab.join("a");
    lab.settle();
    let topic = Key::Topic("t".parse().unwrap());
    lab.remove(&topic);
    lab.pass();
    assert_eq!(role(&lab, &zombie), None);
    let successor = lab.join("a");
    lab.topic("t", 2);
    lab.pass();
    assert_eq!(role(&lab, &successor), None, "the session before it has not heard yet");
    lab.remove(&topic);
    lab.later(Duration::from_secs(20));
    lab.pass();
    assert!(lab.state.assignments().is_empty());
}

/// A log may be truncated, and an owner whose start is gone goes back: rather a record twice than a record lost.
#[test]
fn an_owner_that_stops_below_its_start_is_believed() {
    let (mut lab, a, b) = draining(Mode::Exclusive);
    let started = Assignment { start: Some(Offset(10)), ..lab.state.assignment(&at()).unwrap().clone() };
    lab.put(&Key::Assignment(at()), encode(&started));
    is_recorded(&lab.say(&a, &at(), Some(&id(&lab)), &stopped_at(5)));
    let Some(Role::Owner { start, .. }) = role(&lab, &b) else { panic!("{:?}", role(&lab, &b)) };
    assert_eq!(start, Some(Offset(5)));
}
