//! Streams that miss something, and instances without their store.

use kafka_assigner_proto::v1::{Assignment, OutOfTouch, StreamState};
use kafka_assigner_proto::{Reason, status_after};
use kafka_assigner_types::digest::{Digest, RoleKey};
use kafka_assigner_types::id::{Epoch, TopicPartition};

use super::*;
use crate::session::stream::DEAF_BOUND;

/// The digest of a member that owns these partitions of the topic `t` under epoch 0.
fn owning(partitions: &[u32]) -> u64 {
    let at = |partition| TopicPartition::new("t".parse().expect("a name"), partition);
    let items = partitions.iter().map(|partition| RoleKey::Owner(Epoch(0)).in_partition(&at(*partition)));
    items.collect::<Digest>().0
}

fn grant(partition: i32) -> Command {
    let assigned = v1::AssignedPartition { topic: "t".into(), partition, ..v1::AssignedPartition::default() };
    Command::Assignment(Assignment { assigned: vec![assigned], ..Assignment::default() })
}

/// A session that owns `t/0` and `t/1`, and has sent a heartbeat.
fn owner() -> Rig {
    let mut rig = Rig::new();
    rig.part(&[0, 1], false);
    rig.wait_for_heartbeat();
    rig
}

fn said(rig: &Rig) -> StreamState {
    rig.heartbeat.as_ref().expect("sent").stream
}

/// True if the stream is given up once its bound is over.
fn is_left(rig: &mut Rig) -> bool {
    let attempt = rig.opened.as_ref().expect("open").attempt;
    rig.wait(DEAF_BOUND);
    rig.opened.as_ref().is_none_or(|open| open.attempt != attempt)
}

#[test]
fn a_heartbeat_says_how_far_the_stream_is_and_what_it_told() {
    let rig = owner();
    assert_eq!(said(&rig), StreamState { revision: 10, digest: Some(owning(&[0, 1])) });
    let mut rig = Rig::live();
    rig.break_stream(Status::unavailable("gone"));
    rig.wait_for_heartbeat();
    assert_eq!(said(&rig), StreamState { revision: 0, digest: None }, "of no stream");
}

#[test]
fn what_is_told_in_changes_is_in_the_digest() {
    let mut rig = Rig::new();
    rig.part(&[0, 1], false);
    rig.command(grant(2));
    let gone =
        v1::UnassignedPartition { topic: "t".into(), partition: 0, ..v1::UnassignedPartition::default() };
    rig.command(Command::Assignment(Assignment { unassigned: vec![gone], ..Assignment::default() }));
    rig.wait_for_heartbeat();
    assert_eq!(said(&rig).digest, Some(owning(&[1, 2])));
}

// P8, false alarms: where a view began lately, its revisions may be too late.
#[test]
fn a_stream_that_is_behind_and_has_missed_nothing_is_kept() {
    let mut rig = owner();
    rig.answer_with(HeartbeatOutcome::Confirmed, (15, 12), Some(owning(&[0, 1])));
    assert!(!is_left(&mut rig));
}

#[test]
fn a_bare_revision_is_all_that_a_stream_needs() {
    let mut rig = owner();
    rig.answer_with(HeartbeatOutcome::Confirmed, (15, 12), Some(7));
    rig.revision = 12;
    rig.told(None);
    assert!(!is_left(&mut rig));
}

#[test]
fn a_stream_that_is_behind_with_another_digest_is_left() {
    let mut rig = owner();
    rig.answer_with(HeartbeatOutcome::Confirmed, (15, 12), Some(7));
    assert!(is_left(&mut rig));
    assert_eq!(rig.losses, [], "the session goes on");
}

// P8, misses: an instance that began after a role ended knows no revision of it.
#[test]
fn a_stream_that_lost_a_change_is_left() {
    let mut rig = owner();
    rig.answer_with(HeartbeatOutcome::Confirmed, (15, 9), Some(owning(&[0])));
    assert!(is_left(&mut rig));
}

#[test]
fn a_digest_alone_makes_no_stream_after_the_other_deaf() {
    let mut rig = owner();
    rig.answer_with(HeartbeatOutcome::Confirmed, (15, 9), Some(7));
    assert!(is_left(&mut rig));
    rig.answer_with(HeartbeatOutcome::Confirmed, (15, 9), Some(7));
    rig.wait_for_stream();
    rig.revision = 15;
    rig.part(&[0, 1], false);
    rig.wait_for_heartbeat();
    assert_eq!(said(&rig).revision, 15);
    rig.answer_with(HeartbeatOutcome::Confirmed, (15, 9), Some(7));
    assert!(!is_left(&mut rig), "a fault of the digest would be one of every stream");
}

