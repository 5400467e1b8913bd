//! The ways in which a session ends.

use kafka_assigner_proto::v1::{DeregisterResponse, Seen};
use kafka_assigner_proto::{Reason, status as refused};

use super::*;

// The old session may still be written somewhere, so nothing of it is used again.
#[test]
fn a_fenced_session_is_lost_and_a_new_one_is_opened() {
    let mut rig = Rig::live();
    let before = rig.incarnation();
    rig.fenced(FenceReason::Expired);
    assert_eq!(rig.losses, [Loss::Fenced(FenceReason::Expired, "why".into())]);
    assert_eq!(rig.claim, None);
    assert_eq!(rig.farewells, std::slice::from_ref(&before));
    let open = rig.wait_for_stream();
    assert_eq!(open.resume_lease, LeaseId::NONE);
    assert_ne!(open.incarnation, before);
}

// Whatever the stream waits for.
#[test]
fn a_fence_that_a_heartbeat_brings_while_a_reconnect_waits_ends_the_claim_at_once() {
    let mut rig = Rig::live();
    rig.wait_for_heartbeat();
    while rig.opened.is_some() {
        rig.break_stream(Status::unavailable("gone"));
    }
    // It says that it lives, whatever became of the heartbeat before.
    rig.step(Event::Timer);
    let reconnect = rig.session.next_wake().expect("a reconnect is planned");
    let number = rig.heartbeat.take().expect("sent").number;
    let fenced = Fenced { reason: FenceReason::Expired.into(), message: "why".into() };
    let response = HeartbeatResponse {
        outcome: HeartbeatOutcome::Fenced.into(),
        cluster_id: "c".into(),
        fenced: Some(fenced),
        ..HeartbeatResponse::default()
    };
    rig.step(Event::HeartbeatAnswered { number, response });
    assert!(rig.now < reconnect);
    assert_eq!((rig.claim, rig.losses.len()), (None, 1));
}

// Two processes under one name must not take it from each other for ever.
#[test]
fn a_superseded_session_stops() {
    let mut rig = Rig::live();
    rig.now = rig.now + GHOST_BOUND;
    let before = rig.incarnation();
    rig.fenced(FenceReason::Superseded);
    assert_eq!(rig.ending, Some(Ending::Superseded("why".into())));
    assert_eq!(rig.farewells, [before]);
    assert_eq!(rig.session.next_wake(), None);
}

#[test]
fn a_takeover_by_an_own_abandoned_register_is_a_plain_loss() {
    let mut rig = Rig::new();
    rig.break_stream(Status::unknown("lost the answer"));
    rig.wait_for_stream();
    rig.snapshot();
    rig.fenced(FenceReason::Superseded);
    assert_eq!(rig.ending, None);
    assert_eq!(rig.losses.len(), 1);
}

#[test]
fn another_cluster_is_a_loss() {
    let mut rig = Rig::live();
    let attempt = rig.opened.as_ref().expect("open").attempt;
    let command = AssignmentCommand { cluster_id: "d".into(), revision: 3, command: None };
    rig.step(Event::Command { attempt, command });
    assert_eq!(rig.losses, [Loss::OtherCluster]);
    assert_eq!(rig.wait_for_stream().seen, Seen { cluster_id: "d".into(), revision: 3 });
}

#[test]
fn a_refused_registration_stops() {
    let mut rig = Rig::new();
    rig.break_stream(Status::invalid_argument("bad name"));
    let refused = Ending::Refused { code: Code::InvalidArgument, message: "bad name".into() };
    assert_eq!(rig.ending, Some(refused));
}

#[test]
fn a_drain_ends_when_the_service_says_that_nothing_is_left() {
    let mut rig = Rig::live();
    rig.step(Event::Leave(DeregisterMode::Drain));
    rig.step(Event::LeaveAnswered { mode: DeregisterMode::Drain, result: Err(Status::unavailable("")) });
    rig.wait_for_wake();
    assert_eq!(rig.deregistered, [DeregisterMode::Drain; 2]);
    rig.step(Event::LeaveAnswered { mode: DeregisterMode::Drain, result: Ok(DeregisterResponse::default()) });
    assert_eq!(rig.ending, None);
    rig.fenced(FenceReason::Deregistered);
    assert_eq!(rig.ending, Some(Ending::Left));
}

