//! Records that take longer than a phase may last: the member that a handoff waits for says that it is busy.

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::explain::waits_for;
use kafka_assigner_core::plan::Plan;
use kafka_assigner_core::reason::{CancelReason, DeferReason};
use kafka_assigner_core::record::{Capability, Consumer, GroupConfig, Handoff, Phase, Taken};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::state::Presence;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::{Role, role};
use kafka_assigner_types::id::{HandoffId, Member, TopicPartition};
use kafka_assigner_types::mode::Mode;

fn at() -> TopicPartition {
    tp("t", 1)
}

fn handoff(group: &TestGroup) -> Option<&Handoff> {
    group.state.handoff(&at())
}

fn id(group: &TestGroup) -> HandoffId {
    handoff(group).expect("it moves").id.clone()
}

fn phase(group: &TestGroup) -> Option<Phase> {
    handoff(group).map(|handoff| handoff.phase)
}

/// `a` owns both partitions of a topic, and one is on its way to `b`, in the phase that follows once `b` is warm.
fn moving(mode: Mode, phase_after: Phase) -> (TestGroup, Member, Member) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode, ..GroupConfig::default() });
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    group.say(&b, &at(), Some(&id(&group)), &Ack::Ready);
    while phase(&group) != Some(phase_after) {
        assert!(!group.pass().is_empty(), "it stands still: {:?}", phase(&group));
    }
    (group, a, b)
}

/// Lets `seconds` pass, with passes in between as a leader makes them.
fn wait(group: &mut TestGroup, seconds: u64) {
    for _ in 0..seconds {
        group.later(Duration::from_secs(1));
        group.pass();
    }
}

#[test]
fn a_drain_that_waits_for_a_long_record_is_waited_for() {
    let (mut group, a, _) = moving(Mode::Exclusive, Phase::Draining);
    wait(&mut group, 10);
    group.report_busy(&a, &at(), true);
    wait(&mut group, 30);
    assert_eq!(phase(&group), Some(Phase::Draining), "its record takes 40 s");
    let waits = waits_for(&group.state, handoff(&group).expect("it moves")).to_string();
    assert_eq!(waits, "a to finish the record that it is busy with");
    group.say(&a, &at(), Some(&id(&group)), &Ack::Drained(Drained { offset: None, last_at: None }));
    group.pass();
    assert_eq!(group.owner(&at()), Some("b"));
}

#[test]
fn a_drain_of_which_nothing_is_said_ends_at_the_deadline_of_its_phase() {
    let (mut group, ..) = moving(Mode::Exclusive, Phase::Draining);
    wait(&mut group, 29);
    assert_eq!(phase(&group), Some(Phase::Draining));
    wait(&mut group, 1);
    assert_ne!(phase(&group), Some(Phase::Draining));
}

#[test]
fn one_that_was_busy_gets_the_time_of_its_phase_for_its_word() {
    let (mut group, a, _) = moving(Mode::Exclusive, Phase::Draining);
    group.report_busy(&a, &at(), true);
    wait(&mut group, 60);
    group.report_busy(&a, &at(), false);
    wait(&mut group, 29);
    assert_eq!(phase(&group), Some(Phase::Draining));
    wait(&mut group, 1);
    assert_ne!(phase(&group), Some(Phase::Draining));
}

#[test]
fn a_record_that_is_never_done_cancels_the_move_and_blames_nobody() {
    let (mut group, a, _) = moving(Mode::Exclusive, Phase::Draining);
    group.report_busy(&a, &at(), true);
    wait(&mut group, 299);
    assert_eq!(phase(&group), Some(Phase::Draining));
    group.later(Duration::from_secs(1));
    group.pass();
    let why = handoff(&group).and_then(|handoff| handoff.cancelled.clone());
    assert!(matches!(why, Some(CancelReason::Deadline { after_ms: 300_000, .. })), "{why:?}");
    assert!(group.state.assignment(&at()).expect("it is owned").avoid.is_empty());
    assert_eq!((group.owner(&at()), group.state.presence(&a)), (Some("a"), Presence::Here));
}

fn backs_off_for(plan: &Plan) -> Option<u64> {
    plan.deferred.iter().find_map(|deferral| match deferral.why {
        DeferReason::BackingOff { left_ms } if deferral.unit.contains(&at()) => Some(left_ms),
        _ => None,
    })
}

