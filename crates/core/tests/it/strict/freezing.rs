//! The members whose acknowledgement a freeze waits for, what becomes of silent routers, and where requests go
//! meanwhile.

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Verdict};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::CancelReason;
use kafka_assigner_core::record::Phase;
use kafka_assigner_core::route::{Route, is_undecided, route};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::mode::Mode;

use super::{at, group, id, id_at, is_recorded, moving, phase, ready, role};

#[test]
fn a_freeze_waits_for_the_routers_that_were_there_before_it_and_for_no_other() {
    let mut group = group(Mode::Routed);
    let r = group.route_as("r");
    let s = group.route_as("s");
    let (a, _) = ready(&mut group);
    assert_eq!(phase(&group), Some(Phase::Freezing));
    let handoff = id(&group);
    assert_eq!(route(&group.state, &at()), Some(Route::Stash { handoff: handoff.clone() }));
    assert!(matches!(role(&group, &a), Some(Role::Owner { .. })), "it answers what is on its way");
    let late = group.route_as("late");
    is_recorded(&group.freeze(&r, &at(), &handoff));
    assert_eq!(group.freeze(&r, &at(), &handoff), Verdict::Already);
    group.pass();
    assert_eq!(phase(&group), Some(Phase::Freezing), "s is missing");
    is_recorded(&group.freeze(&s, &at(), &handoff));
    assert_eq!(phase(&group), Some(Phase::Draining), "with the last word, without a leader");
    assert_eq!(group.freeze(&late, &at(), &handoff), Verdict::Already);
}

#[test]
fn the_word_of_a_departed_router_counts_for_no_other() {
    // H20, F15
    let mut group = group(Mode::Routed);
    let r = group.route_as("r");
    let s = group.route_as("s");
    ready(&mut group);
    let handoff = id(&group);
    is_recorded(&group.freeze(&r, &at(), &handoff));
    group.remove(&Key::Router(r.name.clone()));
    group.pass();
    assert_eq!(phase(&group), Some(Phase::Freezing), "one word, one router, and not of that one");
    is_recorded(&group.freeze(&s, &at(), &handoff));
    assert_eq!(phase(&group), Some(Phase::Draining));
}

#[test]
fn a_silent_router_that_leaves_is_not_waited_for() {
    // H12, H17
    let mut group = group(Mode::Routed);
    let r = group.route_as("r");
    ready(&mut group);
    assert_eq!(phase(&group), Some(Phase::Freezing));
    group.remove(&Key::Router(r.name));
    group.pass();
    assert_eq!(phase(&group), Some(Phase::Draining));
}

#[test]
fn an_old_word_of_a_router_or_of_its_last_session_does_not_count() {
    // H11, M13
    let mut group = group(Mode::Routed);
    let r = group.route_as("r");
    let (_, b) = ready(&mut group);
    let first = id(&group);
    group.route_as("s");
    is_recorded(&group.freeze(&r, &at(), &first));
    group.say(&b, &at(), Some(&id(&group)), &Ack::WarmFailed { reason: "no".to_owned() });
    group.pass();
    // Another attempt, at the other partition, since this one is passed over.
    group.pass();
    let next = moving(&group);
    group.say(&b, &next, Some(&id_at(&group, &next)), &Ack::Ready);
    group.pass();
    let second = id_at(&group, &next);
    assert_eq!(group.freeze(&r, &next, &first), Verdict::Over);
    assert!(group.state.router_acks().is_empty(), "what was said went with the attempt");
    // Another session under the name speaks for itself alone; registered later, it is not waited for.
    group.route_as("r");
    assert!(matches!(group.freeze(&r, &next, &second), Verdict::Refused { .. }));
}

