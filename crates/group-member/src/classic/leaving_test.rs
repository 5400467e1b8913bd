//! Coordinators, ids and applications that go, and members that do.

use super::rig_test::{Rig, at, options};
use super::*;

#[test]
fn a_coordinator_that_is_gone_is_looked_for_and_the_id_kept() {
    let mut rig = Rig::new(options("range"));
    rig.joined(79, "m", -1, "").joined(16, "", -1, "").after(1000);
    assert_eq!(rig.words()[1..], ["join \"m\"", "lose coordinator"]);
    rig.does(ClassicEvent::Coordinator);
    assert_eq!(rig.words(), ["join \"m\""]);
    let number = RequestNumber(3);
    rig.does(ClassicEvent::Joined(number, Err(AnswerFailure))).does(ClassicEvent::Coordinator).after(1000);
    assert_eq!(rig.words(), ["lose coordinator", "join \"m\""], "a lost answer costs no id");
}

#[test]
fn a_join_waits_for_the_commit_of_what_is_kept_and_not_for_ever() {
    let mut rig = Rig::stable("cooperative-sticky", &[0]);
    rig.holds_commits = true;
    rig.does(ClassicEvent::MetadataChanged);
    assert_eq!(rig.words(), ["flush"]);
    let mut slow = Rig { member: rig.member.clone(), said: Vec::new(), ..rig };
    rig.does(ClassicEvent::Tick).does(ClassicEvent::Flushed);
    assert_eq!(rig.words(), ["join \"m\""]);
    slow.after(3000).beaten(27).after(1999);
    assert_eq!(slow.words(), ["beat 1"], "heartbeats go on");
    assert_eq!(slow.member.next_step(), Some(at(5000)));
    slow.after(1);
    assert_eq!(slow.words(), ["join \"m\""]);
    // The next join waits for a commit of its own.
    slow.joined(0, "m", 2, "other").synced(0, &[0]).done().words();
    slow.does(ClassicEvent::MetadataChanged);
    assert_eq!(slow.words(), ["flush"]);
    slow.does(ClassicEvent::Close(Duration::from_secs(5)));
    assert_eq!(slow.words(), ["stop 0", "revoked 0"], "closing wins");
}

#[test]
fn an_id_that_comes_late_is_kept_or_given_back() {
    // The member loses everything while its join is under way; the answer has a new id.
    let mut rig = Rig::new(options("range"));
    rig.does(ClassicEvent::Close(Duration::from_secs(5)));
    assert_eq!(rig.words(), ["join \"\""], "without an id there is nothing to leave with");
    let late =
        JoinGroupResponse { error_code: 79, member_id: "late".to_owned(), ..JoinGroupResponse::default() };
    rig.does(ClassicEvent::Joined(RequestNumber(1), Ok(late)));
    assert_eq!(rig.words(), ["leave \"late\""]);
    rig.does(ClassicEvent::Left(RequestNumber(2), Ok(())));
    assert_eq!(rig.words(), ["Closed"]);
    assert!(rig.member.is_over());
}

#[test]
fn an_instance_id_that_another_has_is_told_and_not_fought_for() {
    let fixed = ClassicOptions { instance: Some("one".to_owned()), ..options("range") };
    let mut rig = Rig::stable_with(fixed, &[0]);
    rig.after(3000).beaten(82);
    let words = rig.words();
    assert!(words[2].starts_with("failed: another member has the instance id of this one, one"), "{words:?}");
    assert_eq!(words[3], "lost 0");
    rig.done().after(60_000);
    assert_eq!(rig.words(), [""; 0]);
    assert!(rig.member.is_over());
}

#[test]
fn a_group_with_other_strategies_is_told_by_name() {
    let mut rig = Rig::new(options("range"));
    rig.joined(23, "", -1, "");
    assert!(rig.words()[1].contains("none of the strategies that this member offers, range"));
    let mut rig = Rig::new(options("range"));
    let answer = JoinGroupResponse {
        member_id: "m".to_owned(),
        generation_id: 1,
        protocol_name: Some("other".to_owned()),
        ..JoinGroupResponse::default()
    };
    rig.does(ClassicEvent::Joined(rig.number(), Ok(answer)));
    assert!(rig.words()[1].starts_with("failed"));
}

