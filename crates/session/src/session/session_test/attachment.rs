//! Sessions that are renewed and that no instance takes a stream of.

use super::*;

/// Lets `span` pass, in which every stream is refused and every heartbeat has this outcome.
fn pass(rig: &mut Rig, span: Duration, outcome: HeartbeatOutcome) {
    let until = rig.now + span;
    while rig.losses.is_empty() && rig.now < until {
        if rig.opened.is_some() {
            rig.break_stream(Status::unavailable("behind"));
        } else if rig.heartbeat.is_some() {
            rig.answer(outcome, 0);
        } else {
            rig.wait_for_wake();
        }
    }
}

// P16, and what a store that was put back does to clients: renewed and deaf, for ever.
#[test]
fn a_session_that_nobody_serves_is_given_up_and_begun_anew_without_what_was_seen() {
    let mut rig = Rig::live();
    let (before, begin) = (rig.incarnation(), rig.now);
    pass(&mut rig, TTL, HeartbeatOutcome::Confirmed);
    assert_eq!(rig.losses, [], "it is borne for its time to live");
    pass(&mut rig, TTL, HeartbeatOutcome::Confirmed);
    assert_eq!(rig.losses, [Loss::Unattached]);
    assert!(rig.now < begin + Duration::from_secs(60), "before the service ends it");
    assert_eq!(rig.farewells, std::slice::from_ref(&before), "nobody waits for its claim");
    let next = rig.wait_for_stream();
    assert_ne!(next.incarnation, before);
    assert_eq!((next.resume_lease, next.seen), (LeaseId::NONE, v1::Seen::default()));
}

#[test]
fn a_session_that_is_not_renewed_is_not_given_up() {
    let mut rig = Rig::live();
    pass(&mut rig, Duration::from_secs(500), HeartbeatOutcome::StoreUnavailable);
    assert_eq!(rig.losses, []);
    pass(&mut rig, Duration::from_secs(20), HeartbeatOutcome::Confirmed);
    assert_eq!(rig.losses, [], "the time counts from the outage's end");
}

#[test]
fn a_stream_that_one_instance_takes_ends_the_count() {
    let mut rig = Rig::live();
    for _ in 0..4 {
        pass(&mut rig, Duration::from_secs(25), HeartbeatOutcome::Confirmed);
        rig.wait_for_stream();
        rig.snapshot();
    }
    assert_eq!(rig.losses, []);
}

#[test]
fn an_instance_that_was_not_tried_keeps_the_session() {
    let mut rig = Rig::live();
    rig.break_stream(Status::unavailable("gone"));
    rig.wait_for_stream();
    // The other one does not answer for as long as it may.
    for _ in 0..2 {
        rig.wait_for_heartbeat();
        rig.answer(HeartbeatOutcome::Confirmed, 0);
    }
    assert_eq!(rig.losses, []);
}

#[test]
fn a_session_that_the_service_ends_for_it_forgets_what_was_seen_too() {
    for reason in [FenceReason::Unattached, FenceReason::StoreRestored] {
        let mut rig = Rig::live();
        rig.fenced(reason);
        assert_eq!(rig.losses, [Loss::Fenced(reason, "why".into())]);
        assert_eq!(rig.wait_for_stream().seen, v1::Seen::default());
    }
}