#[test]
fn a_router_that_misses_two_freezes_in_a_row_is_named_and_left_out_of_the_next_one() {
    let mut group = group(Mode::Routed);
    let r = group.route_as("r");
    group.join("a");
    group.settle();
    let b = group.join("b");
    for _ in 0..2 {
        group.pass();
        let at = moving(&group);
        group.say(&b, &at, Some(&id_at(&group, &at)), &Ack::Ready);
        group.pass();
        assert_eq!(group.state.handoff(&at).unwrap().phase, Phase::Freezing);
        group.later(Duration::from_secs(30));
        group.pass();
        let cancelled = group.state.handoff(&at).and_then(|handoff| handoff.cancelled.clone());
        let Some(CancelReason::Deadline { missing, .. }) = cancelled else { panic!("{cancelled:?}") };
        assert_eq!(missing, std::slice::from_ref(&r.name));
        group.pass();
    }
    // It counts by its name: a new session of it is as silent.
    group.route_as("r");
    group.pass();
    let at = freeze_all(&mut group, &b).remove(0);
    assert_eq!(group.state.handoff(&at).unwrap().without, [r.name.clone()].into());
    group.settle();
    assert_eq!(group.owner(&at), Some("b"));
    assert!(group.state.routers().contains_key(&r.name));
}

/// The leader forgets a miss after an hour, and waits for the router again.
#[test]
fn misses_count_for_an_hour() {
    let (mut group, r, b) = left_out();
    assert_eq!(group.leader.memory().silent_routers(&group.state, group.moment), [r.name].into());
    group.later(Duration::from_secs(3_600));
    assert!(group.leader.memory().silent_routers(&group.state, group.moment).is_empty());
    group.pass();
    let at = freeze_all(&mut group, &b).remove(0);
    assert!(group.state.handoff(&at).unwrap().without.is_empty());
}

// The freeze that it is left out of does not wait for it, so that its word comes later.
#[test]
fn a_router_that_was_left_out_counts_anew_once_it_answers() {
    let (mut group, r, b) = left_out();
    group.pass();
    let at = freeze_all(&mut group, &b).remove(0);
    let id = id_at(&group, &at);
    assert_eq!(group.state.handoff(&at).unwrap().without, [r.name.clone()].into());
    group.pass();
    assert_eq!(group.state.handoff(&at).unwrap().phase, Phase::Draining);
    is_recorded(&group.freeze(&r, &at, &id));
    assert_eq!(group.freeze(&r, &at, &id), Verdict::Already);
    assert_eq!(group.state.handoff(&at).unwrap().phase, Phase::Draining, "its word ends nothing");
    assert!(group.leader.memory().silent_routers(&group.state, group.moment).is_empty());
    group.settle();
    assert_eq!(group.owner(&at), Some("b"));
    assert!(group.state.router_acks().is_empty(), "what was said goes with the handoff");
}

/// `r` has missed two freezes, and everything is still at `a`.
fn left_out() -> (TestGroup, Member, Member) {
    let mut group = group(Mode::Routed);
    let r = group.route_as("r");
    group.join("a");
    group.settle();
    let b = group.join("b");
    for _ in 0..2 {
        group.pass();
        freeze_all(&mut group, &b);
        group.later(Duration::from_secs(30));
        group.pass();
        group.pass();
    }
    (group, r, b)
}

#[test]
fn a_new_owner_is_not_passed_over_for_routers_that_did_not_answer() {
    let mut group = group(Mode::Routed);
    group.route_as("r");
    ready(&mut group);
    assert_eq!(phase(&group), Some(Phase::Freezing));
    group.later(Duration::from_secs(30));
    group.pass();
    assert_eq!(phase(&group), Some(Phase::Cancelled));
    assert!(group.state.assignment(&at()).unwrap().avoid.is_empty());
}

/// Every handoff under way is warm, and freezes; returns where.
fn freeze_all(group: &mut TestGroup, new: &Member) -> Vec<TopicPartition> {
    let all: Vec<TopicPartition> = group.state.handoffs().keys().cloned().collect();
    for at in &all {
        let id = id_at(group, at);
        group.say(new, at, Some(&id), &Ack::Ready);
    }
    group.pass();
    assert!(all.iter().all(|at| group.state.handoff(at).unwrap().phase == Phase::Freezing));
    all
}

