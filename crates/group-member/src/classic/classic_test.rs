//! A member step by step: what it sends, and what its application is told.

use kafka_assigner_kafka::messages::JoinGroupResponseMember;

use super::rig_test::{Rig, options, partitions, topics};
use super::*;

#[test]
fn a_follower_joins_with_the_id_that_it_is_given() {
    let mut rig = Rig::new(options("range"));
    assert_eq!(rig.words(), ["join \"\""]);
    rig.does(ClassicEvent::Tick);
    assert_eq!(rig.words(), [""; 0], "one join at a time");
    let mut rig = Rig::new(options("range"));
    rig.joined(79, "m", -1, "").joined(0, "m", 5, "other");
    assert_eq!(rig.words()[1..], ["join \"m\"", "sync 5 with 0"]);
    assert_eq!(rig.member.commits_as(), None, "brokers refuse commits now");
    let mut rig = Rig::new(options("range"));
    rig.joined(79, "m", -1, "").joined(0, "m", 5, "other").synced(0, &[0, 1]);
    assert_eq!(rig.words()[3..], ["in 5 leads false", "assigned 0,1"]);
    assert_eq!(rig.member.commits_as().unwrap().generation, 5);
    rig.done();
    assert_eq!(rig.words(), ["start 0,1"]);
}

#[test]
fn a_leader_plans_and_lives_meanwhile() {
    let mut rig = Rig::new(options("range"));
    rig.joined(79, "m", -1, "").joined(0, "m", 2, "m").after(3000);
    assert_eq!(rig.words()[2..], ["plan 2 sent true", "beat 2"]);
    let plan = vec![("m".to_owned(), Vec::new()), ("n".to_owned(), Vec::new())];
    rig.does(ClassicEvent::Planned { generation: 1, plan: Some(plan.clone()) });
    assert_eq!(rig.words(), [""; 0], "a plan for another generation");
    rig.does(ClassicEvent::Planned { generation: 2, plan: Some(plan) });
    assert_eq!(rig.words(), ["sync 2 with 2"]);
}

#[test]
fn a_leader_whose_plan_the_broker_keeps_sends_none_and_compares() {
    let mut rig = Rig::new(options("range"));
    let answer = JoinGroupResponse {
        member_id: "m".to_owned(),
        leader: "m".to_owned(),
        generation_id: 3,
        protocol_name: Some("range".to_owned()),
        skip_assignment: true,
        members: vec![JoinGroupResponseMember::default()],
        ..JoinGroupResponse::default()
    };
    rig.does(ClassicEvent::Joined(rig.number(), Ok(answer)));
    assert_eq!(rig.words()[1..], ["plan 3 sent false", "sync 3 with 0"]);
    let number = RequestNumber(2);
    let synced = SyncGroupResponse::default();
    rig.does(ClassicEvent::Synced(number, Ok(synced))).done().does(ClassicEvent::MetadataChanged);
    assert_eq!(rig.words(), ["in 3 leads true", "assigned ", "join \"m\""]);
}

#[test]
fn an_eager_member_gives_up_everything_before_it_joins_again() {
    let mut rig = Rig::stable("range", &[0, 1]);
    rig.after(3000).beaten(27);
    assert_eq!(rig.words(), ["beat 1", "stop 0,1", "revoked 0,1"]);
    rig.after(3000);
    assert_eq!(rig.words(), ["beat 1"], "it lives while the application finishes");
    rig.done();
    assert_eq!(rig.words(), ["join \"m\""]);
    rig.joined(0, "m", 2, "other").synced(0, &[1]);
    assert_eq!(rig.words()[1..], ["in 2 leads false", "assigned 1"]);
}

#[test]
fn a_cooperative_member_gives_up_only_what_moves_and_joins_again() {
    let mut rig = Rig::stable("cooperative-sticky", &[0, 1]);
    rig.after(3000).beaten(27).joined(0, "m", 2, "other").synced(0, &[1, 2]);
    let expected = ["beat 1", "join \"m\"", "sync 2 with 0", "in 2 leads false", "stop 0", "revoked 0"];
    assert_eq!(rig.words(), expected);
    rig.done();
    assert_eq!(rig.words(), ["assigned 2"]);
    rig.done();
    assert_eq!(rig.words(), ["start 2", "join \"m\""]);
    rig.joined(0, "m", 3, "other").synced(0, &[1, 2]).done();
    assert_eq!(rig.words()[1..], ["in 3 leads false", "assigned "], "nothing moves, so it is over");
}