#[test]
fn a_group_that_the_broker_plans_is_told() {
    let mut rig = Rig::new(options("range"));
    rig.joined(0, "m", 9, "").synced(0, &[3]);
    assert_eq!(rig.words()[1..], ["BrokerPlans", "sync 9 with 0", "in 9 leads false", "assigned 3"]);
}

#[test]
fn an_application_that_falls_silent_leaves_and_comes_back() {
    let mut rig = Rig::stable("range", &[0]);
    rig.said.clear();
    rig.now = at(300_000);
    rig.does(ClassicEvent::Tick);
    let words = rig.words();
    assert_eq!(
        words,
        ["SessionOver", "lose coordinator", "Stalled", "stop 0", "lost 0"],
        "its session was over before"
    );
    rig.does(ClassicEvent::Coordinator).done().after(1000);
    assert_eq!(rig.words(), [""; 0], "it waits for the application");
    rig.does(ClassicEvent::Polled);
    assert_eq!(rig.words(), ["join \"m\""], "it could not leave, so its id is still good");
}

#[test]
fn a_silent_application_of_a_living_member_leaves_the_group() {
    let mut rig = Rig::stable("range", &[0]);
    for _ in 0..100 {
        rig.after(3000);
        if rig
            .said
            .iter()
            .any(|said| matches!(said, ClassicCommand::Send { request: ClassicRequest::Leave(_), .. }))
        {
            break;
        }
        rig.beaten(0);
    }
    let words = rig.words();
    assert_eq!(words[words.len() - 4..], ["Stalled", "leave \"m\"", "stop 0", "lost 0"]);
}

#[test]
fn a_session_without_an_answer_is_told_once() {
    let mut rig = Rig::stable("range", &[0]);
    rig.after(3000).after(42_000).after(1000);
    assert_eq!(rig.words(), ["beat 1", "SessionOver", "lose coordinator"]);
}

#[test]
fn closing_gives_up_leaves_and_ends() {
    let mut rig = Rig::stable("range", &[0]);
    rig.does(ClassicEvent::Close(Duration::from_secs(5)));
    assert_eq!(rig.words(), ["stop 0", "revoked 0"]);
    rig.done();
    assert_eq!(rig.words(), ["leave \"m\""]);
    rig.does(ClassicEvent::Left(rig.member.flights.leave.unwrap(), Ok(())));
    assert_eq!(rig.words(), ["Closed"]);
    let fixed = ClassicOptions { instance: Some("one".to_owned()), ..options("range") };
    let mut rig = Rig::stable_with(fixed, &[0]);
    rig.does(ClassicEvent::Close(Duration::from_secs(5))).done();
    assert_eq!(rig.words(), ["stop 0", "revoked 0", "Closed"], "a static member keeps its place");
}

#[test]
fn leaving_that_nobody_heard_is_tried_again_until_the_deadline() {
    let mut rig = Rig::stable("range", &[0]);
    rig.does(ClassicEvent::Close(Duration::from_secs(5))).done().words();
    rig.does(ClassicEvent::Left(rig.member.flights.leave.unwrap(), Err(AnswerFailure)));
    assert_eq!(rig.words(), ["lose coordinator"]);
    rig.does(ClassicEvent::Coordinator);
    assert_eq!(rig.words(), ["leave \"m\""]);
    rig.does(ClassicEvent::Left(rig.member.flights.leave.unwrap(), Err(AnswerFailure)));
    rig.after(5000);
    assert!(rig.member.is_over());
}

#[test]
fn closing_has_an_end_whatever_hangs() {
    let mut rig = Rig::stable("range", &[0]);
    rig.does(ClassicEvent::Close(Duration::from_secs(5))).after(5000);
    assert_eq!(rig.words(), ["stop 0", "revoked 0", "Closed"]);
    rig.done();
    assert!(rig.member.is_over());
}

#[test]
fn a_member_that_is_told_the_same_again_and_again_does_not_spin() {
    for error in [14, 15, 25, 27, 79] {
        let mut rig = Rig::new(options("range"));
        let mut joins = 0;
        for _ in 0..10_000 {
            rig.does(ClassicEvent::Coordinator).does(ClassicEvent::Polled).after(1);
            if let Some(number) = rig.member.flights.join {
                joins += 1;
                let answer = JoinGroupResponse { error_code: error, ..JoinGroupResponse::default() };
                rig.does(ClassicEvent::Joined(number, Ok(answer)));
            }
        }
        assert!((5..40).contains(&joins), "error {error}: {joins} joins in ten seconds");
    }
}