#[test]
fn freezes_that_run_at_the_same_time_are_missed_once() {
    let mut group = group(Mode::Routed);
    group.topic("t", 8);
    let r = group.route_as("r");
    group.join("a");
    group.settle();
    for (name, is_left_out) in [("b", false), ("c", true)] {
        let new = group.join(name);
        group.pass();
        assert!(freeze_all(&mut group, &new).len() > 1);
        group.later(Duration::from_secs(30));
        group.pass();
        group.crash(name);
        group.pass();
        group.pass();
        let silent = group.leader.memory().silent_routers(&group.state, group.moment);
        assert_eq!(silent.contains(&r.name), is_left_out, "after {name}");
    }
}

#[test]
fn a_freeze_that_ended_without_a_routers_word_clears_none_of_its_misses() {
    let mut group = group(Mode::Routed);
    let r = group.route_as("r");
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    freeze_all(&mut group, &b);
    group.later(Duration::from_secs(30));
    group.pass();
    group.pass();
    // The next one ends because its old owner is gone and may not act any more: nobody's word is waited for.
    group.pass();
    let at = freeze_all(&mut group, &b).remove(0);
    group.crash("a");
    group.pass();
    assert_ne!(group.state.handoff(&at).expect("it goes on").phase, Phase::Freezing);
    group.settle();
    assert_eq!(group.owner(&at), Some("b"));
    let c = group.join("c");
    group.pass();
    freeze_all(&mut group, &c);
    group.later(Duration::from_secs(30));
    group.pass();
    group.pass();
    let silent = group.leader.memory().silent_routers(&group.state, group.moment);
    assert_eq!(silent, [r.name].into(), "two in a row");
}

#[test]
fn a_router_that_answered_a_freeze_begins_to_count_anew() {
    let mut group = group(Mode::Routed);
    let r = group.route_as("r");
    group.join("a");
    group.settle();
    let b = group.join("b");
    for answers in [false, true, false] {
        group.pass();
        let at = freeze_all(&mut group, &b).remove(0);
        if answers {
            let id = id_at(&group, &at);
            is_recorded(&group.freeze(&r, &at, &id));
            group.say(&b, &at, Some(&id), &Ack::WarmFailed { reason: "no".to_owned() });
        } else {
            group.later(Duration::from_secs(30));
        }
        group.pass();
        group.later(Duration::from_secs(600));
        group.pass();
        group.pass();
        let silent = group.leader.memory().silent_routers(&group.state, group.moment);
        assert!(!silent.contains(&r.name));
    }
}

#[test]
fn requests_go_on_to_an_owner_whose_registration_can_not_be_read() {
    let mut group = group(Mode::Routed);
    let a = group.join("a");
    group.settle();
    assert!(matches!(route(&group.state, &at()), Some(Route::Open { .. })));
    group.put(&Key::Consumer(a.name), r#"{"version":99}"#);
    assert_eq!(route(&group.state, &at()), None, "what a router was told stays");
    assert!(is_undecided(&group.state, &at()));
    assert!(!is_undecided(&group.state, &tp("t", 9)), "it does not exist");
}

#[test]
fn requests_go_to_the_owner_that_is_here_and_to_nobody_else() {
    // F29
    let mut group = group(Mode::Routed);
    let a = group.join_as("a", |consumer| consumer.endpoint = "there".to_owned());
    group.settle();
    let Some(Route::Open { owner, endpoint, epoch }) = route(&group.state, &at()) else { panic!() };
    assert_eq!((owner, endpoint.as_str()), (a, "there"));
    assert!(epoch > Epoch(0));
    group.crash("a");
    assert_eq!(route(&group.state, &at()), Some(Route::Unowned));
    assert_eq!(route(&group.state, &tp("t", 9)), None);
}
