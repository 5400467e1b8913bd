//! Streams that break, lag or say too little.

use kafka_assigner_proto::v1::{GoAway, Seen};

use super::*;
use crate::session::stream::{DEAF_BOUND, FIRST_COMMAND_BOUND};

// A cut connection alone ends nothing.
#[test]
fn a_broken_stream_is_resumed_elsewhere_under_the_same_lease() {
    let mut rig = Rig::live();
    let before = rig.opened.clone().expect("open");
    rig.break_stream(Status::unavailable("gone"));
    let after = rig.wait_for_stream();
    assert_ne!(after.endpoint, before.endpoint);
    assert_eq!((after.incarnation, after.resume_lease), (before.incarnation, LeaseId(77)));
    assert_eq!(after.seen, Seen { cluster_id: "c".into(), revision: 10 });
    assert_eq!(rig.losses, []);
}

#[test]
fn a_reconnect_is_followed_by_a_heartbeat_and_counts_for_no_claim() {
    let mut rig = Rig::live();
    let claim = rig.claim;
    rig.now = rig.now + Duration::from_secs(5);
    rig.break_stream(Status::unavailable("gone"));
    rig.wait_for_stream();
    rig.snapshot();
    assert_eq!(rig.claim, claim);
    rig.step(Event::Timer);
    assert!(rig.heartbeat.is_some());
}

#[test]
fn a_first_register_without_a_definite_answer_is_repeated_under_a_new_incarnation() {
    let mut rig = Rig::new();
    let first = rig.opened.clone().expect("open");
    rig.break_stream(Status::deadline_exceeded("no answer"));
    let second = rig.wait_for_stream();
    assert_ne!(second.incarnation, first.incarnation);
    assert_eq!(second.resume_lease, LeaseId::NONE);
    rig.wait(FIRST_COMMAND_BOUND);
    assert_ne!(rig.wait_for_stream().incarnation, second.incarnation);
}

#[test]
fn what_a_stream_says_after_it_was_given_up_is_ignored() {
    let mut rig = Rig::live();
    let stale = rig.opened.clone().expect("open").attempt;
    rig.break_stream(Status::unavailable("gone"));
    rig.wait_for_stream();
    let fenced = Command::Fenced(Fenced::default());
    let command = AssignmentCommand { cluster_id: "c".into(), revision: 11, command: Some(fenced) };
    rig.step(Event::Command { attempt: stale, command });
    assert_eq!(rig.losses, []);
}

// Invariant I9 of the handoff protocol: a reconnect never goes back in revision.
#[test]
fn an_instance_that_lags_behind_is_left() {
    let mut rig = Rig::live();
    rig.break_stream(Status::unavailable("gone"));
    let lagging = rig.wait_for_stream();
    rig.revision = 9;
    rig.roles.clear();
    rig.snapshot();
    assert_eq!(rig.roles, []);
    assert_ne!(rig.wait_for_stream().endpoint, lagging.endpoint);
}

// A stream that is silently dead.
#[test]
fn a_deaf_stream_is_opened_again() {
    let mut rig = Rig::live();
    let deaf = rig.opened.clone().expect("open");
    rig.wait_for_heartbeat();
    rig.answer(HeartbeatOutcome::Confirmed, 12);
    rig.wait(DEAF_BOUND);
    let open = rig.wait_for_stream();
    assert_ne!(open.attempt, deaf.attempt);
    assert_eq!(rig.losses, []);
}

#[test]
fn a_stream_that_delivers_in_time_is_kept() {
    let mut rig = Rig::live();
    rig.wait_for_heartbeat();
    rig.answer(HeartbeatOutcome::Confirmed, 12);
    rig.revision = 12;
    rig.command(Command::Warm(v1::Warm::default()));
    rig.wait(DEAF_BOUND);
    assert!(rig.opened.is_some());
}

#[test]
fn a_stream_that_does_not_begin_with_a_snapshot_is_left() {
    let mut rig = Rig::new();
    rig.command(Command::Warm(v1::Warm::default()));
    assert_eq!(rig.roles, []);
    assert_eq!(rig.opened, None);
}

