//! One owner at a time: the handoffs of `exclusive` and `routed`.

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained, Verdict};
use kafka_assigner_core::action::Step;
use kafka_assigner_core::id::{Epoch, HandoffId, Member, Offset, TopicPartition};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::reason::{CancelReason, DeferReason, Reason};
use kafka_assigner_core::record::{Capability, GroupConfig, Mode, Phase, Taken};
use kafka_assigner_core::route::{Route, is_undecided, route};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::view::Role;

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
        let mut words = [(b, Ack::Taken(Taken::default())), (a, Ack::Released)];
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
fn a_freeze_waits_for_the_routers_that_were_there_before_it_and_for_no_other() {
    let mut lab = lab(Mode::Routed);
    let r = lab.route_as("r");
    let s = lab.route_as("s");
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &at(), Some(&id(&lab)), &Ack::Ready);
    lab.pass();
    assert_eq!(phase(&lab), Some(Phase::Freezing));
    let handoff = id(&lab);
    assert_eq!(route(&lab.state, &at()), Some(Route::Stash { handoff: handoff.clone() }));
    assert!(matches!(role(&lab, &a), Some(Role::Owner { .. })), "it answers what is on its way");
    let late = lab.route_as("late");
    is_recorded(&lab.freeze(&r, &at(), &handoff));
    assert_eq!(lab.freeze(&r, &at(), &handoff), Verdict::Already);
    lab.pass();
    assert_eq!(phase(&lab), Some(Phase::Freezing), "s is missing");
    is_recorded(&lab.freeze(&s, &at(), &handoff));
    assert_eq!(phase(&lab), Some(Phase::Draining), "with the last word, without a leader");
    assert_eq!(lab.freeze(&late, &at(), &handoff), Verdict::Already);
}

#[test]
fn the_word_of_a_departed_router_counts_for_no_other() {
    // H20, F15
    let mut lab = lab(Mode::Routed);
    let r = lab.route_as("r");
    let s = lab.route_as("s");
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &at(), Some(&id(&lab)), &Ack::Ready);
    lab.pass();
    let handoff = id(&lab);
    is_recorded(&lab.freeze(&r, &at(), &handoff));
    lab.remove(&Key::Router(r.name.clone()));
    lab.pass();
    assert_eq!(phase(&lab), Some(Phase::Freezing), "one word, one router, and not of that one");
    is_recorded(&lab.freeze(&s, &at(), &handoff));
    assert_eq!(phase(&lab), Some(Phase::Draining));
}

#[test]
fn a_silent_router_that_leaves_is_not_waited_for() {
    // H12, H17
    let mut lab = lab(Mode::Routed);
    let r = lab.route_as("r");
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &at(), Some(&id(&lab)), &Ack::Ready);
    lab.pass();
    assert_eq!(phase(&lab), Some(Phase::Freezing));
    lab.remove(&Key::Router(r.name));
    lab.pass();
    assert_eq!(phase(&lab), Some(Phase::Draining));
}

#[test]
fn an_old_word_of_a_router_or_of_its_last_session_does_not_count() {
    // H11, M13
    let mut lab = lab(Mode::Routed);
    let r = lab.route_as("r");
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &at(), Some(&id(&lab)), &Ack::Ready);
    lab.pass();
    let first = id(&lab);
    lab.route_as("s");
    is_recorded(&lab.freeze(&r, &at(), &first));
    lab.say(&b, &at(), Some(&id(&lab)), &Ack::WarmFailed { reason: "no".to_owned() });
    lab.pass();
    // Another attempt, at the other partition, since this one is passed over.
    lab.pass();
    let next = moving(&lab);
    lab.say(&b, &next, Some(&id_at(&lab, &next)), &Ack::Ready);
    lab.pass();
    let second = id_at(&lab, &next);
    assert_eq!(lab.freeze(&r, &next, &first), Verdict::Over);
    assert!(lab.state.router_acks().is_empty(), "what was said went with the attempt");
    // Another session under the name speaks for itself alone; registered later, it is not waited for.
    lab.route_as("r");
    assert!(matches!(lab.freeze(&r, &next, &second), Verdict::Refused { .. }));
}