#[test]
fn a_change_that_was_on_its_way_is_not_missed() {
    let mut rig = owner();
    rig.answer_with(HeartbeatOutcome::Confirmed, (15, 10), Some(owning(&[0, 1, 2])));
    rig.command(grant(2));
    assert!(!is_left(&mut rig));
}

#[test]
fn an_instance_that_is_behind_the_stream_judges_nothing() {
    let mut rig = owner();
    rig.answer_with(HeartbeatOutcome::Confirmed, (9, 8), Some(7));
    assert!(!is_left(&mut rig));
}

#[test]
fn an_older_instance_tells_no_digest_and_is_believed_its_revision() {
    let mut rig = owner();
    rig.answer_with(HeartbeatOutcome::Confirmed, (15, 9), None);
    assert!(!is_left(&mut rig));
    rig.wait_for_heartbeat();
    rig.answer_with(HeartbeatOutcome::Confirmed, (15, 12), None);
    assert!(is_left(&mut rig));
}

#[test]
fn the_stream_of_an_instance_without_its_store_moves_to_the_one_that_confirms() {
    let mut rig = owner();
    let (asked, attempt) =
        (rig.opened.clone().expect("open").endpoint, rig.opened.clone().expect("open").attempt);
    assert_eq!(rig.heartbeat.as_ref().expect("sent").endpoint, asked);
    rig.answer(HeartbeatOutcome::StoreUnavailable, 0);
    rig.step(Event::Timer);
    let elsewhere = rig.heartbeat.clone().expect("sent at once").endpoint;
    assert_ne!(elsewhere, asked);
    assert_eq!(rig.opened.as_ref().expect("open").attempt, attempt, "not before that one confirms");
    rig.answer(HeartbeatOutcome::Confirmed, 0);
    let moved = rig.opened.clone().expect("opened at once");
    assert_eq!((&*moved.endpoint, moved.resume_lease), (&*elsewhere, LeaseId(77)));
    assert_eq!(rig.losses, []);
}

// P18: in an outage of the store for all instances nobody moves.
#[test]
fn where_no_instance_has_its_store_nobody_moves() {
    let mut rig = owner();
    let before = rig.opened.clone();
    rig.command(Command::OutOfTouch(OutOfTouch { since_ms: 5_000 }));
    for _ in 0..20 {
        rig.wait_for_heartbeat();
        rig.answer(HeartbeatOutcome::StoreUnavailable, 0);
    }
    assert_eq!(rig.opened, before);
    // It was the store's, and the stream's own instance is the first that has it again.
    while rig
        .heartbeat
        .as_ref()
        .is_none_or(|heartbeat| Some(&heartbeat.endpoint) != before.as_ref().map(|open| &open.endpoint))
    {
        if rig.heartbeat.is_some() {
            rig.answer(HeartbeatOutcome::StoreUnavailable, 0);
        }
        rig.wait_for_heartbeat();
    }
    rig.revision = 11;
    rig.told(None);
    rig.answer(HeartbeatOutcome::Confirmed, 0);
    rig.step(Event::CallFailed);
    rig.wait_for_heartbeat();
    rig.answer(HeartbeatOutcome::Confirmed, 0);
    assert_eq!(rig.opened, before, "nor afterwards");
}

#[test]
fn an_instance_that_says_it_is_out_of_touch_is_left_for_one_that_confirms() {
    let mut rig = Rig::live();
    let before = rig.opened.clone().expect("open");
    rig.command(Command::OutOfTouch(OutOfTouch { since_ms: 5_000 }));
    rig.step(Event::Timer);
    let asked = rig.heartbeat.clone().expect("sent at once");
    assert_ne!(asked.endpoint, before.endpoint);
    rig.answer(HeartbeatOutcome::Confirmed, 0);
    assert_eq!(rig.opened.as_ref().expect("opened").endpoint, asked.endpoint);
}

#[test]
fn an_instance_that_asks_to_wait_is_waited_for_once_all_did() {
    let mut rig = Rig::live();
    let wait = Duration::from_secs(9);
    let refusal = || status_after(Reason::StoreUnavailable, "out of touch", wait);
    let first = rig.opened.clone().expect("open").endpoint;
    rig.break_stream(refusal());
    let second = rig.wait_for_stream();
    assert_ne!(second.endpoint, first);
    assert!(rig.now < Moment(Duration::from_secs(1)), "another one is tried at once");
    let since = rig.now;
    rig.break_stream(refusal());
    rig.wait_for_stream();
    assert!(rig.now >= since + wait);
}