// Others may begin to drain meanwhile, and then nobody is left who takes anything.
#[test]
fn a_drain_is_asked_about_each_second_until_nobody_takes_what_is_left() {
    let mut rig = Rig::live();
    rig.step(Event::Leave(DeregisterMode::Drain));
    let answer = |nobody_takes| Event::LeaveAnswered {
        mode: DeregisterMode::Drain,
        result: Ok(DeregisterResponse { nobody_takes }),
    };
    rig.step(answer(false));
    let before = rig.now;
    while rig.deregistered.len() < 2 {
        rig.wait_for_wake();
    }
    assert_eq!(rig.now.since(before), Duration::from_secs(1));
    assert!(!rig.nobody_takes);
    rig.step(answer(true));
    assert!(rig.nobody_takes && rig.ending.is_none(), "what there is has to stop first");
}

#[test]
fn a_session_lost_during_the_drain_is_not_opened_again() {
    let mut rig = Rig::live();
    rig.step(Event::Leave(DeregisterMode::Drain));
    rig.fenced(FenceReason::Expired);
    assert_eq!(rig.losses.len(), 1);
    assert_eq!(rig.ending, Some(Ending::NoSession));
}

#[test]
fn a_late_answer_to_the_drain_does_not_end_leaving_now() {
    let mut rig = Rig::live();
    rig.step(Event::Leave(DeregisterMode::Drain));
    rig.step(Event::Leave(DeregisterMode::Now));
    rig.step(Event::LeaveAnswered { mode: DeregisterMode::Drain, result: Ok(DeregisterResponse::default()) });
    assert_eq!(rig.ending, None);
    rig.step(Event::LeaveAnswered { mode: DeregisterMode::Now, result: Ok(DeregisterResponse::default()) });
    assert_eq!(rig.ending, Some(Ending::Left));
}

/// A refusal as a proxy makes one out of the HTTP statuses 404, 401, 403 and the like, or of a route of its own.
fn refusals_of_a_proxy() -> [Status; 7] {
    [
        Status::unimplemented("mapped from HTTP status code 404"),
        Status::permission_denied("mapped from HTTP status code 403"),
        Status::unauthenticated("mapped from HTTP status code 401"),
        Status::invalid_argument("no such host"),
        Status::out_of_range("no"),
        Status::failed_precondition("no backend"),
        Status::not_found("no route"),
    ]
}

#[test]
fn what_a_proxy_refuses_ends_no_session() {
    for refusal in refusals_of_a_proxy() {
        let mut rig = Rig::live();
        let before = rig.incarnation();
        for _ in 0..5 {
            rig.break_stream(refusal.clone());
            let open = rig.wait_for_stream();
            assert_eq!((open.incarnation, open.resume_lease), (before.clone(), LeaseId(77)), "{refusal:?}");
        }
        rig.snapshot();
        assert_eq!((&rig.losses[..], &rig.ending), (&[][..], &None), "{refusal:?}");
    }
}

#[test]
fn what_a_proxy_refuses_after_a_loss_ends_nothing_either() {
    for refusal in refusals_of_a_proxy() {
        let mut rig = Rig::live();
        rig.fenced(FenceReason::Expired);
        rig.wait_for_stream();
        rig.break_stream(refusal.clone());
        assert_eq!(rig.ending, None, "{refusal:?}");
        rig.wait_for_stream();
        rig.snapshot();
        assert!(rig.session.incarnation().is_some());
    }
}

#[test]
fn what_the_service_refuses_is_believed() {
    let mut rig = Rig::live();
    rig.break_stream(refused(Reason::CapabilityMissing, "too old"));
    assert_eq!(rig.losses, [Loss::Refused("too old".into())]);
    let mut rig = Rig::live();
    rig.break_stream(refused(Reason::NotSupported, "too new"));
    let ending = Ending::Refused { code: Code::Unimplemented, message: "too new".into() };
    assert_eq!(rig.ending, Some(ending));
}

#[test]
fn a_caller_that_is_not_allowed_any_more_waits_and_tries_again() {
    for reason in [Reason::NotAllowed, Reason::CallerUnknown] {
        let mut rig = Rig::live();
        rig.break_stream(refused(reason, "no rule"));
        assert_eq!((rig.ending.take(), rig.losses.len()), (None, 0), "{reason}");
        rig.wait_for_stream();
        rig.snapshot();
    }
}

#[test]
fn a_proxy_that_knows_nobody_ends_no_departure() {
    let mut rig = Rig::live();
    let answer = |status| Event::LeaveAnswered { mode: DeregisterMode::Drain, result: Err(status) };
    rig.step(Event::Leave(DeregisterMode::Drain));
    rig.step(answer(Status::not_found("no route")));
    assert_eq!(rig.ending, None);
    rig.step(answer(refused(Reason::ConsumerNotFound, "gone")));
    assert_eq!(rig.ending, Some(Ending::NoSession));
}