#[test]
fn a_router_that_misses_two_freezes_in_a_row_is_ended_and_named() {
    let mut lab = lab(Mode::Routed);
    let r = lab.route_as("r");
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    for _ in 0..2 {
        assert!(lab.state.is_routing(&r));
        lab.pass();
        let at = moving(&lab);
        lab.say(&b, &at, Some(&id_at(&lab, &at)), &Ack::Ready);
        lab.pass();
        assert_eq!(lab.state.handoff(&at).unwrap().phase, Phase::Freezing);
        lab.later(Duration::from_secs(30));
        lab.pass();
        let cancelled = lab.state.handoff(&at).and_then(|handoff| handoff.cancelled.clone());
        let Some(CancelReason::Deadline { missing, .. }) = cancelled else { panic!("{cancelled:?}") };
        assert_eq!(missing, std::slice::from_ref(&r.name));
        lab.pass();
    }
    lab.pass();
    assert!(!lab.state.is_routing(&r));
}

/// Every handoff under way is warm, and freezes; returns where.
fn freeze_all(lab: &mut Lab, new: &Member) -> Vec<TopicPartition> {
    let all: Vec<TopicPartition> = lab.state.handoffs().keys().cloned().collect();
    for at in &all {
        let id = id_at(lab, at);
        lab.say(new, at, Some(&id), &Ack::Ready);
    }
    lab.pass();
    assert!(all.iter().all(|at| lab.state.handoff(at).unwrap().phase == Phase::Freezing));
    all
}

#[test]
fn freezes_that_run_at_the_same_time_are_missed_once() {
    let mut lab = lab(Mode::Routed);
    lab.topic("t", 8);
    let r = lab.route_as("r");
    lab.join("a");
    lab.settle();
    for (name, still_there) in [("b", true), ("c", false)] {
        let new = lab.join(name);
        lab.pass();
        assert!(freeze_all(&mut lab, &new).len() > 1);
        lab.later(Duration::from_secs(30));
        lab.pass();
        lab.crash(name);
        lab.pass();
        lab.pass();
        assert_eq!(lab.state.is_routing(&r), still_there, "after {name}");
    }
}

#[test]
fn a_freeze_that_ended_without_a_routers_word_clears_none_of_its_misses() {
    let mut lab = lab(Mode::Routed);
    let r = lab.route_as("r");
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    freeze_all(&mut lab, &b);
    lab.later(Duration::from_secs(30));
    lab.pass();
    lab.pass();
    // The next one ends because its old owner is gone and may not act any more: nobody's word is waited for.
    lab.pass();
    let at = freeze_all(&mut lab, &b).remove(0);
    lab.crash("a");
    lab.pass();
    assert_ne!(lab.state.handoff(&at).expect("it goes on").phase, Phase::Freezing);
    lab.settle();
    assert_eq!(lab.owner(&at), Some("b"));
    let c = lab.join("c");
    lab.pass();
    freeze_all(&mut lab, &c);
    lab.later(Duration::from_secs(30));
    lab.pass();
    lab.pass();
    assert!(!lab.state.is_routing(&r), "two in a row");
}

#[test]
fn a_router_that_answered_a_freeze_begins_to_count_anew() {
    let mut lab = lab(Mode::Routed);
    let r = lab.route_as("r");
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    for answers in [false, true, false] {
        lab.pass();
        let at = freeze_all(&mut lab, &b).remove(0);
        if answers {
            let id = id_at(&lab, &at);
            is_recorded(&lab.freeze(&r, &at, &id));
            lab.say(&b, &at, Some(&id), &Ack::WarmFailed { reason: "no".to_owned() });
        } else {
            lab.later(Duration::from_secs(30));
        }
        lab.pass();
        lab.later(Duration::from_secs(600));
        lab.pass();
        lab.pass();
        assert!(lab.state.is_routing(&r));
    }
}

#[test]
fn requests_go_on_to_an_owner_whose_registration_can_not_be_read() {
    let mut lab = lab(Mode::Routed);
    let a = lab.join("a");
    lab.settle();
    assert!(matches!(route(&lab.state, &at()), Some(Route::Open { .. })));
    lab.put(&Key::Consumer(a.name), r#"{"version":99}"#);
    assert_eq!(route(&lab.state, &at()), None, "what a router was told stays");
    assert!(is_undecided(&lab.state, &at()));
    assert!(!is_undecided(&lab.state, &tp("t", 9)), "it does not exist");
}

#[test]
fn requests_go_to_the_owner_that_is_here_and_to_nobody_else() {
    // F29
    let mut lab = lab(Mode::Routed);
    let a = lab.join_as("a", |consumer| consumer.endpoint = "there".to_owned());
    lab.settle();
    let Some(Route::Open { owner, endpoint, epoch }) = route(&lab.state, &at()) else { panic!() };
    assert_eq!((owner, endpoint.as_str()), (a, "there"));
    assert!(epoch > Epoch(0));
    lab.crash("a");
    assert_eq!(route(&lab.state, &at()), Some(Route::Unowned));
    assert_eq!(route(&lab.state, &tp("t", 9)), None);
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