#[test]
fn a_unit_whose_owner_did_not_stop_in_time_waits_longer_each_time() {
    let (mut group, _, b) = moving(Mode::Exclusive, Phase::Draining);
    for seconds in [10, 20, 40] {
        group.later(Duration::from_secs(30));
        group.pass();
        group.pass();
        let left = backs_off_for(&group.plan()).expect("it backs off");
        assert!((seconds - 1) * 1_000 < left && left <= seconds * 1_000, "{left} ms of {seconds} s");
        group.later(Duration::from_millis(left));
        assert_eq!(backs_off_for(&group.plan()), None);
        group.pass();
        group.say(&b, &at(), Some(&id(&group)), &Ack::Ready);
        group.pass();
        assert_eq!(phase(&group), Some(Phase::Draining));
    }
}

#[test]
fn a_first_record_that_takes_long_is_no_reason_to_give_a_partition_back() {
    let (mut group, a, b) = moving(Mode::Overlap, Phase::Complete);
    group.report_busy(&b, &at(), true);
    wait(&mut group, 40);
    assert_eq!((group.owner(&at()), phase(&group)), (Some("b"), Some(Phase::Complete)));
    group.say(&b, &at(), Some(&id(&group)), &Ack::Taken(Taken::default()));
    // The old owner has a long record of its own.
    group.report_busy(&a, &at(), true);
    wait(&mut group, 40);
    assert_eq!(group.state.presence(&a), Presence::Here);
    group.say(&a, &at(), Some(&id(&group)), &Ack::Released { last_at: None });
    group.pass();
    assert_eq!((phase(&group), group.owner(&at())), (None, Some("b")));
}

#[test]
fn calls_that_fail_and_are_tried_again_put_the_end_off_once() {
    let (mut group, a, _) = moving(Mode::Exclusive, Phase::Draining);
    for _ in 0..3 {
        group.report_busy(&a, &at(), true);
        wait(&mut group, 5);
        group.report_busy(&a, &at(), false);
        wait(&mut group, 8);
    }
    // 39 s: it was busy at the deadline of the phase, and has had 30 s more since it first was no longer.
    assert_ne!(phase(&group), Some(Phase::Draining));
}

#[test]
fn a_catch_up_that_a_long_drain_left_no_time_blames_nobody() {
    let (mut group, a, _) = moving(Mode::Routed, Phase::Draining);
    wait(&mut group, 9);
    group.say(&a, &at(), Some(&id(&group)), &Ack::Drained(Drained { offset: None, last_at: None }));
    group.pass();
    assert_eq!(phase(&group), Some(Phase::CatchingUp));
    group.later(Duration::from_secs(1));
    group.pass();
    assert!(group.state.assignment(&at()).expect("it is owned").avoid.is_empty());
    group.pass();
    assert!(backs_off_for(&group.plan()).is_some());
}

#[test]
fn only_the_member_that_is_waited_for_extends_a_phase() {
    let (mut group, _, b) = moving(Mode::Exclusive, Phase::Draining);
    group.report_busy(&b, &at(), true);
    wait(&mut group, 30);
    assert_ne!(phase(&group), Some(Phase::Draining));
}

#[test]
fn requests_are_held_back_for_ten_seconds_at_most() {
    let (mut group, a, _) = moving(Mode::Routed, Phase::Draining);
    group.report_busy(&a, &at(), true);
    wait(&mut group, 9);
    assert_eq!(phase(&group), Some(Phase::Draining));
    wait(&mut group, 1);
    assert_ne!(phase(&group), Some(Phase::Draining));
    assert_eq!(group.owner(&at()), Some("a"));
}

#[test]
fn the_time_of_a_freeze_counts_for_the_drain_that_follows() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode: Mode::Routed, ..GroupConfig::default() });
    let router = group.route_as("r");
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    group.say(&b, &at(), Some(&id(&group)), &Ack::Ready);
    group.pass();
    wait(&mut group, 6);
    assert_eq!(phase(&group), Some(Phase::Freezing));
    group.freeze(&router, &at(), &id(&group));
    group.pass();
    assert_eq!(phase(&group), Some(Phase::Draining));
    wait(&mut group, 3);
    assert_eq!(phase(&group), Some(Phase::Draining));
    wait(&mut group, 1);
    assert_ne!(phase(&group), Some(Phase::Draining));
}

fn able_to_rest(consumer: &mut Consumer) {
    consumer.capabilities.insert(Capability::Rest);
}