#[test]
fn the_parts_of_a_snapshot_are_taken_as_one() {
    let mut rig = Rig::new();
    rig.part(&[0, 1], true);
    rig.part(&[2], true);
    assert_eq!((&rig.roles[..], rig.claim), (&[][..], None), "not before the last one");
    rig.part(&[3], false);
    let [GrantChange::All(roles)] = &rig.roles[..] else { panic!("{:?}", rig.roles) };
    assert_eq!(roles.iter().map(|at| at.partition).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn the_parts_of_a_snapshot_that_broke_off_are_forgotten() {
    let mut rig = Rig::new();
    rig.part(&[0, 1], true);
    rig.opened = None;
    rig.wait_for_stream();
    rig.part(&[2], false);
    let [GrantChange::All(roles)] = &rig.roles[..] else { panic!("{:?}", rig.roles) };
    assert_eq!(roles.len(), 1);
}

#[test]
fn go_away_moves_the_stream_and_keeps_the_session() {
    let mut rig = Rig::live();
    let left = rig.opened.clone().expect("open").endpoint;
    rig.command(Command::GoAway(GoAway { endpoints: vec!["z".into()], deadline_ms: 0 }));
    let open = rig.wait_for_stream();
    assert_eq!(open.resume_lease, LeaseId(77));
    assert_ne!(open.endpoint, left);
    assert_eq!(rig.losses, []);
}

/// A session with this seed, and an open stream to one of three instances.
fn one_of_three(seed: u64) -> Rig {
    let endpoints = ["a", "b", "c"].map(str::to_owned).into();
    let options = SessionOptions { endpoints, outage_grace: Duration::from_secs(600), seed };
    let mut rig = Rig::of(Session::new(options));
    rig.snapshot();
    rig
}

/// The instance that a session has its stream to.
fn endpoint_of(rig: &Rig) -> String {
    rig.opened.clone().expect("open").endpoint
}

/// Lets `endpoint` stop in good order: its streams go elsewhere.
fn restart(rigs: &mut [Rig], endpoint: &str) {
    for rig in rigs.iter_mut().filter(|rig| endpoint_of(rig) == endpoint) {
        let others = ["a", "b", "c"].iter().filter(|other| **other != endpoint);
        let endpoints = others.map(|other| (*other).to_owned()).collect();
        let attempt = rig.opened.as_ref().expect("open").attempt;
        rig.command(Command::GoAway(GoAway { endpoints, deadline_ms: 5_000 }));
        while rig.opened.as_ref().is_none_or(|open| open.attempt == attempt) {
            rig.wait_for_wake();
        }
        rig.snapshot();
    }
}

// The streams of the last one that restarts go to the two others, one of which has some already: uniform choices leave it
// with five eighths.
#[test]
fn the_streams_of_an_instance_that_goes_away_spread_over_the_others() {
    let mut rigs: Vec<_> = (0..300).map(one_of_three).collect();
    for endpoint in ["a", "b", "c"] {
        let before: Vec<_> = rigs.iter().map(endpoint_of).collect();
        restart(&mut rigs, endpoint);
        let moved = || rigs.iter().zip(&before).filter(|(_, before)| *before == endpoint);
        for other in ["a", "b", "c"].iter().filter(|other| **other != endpoint) {
            let share = moved().filter(|(rig, _)| endpoint_of(rig) == *other).count();
            assert!(share * 3 > moved().count(), "{share} of {} go to {other}", moved().count());
        }
    }
    for endpoint in ["a", "b", "c"] {
        let share = rigs.iter().filter(|rig| endpoint_of(rig) == endpoint).count();
        assert!(share < 200, "{share} of 300 at {endpoint}");
    }
}

#[test]
fn a_stream_that_is_told_to_go_is_heard_until_it_goes_at_some_time_before_its_end() {
    let mut waits: Vec<_> = (0..100)
        .map(|seed| {
            let mut rig = one_of_three(seed);
            let (before, told) = (rig.opened.clone().expect("open"), rig.now);
            rig.command(Command::GoAway(GoAway { endpoints: vec![], deadline_ms: 5_000 }));
            rig.command(Command::Warm(v1::Warm::default()));
            assert_eq!(rig.roles.len(), 2, "it is heard meanwhile");
            while rig.opened.as_ref() == Some(&before) {
                rig.wait_for_wake();
            }
            assert_ne!(rig.wait_for_stream().endpoint, before.endpoint);
            rig.now.since(told)
        })
        .collect();
    waits.sort();
    assert!(waits[25] > Duration::from_millis(500) && waits[75] < Duration::from_millis(4_500), "{waits:?}");
    assert!(waits[99] < Duration::from_secs(5));
}
