//! A mode is switched while the group lives: the stricter one begins once nobody else may act.

use std::time::Duration;

use kafka_assigner_core::ack::Ack;
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::plan::Deferral;
use kafka_assigner_core::reason::DeferReason;
use kafka_assigner_core::record::{GroupConfig, Taken};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::mode::Mode;

fn at() -> TopicPartition {
    tp("t", 1)
}

fn switch(lab: &mut Lab, mode: Mode) {
    lab.configure(&GroupConfig { mode, ..GroupConfig::default() });
}

fn role(lab: &Lab, member: &Member) -> Option<Role> {
    lab.view(member).roles.get(&at()).cloned()
}

fn mode(lab: &Lab) -> Mode {
    lab.state.assignment(&at()).expect("it is granted").mode
}

/// `a` gives a partition to `b` in `overlap`: the assignment names `b`, and `a` works on until `b` does.
fn complete() -> (Lab, Member, Member) {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &at(), None, &Ack::Ready);
    lab.pass();
    assert!(matches!(role(&lab, &b), Some(Role::Owner { taking: Some(_), .. })));
    (lab, a, b)
}

#[test]
fn a_stricter_mode_waits_for_the_claims_of_those_who_owned_it_before() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    lab.settle();
    lab.later(Duration::from_secs(60));
    let successor = lab.join("a");
    lab.pass();
    switch(&mut lab, Mode::Exclusive);
    lab.later(Duration::from_millis(19_999));
    assert!(lab.pass().is_empty());
    let why: Vec<_> = lab.plan().deferred.into_iter().map(|deferral| deferral.why).collect();
    assert_eq!(why, [DeferReason::Outlived { left_ms: 1 }, DeferReason::Outlived { left_ms: 1 }]);
    assert_eq!(lab.plan().soonest_switch(), Some(Duration::from_millis(1)));
    assert!(matches!(role(&lab, &successor), Some(Role::Owner { mode: Mode::Overlap, .. })), "it works on");
    lab.later(Duration::from_millis(1));
    lab.settle();
    assert!(matches!(role(&lab, &successor), Some(Role::Owner { mode: Mode::Exclusive, taking: None, .. })));
}

#[test]
fn a_group_that_has_been_quiet_is_switched_at_once() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    lab.settle();
    lab.join("a");
    lab.settle();
    lab.later(Duration::from_secs(20));
    switch(&mut lab, Mode::Routed);
    lab.settle();
    assert_eq!(mode(&lab), Mode::Routed);
}

#[test]
fn what_an_owner_had_in_overlap_goes_on_in_overlap_until_its_next_owner_is_the_only_one() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    let a = lab.join("a");
    lab.settle();
    switch(&mut lab, Mode::Exclusive);
    let successor = lab.join("a");
    lab.pass();
    assert_ne!(a, successor);
    assert_eq!(mode(&lab), Mode::Overlap, "the session before it may act for two thirds of its time");
    lab.later(Duration::from_secs(20));
    lab.settle();
    assert_eq!(mode(&lab), Mode::Exclusive);
}

#[test]
fn what_is_not_switched_yet_moves_in_overlap() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    lab.settle();
    let a = lab.join("a");
    lab.pass();
    switch(&mut lab, Mode::Exclusive);
    lab.join("b");
    lab.leave(&a, &Leaving::Drain);
    lab.pass();
    assert_eq!(lab.state.handoff(&at()).expect("it moves").mode, Mode::Overlap);
}

#[test]
fn one_that_never_took_has_to_let_go_of_what_is_given_back() {
    let (mut lab, a, b) = complete();
    lab.later(Duration::from_secs(30));
    lab.pass();
    let Some(Role::Owner { epoch, taking: None, .. }) = role(&lab, &a) else { panic!() };
    let Some(Role::Releasing { handoff, epoch: before, .. }) = role(&lab, &b) else { panic!() };
    assert!(epoch > before);
    switch(&mut lab, Mode::Exclusive);
    lab.later(Duration::from_secs(25));
    lab.pass();
    assert_eq!(mode(&lab), Mode::Overlap, "it may not have heard");
    lab.say(&b, &at(), Some(&handoff), &Ack::Released { last_at: None });
    assert!(lab.state.handoff(&at()).is_none());
    lab.later(Duration::from_secs(20));
    lab.pass();
    assert_eq!(mode(&lab), Mode::Exclusive);
}

