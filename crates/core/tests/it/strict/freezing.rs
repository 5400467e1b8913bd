//! Whose word a freeze waits for, what becomes of silent routers, and where requests go meanwhile.

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Verdict};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::reason::CancelReason;
use kafka_assigner_core::record::Phase;
use kafka_assigner_core::route::{Route, is_undecided, route};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::mode::Mode;

use super::{at, id, id_at, is_recorded, lab, moving, phase, role};

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