#[test]
fn a_cooperative_member_gives_up_topics_that_it_left_before_it_joins() {
    let mut rig = Rig::stable("cooperative-sticky", &[0, 1]);
    rig.does(ClassicEvent::Subscribed(topics(&["u"])));
    assert_eq!(rig.words(), ["stop 0,1", "revoked 0,1"]);
    rig.done();
    assert_eq!(rig.words(), ["join \"m\""]);
}

#[test]
fn a_generation_that_is_over_keeps_the_id_and_a_member_that_is_unknown_does_not() {
    for (error, id) in [(22, "\"m\""), (25, "\"\"")] {
        let mut rig = Rig::stable("range", &[0]);
        rig.after(3000).beaten(error);
        assert_eq!(rig.words(), ["beat 1", "stop 0", "lost 0"]);
        assert_eq!(rig.member.commits_as(), None);
        rig.done();
        assert_eq!(rig.words(), [format!("join {id}")]);
    }
}

#[test]
fn an_answer_of_another_generation_changes_nothing() {
    let mut rig = Rig::stable("cooperative-sticky", &[0]);
    rig.after(3000);
    let old = rig.number();
    rig.does(ClassicEvent::MetadataChanged).joined(0, "m", 2, "other").synced(0, &[0]).done();
    rig.words();
    let unknown = GroupHeartbeatResponse { throttle_time_ms: 0, error_code: 25 };
    rig.does(ClassicEvent::Beaten(old, Ok(unknown)));
    assert_eq!(rig.words(), [""; 0]);
    assert_eq!(rig.member.commits_as().unwrap().generation, 2);
}

#[test]
fn a_request_that_comes_up_on_the_way_is_fulfilled_after_the_plan() {
    let mut rig = Rig::new(options("cooperative-sticky"));
    rig.joined(79, "m", -1, "").does(ClassicEvent::MetadataChanged).joined(0, "m", 1, "m");
    rig.does(ClassicEvent::Planned { generation: 1, plan: Some(Vec::new()) }).synced(0, &[0]).done();
    let words = rig.words();
    assert_eq!(
        words[2..],
        ["plan 1 sent true", "sync 1 with 0", "in 1 leads true", "assigned 0", "start 0", "join \"m\""]
    );
    rig.joined(0, "m", 2, "other").synced(27, &[]);
    rig.said.clear();
    rig.after(100);
    assert!(rig.member.rejoin.is_open(), "no plan has come");
}

#[test]
fn a_sync_that_fails_by_a_rebalance_keeps_what_is_owned() {
    let mut rig = Rig::stable("cooperative-sticky", &[0]);
    rig.after(3000).beaten(27).joined(0, "m", 2, "other").synced(27, &[]);
    assert_eq!(rig.words(), ["beat 1", "join \"m\"", "sync 2 with 0", "join \"m\""]);
    assert_eq!(rig.member.owned(), Some(&partitions(&[0])));
    let mut rig = Rig::stable("cooperative-sticky", &[0]);
    rig.after(3000).beaten(27).joined(0, "m", 2, "other").synced(22, &[]);
    assert_eq!(rig.words()[3..], ["stop 0", "lost 0"]);
    assert_eq!(rig.member.owned(), Some(&BTreeSet::new()));
}

#[test]
fn a_refused_commit_tells_of_a_membership_that_is_over_sooner_than_a_heartbeat() {
    let own = |rig: &Rig| rig.member.commits_as().cloned().unwrap();
    for (error, expected) in [
        (22, &["stop 0", "lost 0"][..]),
        (25, &["stop 0", "lost 0"]),
        (27, &["join \"m\""]),
        (16, &["lose coordinator"]),
        (14, &[]),
        (12, &[]),
    ] {
        let mut rig = Rig::stable("cooperative-sticky", &[0]);
        let asked = own(&rig);
        rig.does(ClassicEvent::CommitRefused(asked, KafkaError(error)));
        assert_eq!(rig.words(), expected, "{error}");
    }
    let mut rig = Rig::stable("cooperative-sticky", &[0]);
    let old = Membership { generation: 0, ..own(&rig) };
    rig.does(ClassicEvent::CommitRefused(old, KafkaError::UNKNOWN_MEMBER));
    assert_eq!(rig.words(), [""; 0], "a commit of an older generation says nothing of this one");
}