#[test]
fn one_that_never_lets_go_of_what_was_given_back_loses_its_session() {
    let (mut lab, _, b) = complete();
    lab.later(Duration::from_secs(30));
    lab.pass();
    lab.later(Duration::from_secs(30));
    let ended = lab.pass();
    assert!(
        ended.iter().any(|action| matches!(&action.step, Step::EndSession { member, .. } if *member == b))
    );
}

#[test]
fn an_old_owner_has_to_let_go_though_the_new_one_died() {
    let (mut lab, a, b) = complete();
    lab.say(&b, &at(), None, &Ack::Taken(Taken::default()));
    let Some(Role::Releasing { handoff, .. }) = role(&lab, &a) else { panic!() };
    lab.crash("b");
    let again = lab.join("b");
    lab.pass();
    assert!(matches!(role(&lab, &again), Some(Role::Owner { taking: None, .. })), "it works at once");
    assert!(matches!(role(&lab, &a), Some(Role::Releasing { handoff: same, .. }) if same == handoff));
    lab.say(&a, &at(), Some(&handoff), &Ack::Released { last_at: None });
    assert!(lab.state.handoffs().is_empty());
}

/// `x` has `t/0` and `u/0`, one set, and what `y` had of them before is not switched yet; returns which that is.
fn half_switched() -> (Lab, Member, TopicPartition) {
    let mut lab = Lab::with_topics(&[("t", 1), ("u", 1)]);
    let x = lab.join("x");
    lab.settle();
    lab.join("y");
    lab.settle();
    let late = if lab.owner(&tp("t", 0)) == Some("y") { tp("t", 0) } else { tp("u", 0) };
    lab.later(Duration::from_secs(60));
    // What y had is x's again, and y may act on it for a while.
    lab.crash("y");
    lab.settle();
    lab.topic_in_set("t", 1, "s");
    lab.topic_in_set("u", 1, "s");
    switch(&mut lab, Mode::Exclusive);
    lab.settle();
    assert!(modes(&lab).contains(&Mode::Exclusive) && modes(&lab).contains(&Mode::Overlap));
    (lab, x, late)
}

fn modes(lab: &Lab) -> [Mode; 2] {
    [tp("t", 0), tp("u", 0)].map(|at| lab.state.assignment(&at).unwrap().mode)
}

#[test]
fn what_is_switched_of_a_set_does_not_step_back_when_its_owner_dies() {
    let (mut lab, x, late) = half_switched();
    let z = lab.join("z");
    lab.crash(x.name.as_str());
    let granted = |action: &&Action| matches!(&action.step, Step::Grant { to, .. } if *to == z);
    let granted = lab.pass().iter().filter(granted).map(|action| action.unit.len()).collect::<Vec<_>>();
    assert_eq!(granted, [1, 1], "each part in its mode");
    for at in [tp("t", 0), tp("u", 0)] {
        let mode = if at == late { Mode::Overlap } else { Mode::Exclusive };
        assert_eq!(lab.state.assignment(&at).unwrap().mode, mode, "{at}");
        assert_eq!(lab.owner(&at), Some("z"));
    }
    lab.later(Duration::from_secs(20));
    lab.settle();
    assert_eq!(modes(&lab), [Mode::Exclusive; 2]);
}

#[test]
fn a_set_that_is_switched_in_part_does_not_move_before_the_rest_is() {
    let (mut lab, x, late) = half_switched();
    let z = lab.join("z");
    lab.leave(&x, &Leaving::Drain);
    lab.pass();
    assert!(lab.state.handoffs().is_empty(), "two would work on what is promised to one");
    let waits = |d: &Deferral| d.unit.len() == 2 && matches!(d.why, DeferReason::Outlived { .. });
    assert!(lab.plan().deferred.iter().any(waits), "{:?}", lab.plan().deferred);
    lab.later(Duration::from_secs(20));
    lab.pass();
    assert_eq!(lab.state.assignment(&late).unwrap().mode, Mode::Exclusive);
    lab.pass();
    let handoff = lab.state.handoff(&tp("t", 0)).expect("now it moves");
    assert_eq!((handoff.mode, handoff.unit.len(), &handoff.new), (Mode::Exclusive, 2, &z));
}
