//! A client whose stream ended says that it lives.

use std::collections::BTreeSet;

use kafka_assigner_proto::v1::GoAway;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Lets `span` pass in small steps, confirms each heartbeat at once, and returns when they were sent, and to whom.
fn heartbeats(rig: &mut Rig, span: Duration) -> Vec<(Duration, String)> {
    let (begin, step, mut sent) = (rig.now, Duration::from_millis(50), Vec::new());
    while rig.now <= begin + span {
        if let Some(heartbeat) = &rig.heartbeat {
            sent.push((rig.now.since(begin), heartbeat.endpoint.clone()));
            rig.answer(HeartbeatOutcome::Confirmed, 0);
        }
        rig.wait(step);
    }
    sent
}

/// A session of long standing.
fn settled() -> Rig {
    let mut rig = Rig::live();
    rig.wait_for_heartbeat();
    rig.answer(HeartbeatOutcome::Confirmed, 0);
    rig.wait(SECOND);
    rig
}

#[test]
fn a_client_whose_stream_ended_is_heard_at_once_elsewhere_and_each_second() {
    let mut rig = settled();
    let ended = rig.opened.clone().expect("open").endpoint;
    rig.break_stream(Status::unavailable("gone"));
    rig.step(Event::Timer);
    let first = rig.heartbeat.as_ref().expect("at once").endpoint.clone();
    assert_ne!(first, ended, "another instance first");
    let sent = heartbeats(&mut rig, SECOND * 4);
    assert_eq!(sent.len(), 5, "no stream begins: {sent:?}");
    assert!(sent.windows(2).all(|two| two[1].0 - two[0].0 <= SECOND + Duration::from_millis(50)), "{sent:?}");
}

#[test]
fn every_instance_is_asked_before_one_is_asked_again() {
    for seed in 0..50 {
        let endpoints = ["http://a:1", "http://b:1", "http://c:1"].map(str::to_owned).to_vec();
        let outage_grace = Duration::from_secs(600);
        let mut rig = Rig::of(Session::new(SessionOptions { endpoints, outage_grace, seed }));
        rig.snapshot();
        let mut asked = BTreeSet::new();
        for _ in 0..3 {
            rig.wait_for_heartbeat();
            asked.insert(rig.heartbeat.as_ref().expect("due").endpoint.clone());
            rig.answer(HeartbeatOutcome::StoreUnavailable, 0);
        }
        assert_eq!(asked.len(), 3, "seed {seed}: {asked:?}");
    }
}

#[test]
fn it_goes_on_until_a_stream_has_lasted_for_three_seconds() {
    let mut rig = settled();
    rig.break_stream(Status::unavailable("gone"));
    rig.wait_for_stream();
    rig.snapshot();
    let sent = heartbeats(&mut rig, SECOND * 9);
    let last = sent.last().expect("some").0;
    assert!(last >= SECOND * 3 && last <= SECOND * 4, "{sent:?}");
    assert!(sent.len() >= 4, "{sent:?}");
}

#[test]
fn an_end_that_the_instance_asked_for_needs_no_word() {
    let mut rig = settled();
    rig.command(Command::GoAway(GoAway { endpoints: vec![], deadline_ms: 0 }));
    rig.step(Event::Timer);
    assert_eq!(rig.heartbeat, None);
    rig.wait_for_stream();
    rig.snapshot();
    assert!(heartbeats(&mut rig, SECOND * 5).len() <= 1, "the one that follows each reconnect");
}

#[test]
fn an_instance_that_does_not_answer_is_no_reason_to_wait_for_longer() {
    let mut rig = settled();
    rig.break_stream(Status::unavailable("gone"));
    let begin = rig.now;
    for _ in 0..20 {
        let number = rig.wait_for_heartbeat();
        rig.heartbeat = None;
        rig.step(Event::HeartbeatFailed { number });
        let due = rig.session.next_wake().expect("it goes on");
        assert!(due.since(rig.now) <= SECOND, "after {:?}", rig.now.since(begin));
    }
}

#[test]
fn who_was_taken_for_dead_drops_everything_and_begins_anew() {
    let mut rig = settled();
    let before = rig.incarnation();
    rig.break_stream(Status::unavailable("gone"));
    rig.wait_for_heartbeat();
    let number = rig.heartbeat.take().expect("sent").number;
    let fenced = Fenced { reason: FenceReason::Suspected.into(), message: "why".into() };
    let response = HeartbeatResponse {
        outcome: HeartbeatOutcome::Fenced.into(),
        cluster_id: "c".into(),
        revision: 11,
        fenced: Some(fenced),
        ..HeartbeatResponse::default()
    };
    rig.step(Event::HeartbeatAnswered { number, response });
    assert_eq!(rig.losses, [Loss::Fenced(FenceReason::Suspected, "why".into())]);
    assert_eq!(rig.claim, None);
    let next = rig.wait_for_stream();
    assert_eq!(next.resume_lease, LeaseId::NONE);
    assert_ne!(next.incarnation, before);
}

#[test]
fn a_heartbeat_that_hangs_keeps_nobody_from_being_heard_elsewhere() {
    let mut rig = settled();
    let hanging = rig.wait_for_heartbeat();
    let asked = rig.heartbeat.take().expect("under way").endpoint;
    rig.break_stream(Status::unavailable("gone"));
    rig.step(Event::Timer);
    let next = rig.heartbeat.clone().expect("nobody waits for the one that hangs");
    assert!(next.number > hanging && next.endpoint != asked, "{next:?}");
    assert!(next.bound <= SECOND * 3 / 2, "nor long for this one: {next:?}");
}

#[test]
fn an_attempt_that_showed_nothing_yet_may_be_attached() {
    let mut rig = settled();
    rig.command(Command::GoAway(GoAway { endpoints: vec![], deadline_ms: 0 }));
    rig.wait_for_stream();
    rig.heartbeat = None;
    rig.break_stream(Status::unavailable("gone before its snapshot"));
    rig.step(Event::Timer);
    assert!(rig.heartbeat.is_some(), "it says that it lives");
}

#[test]
fn a_stream_that_is_sent_away_again_has_not_lasted() {
    let mut rig = settled();
    rig.break_stream(Status::unavailable("gone"));
    rig.wait_for_stream();
    rig.snapshot();
    rig.command(Command::GoAway(GoAway { endpoints: vec![], deadline_ms: 0 }));
    let sent = heartbeats(&mut rig, SECOND * 6);
    assert!(sent.len() >= 6, "no stream lasts: {sent:?}");
}