/// `a` is able to rest and owns both partitions of a topic in `routed`, and one is on its way to `b`, which is warm.
fn warm_for_one_that_rests() -> (TestGroup, Member, Member) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode: Mode::Routed, ..GroupConfig::default() });
    let a = group.join_as("a", able_to_rest);
    group.settle();
    let b = group.join("b");
    group.pass();
    group.say(&b, &at(), Some(&id(&group)), &Ack::Ready);
    (group, a, b)
}

fn rests_for(group: &TestGroup, member: &Member) -> Option<HandoffId> {
    match role(&group.state, member, &at()) {
        Some(Role::Owner { resting, .. }) => resting,
        other => panic!("no owner: {other:?}"),
    }
}

#[test]
fn a_record_in_the_works_is_waited_for_before_requests_are_held_back() {
    let (mut group, a, _) = warm_for_one_that_rests();
    assert_eq!(rests_for(&group, &a), Some(id(&group)));
    wait(&mut group, 2);
    group.report_busy(&a, &at(), true);
    wait(&mut group, 40);
    assert_eq!(phase(&group), Some(Phase::Ready), "its record takes 40 s");
    let waits = waits_for(&group.state, handoff(&group).expect("it moves")).to_string();
    assert_eq!(waits, "a to finish the record that it is busy with");
    group.say(&a, &at(), Some(&id(&group)), &Ack::Rested);
    group.pass();
    assert_eq!(phase(&group), Some(Phase::Freezing));
    assert_eq!(rests_for(&group, &a), Some(id(&group)), "until it stops");
    group.settle();
    assert_eq!(group.owner(&at()), Some("b"));
    assert!(group.state.assignment(&at()).expect("it is owned").avoid.is_empty());
}

#[test]
fn an_owner_that_can_not_rest_is_not_waited_for() {
    let (group, a, _) = moving(Mode::Routed, Phase::Freezing);
    assert_eq!(rests_for(&group, &a), None);
}

#[test]
fn an_owner_that_does_not_rest_keeps_its_unit_and_nobody_is_blamed() {
    for (busy, seconds) in [(false, 30), (true, 300)] {
        let (mut group, a, _) = warm_for_one_that_rests();
        if busy {
            group.report_busy(&a, &at(), true);
        }
        wait(&mut group, seconds - 1);
        assert_eq!(phase(&group), Some(Phase::Ready));
        group.later(Duration::from_secs(1));
        group.pass();
        assert_eq!(phase(&group), Some(Phase::Cancelled));
        assert_eq!(rests_for(&group, &a), None, "its records go on");
        assert!(group.state.assignment(&at()).expect("it is owned").avoid.is_empty());
        group.pass();
        assert!(backs_off_for(&group.plan()).is_some());
    }
}

#[test]
fn an_owner_rests_once_every_partition_of_its_unit_does() {
    let mut group = TestGroup::default();
    group.configure(&GroupConfig { mode: Mode::Routed, ..GroupConfig::default() });
    ["a", "b"].into_iter().for_each(|topic| group.topic_in_set(topic, 1, "s"));
    let old = group.join_as("old", able_to_rest);
    group.settle();
    let new = group.join("new");
    group.leave(&old, &Leaving::Drain);
    group.pass();
    let unit = [tp("a", 0), tp("b", 0)];
    let id = group.state.handoff(&unit[0]).expect("it moves").id.clone();
    for (word, by) in [(Ack::Ready, &new), (Ack::Rested, &old)] {
        group.say(by, &unit[0], Some(&id), &word);
        group.pass();
        group.say(by, &unit[1], Some(&id), &word);
    }
    assert_eq!(group.state.handoff(&unit[0]).map(|handoff| handoff.phase), Some(Phase::Ready));
    group.pass();
    assert_eq!(group.state.handoff(&unit[0]).map(|handoff| handoff.phase), Some(Phase::Freezing));
}

#[test]
fn what_a_former_session_said_of_its_records_does_not_count_for_the_next_one() {
    let (mut group, a, _) = warm_for_one_that_rests();
    group.say(&a, &at(), Some(&id(&group)), &Ack::Rested);
    group.let_go(&a);
    group.join_as("a", able_to_rest);
    group.pass();
    group.pass();
    assert_eq!(phase(&group), Some(Phase::Ready), "the new session has to say so itself");
}
