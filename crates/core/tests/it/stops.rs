//! Partitions that stand before a record: who gets them, and how an operator lets them go on.

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::counts::{counts, is_owned};
use kafka_assigner_core::explain::explain;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::{DeferReason, Reason};
use kafka_assigner_core::record::{Assignment, GroupConfig, Phase, Resumed, Stop, encode};
use kafka_assigner_core::session::{Leaving, nobody_takes};
use kafka_assigner_core::stops::{self, NotResumed, StopReport};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::{Role, role};
use kafka_assigner_types::id::{Epoch, Member, Offset, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::stops::MOST_STOPPED;

fn at() -> TopicPartition {
    tp("t", 0)
}

fn assignment(group: &TestGroup) -> &Assignment {
    group.state.assignment(&at()).expect("it was granted")
}

fn stop(group: &TestGroup) -> Option<&Stop> {
    assignment(group).stop.as_ref()
}

fn causes(group: &TestGroup) -> String {
    let plan = group.plan();
    explain(&group.state, &at(), Ok(&plan)).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// `a` owns the one partition of `t`, and stands before the record at offset 5.
fn first_stop(mode: Mode) -> (TestGroup, Member) {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.configure(&GroupConfig { mode, ..GroupConfig::default() });
    let a = group.join("a");
    group.settle();
    assert_eq!(group.report_stopped(&a, &[(at(), 5)]), 1);
    (group, a)
}

/// `b` has it after `a`, whose session is over, and stopped before the same record.
fn second_stop(mode: Mode) -> (TestGroup, Member) {
    let (mut group, _) = first_stop(mode);
    group.crash("a");
    let b = group.join("b");
    group.later(Duration::from_secs(60));
    group.settle();
    assert_eq!(group.owner(&at()), Some("b"), "the first stop holds nothing up");
    assert_eq!(group.report_stopped(&b, &[(at(), 5)]), 1);
    (group, b)
}

#[test]
fn the_first_owner_that_stops_keeps_its_partition() {
    let (mut group, a) = first_stop(Mode::Overlap);
    assert_eq!(stops::standing(&group.state, &at()).map(|stop| stop.offset.get()), Some(5));
    assert!(group.pass().is_empty());
    assert_eq!(group.owner(&at()), Some("a"));
    assert!(
        causes(&group).contains("a stands before the record at offset 5: it can't be read."),
        "{}",
        causes(&group)
    );
    let counted = counts(&group.state);
    assert_eq!((counted.standing, counted.held), (1, 0));
    assert_eq!(group.report_stopped(&a, &[(at(), 5)]), 0, "a repeated report changes nothing");
}

#[test]
fn an_owner_that_reports_it_no_more_goes_on() {
    let (mut group, a) = first_stop(Mode::Overlap);
    assert_eq!(group.report_stopped(&a, &[]), 1);
    assert_eq!(stop(&group), None);
    assert_eq!(group.report_stopped(&a, &[]), 0);
}

#[test]
fn reports_count_only_from_the_owner_under_its_epoch() {
    let (mut group, a) = first_stop(Mode::Overlap);
    group.report_stopped(&a, &[]);
    let b = group.join("b");
    assert_eq!(group.report_stopped(&b, &[(at(), 5)]), 0, "not its own");
    let held = assignment(&group).held_epoch();
    let report = |epoch| {
        let report =
            StopReport { at: at(), epoch, offset: Offset::ZERO, reason: String::new(), is_of_drain: false };
        stops::report(&group.state, &a, &[report], WallMillis(0)).len()
    };
    assert_eq!(report(Epoch(held.0 - 1)), 0, "what it said of an earlier grant");
    assert_eq!((report(held), report(Epoch(0))), (1, 1));
}

#[test]
fn a_reason_is_bounded() {
    let (group, a) = first_stop(Mode::Overlap);
    let epoch = assignment(&group).held_epoch();
    let reason = "x".repeat(Stop::MOST_REASON + 1);
    let long = StopReport { at: at(), epoch, offset: Offset::ZERO, reason, is_of_drain: false };
    let mut group = group;
    let writes = stops::report(&group.state, &a, &[long], WallMillis(0));
    assert!(group.apply(&writes[0].clone().unfenced()));
    assert_eq!(stop(&group).map(|stop| stop.reason.len()), Some(Stop::MOST_REASON));
}

#[test]
fn a_reason_is_one_line() {
    let (mut group, a) = first_stop(Mode::Overlap);
    let (epoch, offset) = (assignment(&group).held_epoch(), Offset::ZERO);
    let reason = "no\namount\u{1b}[31m\tat all".to_owned();
    let report = StopReport { at: at(), epoch, offset, reason, is_of_drain: false };
    let writes = stops::report(&group.state, &a, &[report], WallMillis(0));
    assert!(group.apply(&writes[0].clone().unfenced()));
    assert_eq!(stop(&group).map(|stop| &*stop.reason), Some("no amount [31m at all"));
}

#[test]
fn what_a_full_report_has_no_room_for_stays_held() {
    let (mut group, b) = second_stop(Mode::Overlap);
    let others = |count: u32| -> Vec<(TopicPartition, i64)> {
        (1..=count).map(|partition| (tp("t", partition), 9)).collect()
    };
    let full = u32::try_from(MOST_STOPPED).expect("it fits");
    assert_eq!(group.report_stopped(&b, &others(full)), 0, "it may have been left out");
    let mut more = others(full);
    more.push((at(), 9));
    assert_eq!(group.report_stopped(&b, &more), 0, "nor is more than that heeded");
    assert!(stop(&group).expect("it stands").is_last());
    assert_eq!(group.report_stopped(&b, &others(full - 1)), 1, "with room for it, it goes on");
    assert_eq!(stop(&group), None);
}

#[test]
fn a_stopped_partition_moves_and_the_new_owner_has_its_try() {
    for mode in Mode::ALL {
        let (mut group, _) = first_stop(mode);
        group.topic("t", 2);
        group.join("b");
        group.settle();
        let moved = if group.owner(&at()) == Some("b") { at() } else { tp("t", 1) };
        assert_eq!(group.owner(&moved), Some("b"), "{mode}");
        let (mut group, a) = first_stop(mode);
        group.join("b");
        assert!(group.leave(&a, &Leaving::Drain));
        group.settle();
        assert_eq!(group.owner(&at()), Some("b"), "{mode}: a drain moves it");
        assert!(stop(&group).is_some(), "{mode}: its mark stays over moves");
        assert_eq!(stops::standing(&group.state, &at()), None, "{mode}: it does not stand now");
        assert!(causes(&group).contains("Its earlier owner a stopped"), "{}", causes(&group));
    }
}

#[test]
fn a_restart_of_the_same_consumer_is_no_second_owner() {
    let (mut group, _) = first_stop(Mode::Overlap);
    group.crash("a");
    let again = group.join("a");
    group.settle();
    group.report_stopped(&again, &[(at(), 5)]);
    assert!(!stop(&group).expect("it stands").is_last());
}

#[test]
fn another_record_is_another_stop() {
    let (mut group, b) = second_stop(Mode::Overlap);
    assert!(stop(&group).expect("it stands").is_last());
    assert_eq!(group.report_stopped(&b, &[(at(), 6)]), 1);
    assert!(!stop(&group).expect("it stands").is_last());
}

#[test]
fn after_the_second_owner_nobody_is_granted_it() {
    for mode in Mode::ALL {
        let (mut group, b) = second_stop(mode);
        group.join("c");
        group.settle();
        assert_eq!(group.owner(&at()), Some("b"), "{mode}: it stays with the second one");
        assert!(group.leave(&b, &Leaving::Drain));
        group.settle();
        assert_eq!(group.owner(&at()), Some("b"), "{mode}: nobody takes it over");
        assert!(nobody_takes(&group.state, &b), "{mode}: so the drain does not wait");
        group.crash("b");
        group.later(Duration::from_secs(3_600));
        group.settle();
        assert_eq!(group.owner(&at()), Some("b"), "{mode}: whose session is over");
        assert!(
            group.plan().deferred.iter().any(|it| matches!(it.why, DeferReason::Stopped { .. })),
            "{mode}"
        );
        assert!(
            causes(&group).contains("a and then b stopped before the record at offset 5"),
            "{}",
            causes(&group)
        );
        assert_eq!(counts(&group.state).held, 1, "{mode}");
        group.join("b");
        group.settle();
        assert!(!is_owned(&group.state, &at()), "{mode}: nor does its own name come back to it");
    }
}

#[test]
fn a_drain_waits_for_what_can_move_beside_what_stands() {
    let (mut group, b) = second_stop(Mode::Overlap);
    group.topic("t", 2);
    group.settle();
    group.join_as("c", |consumer| consumer.max_partitions = Some(0));
    assert!(group.leave(&b, &Leaving::Drain));
    assert!(!nobody_takes(&group.state, &b), "c may take the other partition");
}

#[test]
fn an_operator_resumes_it_for_any_owner() {
    for mode in Mode::ALL {
        for skip in [false, true] {
            let (mut group, _) = second_stop(mode);
            group.crash("b");
            group.join("c");
            group.later(Duration::from_secs(60));
            group.settle();
            assert!(group.resume(&at(), skip));
            assert!(causes(&group).contains("it is being resumed"), "{}", causes(&group));
            group.settle();
            assert_eq!(group.owner(&at()), Some("c"), "{mode}");
            assert_eq!(stop(&group), None, "{mode}");
            assert_eq!(assignment(&group).skip.map(Offset::get), skip.then_some(5), "{mode}");
        }
    }
}

#[test]
fn an_operator_resumes_it_for_the_owner_that_stands() {
    for mode in Mode::ALL {
        let (mut group, b) = second_stop(mode);
        let before = assignment(&group).clone();
        assert!(group.resume(&at(), true));
        assert_eq!(group.report_stopped(&b, &[(at(), 5)]), 0, "{mode}: it has not heard of it yet");
        assert_eq!(group.report_stopped(&b, &[]), 0, "{mode}: the command is not lost");
        group.pass();
        let Some(Role::Owner { epoch, run, skip, .. }) = role(&group.state, &b, &at()) else {
            panic!("{mode}")
        };
        assert!(epoch > before.held_epoch(), "{mode}: it is told so");
        assert_eq!((run, skip.map(Offset::get)), (before.run(), Some(5)), "{mode}: it keeps its state");
        assert_eq!((stop(&group), &assignment(&group).why), (None, &Reason::Resumed), "{mode}");
        let stale = StopReport {
            at: at(),
            epoch: before.held_epoch(),
            offset: Offset::new(5).unwrap(),
            reason: String::new(),
            is_of_drain: false,
        };
        assert!(stops::report(&group.state, &b, &[stale], WallMillis(0)).is_empty(), "{mode}: late words");
    }
}

#[test]
fn a_resumption_has_it_planned_without_a_tick() {
    let (mut group, _) = second_stop(Mode::Overlap);
    group.follow(Duration::from_secs(11));
    assert!(group.resume(&at(), false));
    let done = group.follow(Duration::from_secs(2));
    assert!(!done.is_empty(), "within the debounce");
}

/// `b` owns it and is to skip offset 5, of which it may not have heard yet.
fn to_be_skipped(mode: Mode) -> (TestGroup, Member) {
    let (mut group, b) = second_stop(mode);
    group.resume(&at(), true);
    group.settle();
    assert_eq!(assignment(&group).skip.map(Offset::get), Some(5), "{mode}");
    (group, b)
}

#[test]
fn what_is_to_be_skipped_stays_so_over_moves_and_crashes() {
    for mode in Mode::ALL {
        let (mut group, b) = to_be_skipped(mode);
        group.join("c");
        assert!(group.leave(&b, &Leaving::Drain));
        group.settle();
        assert_eq!((group.owner(&at()), stop(&group)), (Some("c"), None), "{mode}");
        assert_eq!(assignment(&group).skip.map(Offset::get), Some(5), "{mode}: c has not passed it over");
        group.crash("c");
        group.join("d");
        group.later(Duration::from_secs(60));
        group.settle();
        assert_eq!(group.owner(&at()), Some("d"), "{mode}");
        assert_eq!(assignment(&group).skip.map(Offset::get), Some(5), "{mode}: nor may c have");
    }
}

#[test]
fn what_was_skipped_is_forgotten_with_a_start_behind_it() {
    for (next, skipped) in [(5, Some(5)), (6, None)] {
        let (mut group, b) = to_be_skipped(Mode::Exclusive);
        let c = group.join("c");
        assert!(group.leave(&b, &Leaving::Drain));
        group.pass();
        let handoff = group.state.handoff(&at()).expect("it moves").id.clone();
        group.say(&c, &at(), Some(&handoff), &Ack::Ready);
        group.pass();
        let next = Offset::new(next).expect("an offset");
        let drained = Drained { offset: Some(next), ..Drained::default() };
        group.say(&b, &at(), Some(&handoff), &Ack::Drained(drained));
        group.settle();
        assert_eq!((group.owner(&at()), assignment(&group).start), (Some("c"), Some(next)));
        assert_eq!(assignment(&group).skip.map(Offset::get), skipped, "{next}");
    }
}

#[test]
fn the_last_command_about_a_record_counts() {
    let (mut group, b) = to_be_skipped(Mode::Overlap);
    assert_eq!(group.report_stopped(&b, &[(at(), 5)]), 1, "it tried it in spite of that");
    assert!(group.resume(&at(), false));
    group.settle();
    assert_eq!((stop(&group), assignment(&group).skip), (None, None), "it is tried again");
}

#[test]
fn only_what_stands_is_resumed() {
    let (mut group, a) = first_stop(Mode::Overlap);
    assert_eq!(stops::resume(&group.state, &tp("t", 7), false), Err(NotResumed::NotStopped));
    let resumption = stops::resume(&group.state, &at(), true).expect("it stands");
    assert!(group.apply(&resumption.write.expect("news").unfenced()));
    assert_eq!(stops::resume(&group.state, &at(), true).map(|it| it.write), Ok(None), "as commanded before");
    let again = stops::resume(&group.state, &at(), false).expect("it stands");
    assert_eq!(again.stop.resumed, Some(Resumed::Skip));
    assert!(again.write.is_some(), "the last command counts");
    group.settle();
    assert_eq!(stops::resume(&group.state, &at(), false), Err(NotResumed::NotStopped));
    let offset = Offset::new(3).unwrap();
    let not_begun =
        StopReport { at: at(), epoch: Epoch(0), offset, reason: String::new(), is_of_drain: false };
    let writes = stops::report(&group.state, &a, &[not_begun], WallMillis(0));
    assert!(group.apply(&writes[0].clone().unfenced()));
    assert_eq!(stops::resume(&group.state, &at(), true), Err(NotResumed::NotBegun { offset }));
    assert!(stops::resume(&group.state, &at(), false).is_ok());
}

/// Reports of `member` that its partition stands at offset 5; how many of them are news, and whether the record could be skipped.
fn stands(group: &mut TestGroup, member: &Member, is_of_drain: bool) -> (usize, Result<(), NotResumed>) {
    let (epoch, offset) = (assignment(group).held_epoch(), Offset::new(5).unwrap());
    let report = StopReport { at: at(), epoch, offset, reason: "no disk".to_owned(), is_of_drain };
    let writes = stops::report(&group.state, member, &[report], WallMillis(9));
    assert!(writes.iter().all(|write| group.apply(&write.clone().unfenced())));
    (writes.len(), stops::resume(&group.state, &at(), true).map(drop))
}

/// The record at its offset is one that the next try processes.
#[test]
fn no_record_is_skipped_where_a_drain_failed_and_none_did() {
    let (mut group, a) = first_stop(Mode::Overlap);
    group.report_stopped(&a, &[]);
    let offset = Offset::new(5).unwrap();
    assert_eq!(stands(&mut group, &a, true), (1, Err(NotResumed::NotARecord { offset })));
    assert_eq!(stands(&mut group, &a, true).0, 0);
    assert!(stops::resume(&group.state, &at(), false).is_ok());
    assert_eq!(stands(&mut group, &a, false), (1, Ok(())), "the record failed");
    assert_eq!(stands(&mut group, &a, true), (0, Ok(())), "it has failed, whatever became of a drain");
}

#[test]
fn a_drain_that_fails_meanwhile_takes_no_command_back() {
    let (mut group, a) = first_stop(Mode::Overlap);
    assert!(group.resume(&at(), true));
    assert_eq!(stands(&mut group, &a, true).0, 0);
    assert_eq!(stop(&group).and_then(|stop| stop.resumed.clone()), Some(Resumed::Skip));
}

#[test]
fn who_could_not_end_its_work_is_none_of_the_two_that_tried_the_record() {
    let (mut group, a) = first_stop(Mode::Overlap);
    group.report_stopped(&a, &[]);
    assert_eq!(stands(&mut group, &a, true).0, 1);
    group.crash("a");
    let b = group.join("b");
    group.settle();
    assert_eq!(stands(&mut group, &b, false).0, 1);
    assert_eq!(stop(&group).and_then(|stop| stop.earlier.clone()), None, "it is the first one that tried");
}

#[test]
fn a_set_is_held_as_one() {
    let mut group = TestGroup::default();
    ["t", "u"].iter().for_each(|topic| group.topic_in_set(topic, 1, "s"));
    for name in ["a", "b"] {
        let member = group.join(name);
        group.settle();
        group.report_stopped(&member, &[(at(), 5)]);
        group.crash(name);
    }
    group.join("c");
    group.settle();
    assert!(!is_owned(&group.state, &at()) && !is_owned(&group.state, &tp("u", 0)));
    assert!(group.resume(&at(), false));
    group.settle();
    assert_eq!((group.owner(&at()), group.owner(&tp("u", 0))), (Some("c"), Some("c")));
}

/// The report comes between the word of the old owner and the state on which it is judged.
#[test]
fn a_drain_that_is_recorded_after_the_second_stop_grants_nobody() {
    let (mut group, b) = second_stop(Mode::Exclusive);
    let of_both = stop(&group).expect("it stands").clone();
    group.report_stopped(&b, &[]);
    let c = group.join("c");
    assert!(group.leave(&b, &Leaving::Drain));
    group.pass();
    let handoff = group.state.handoff(&at()).expect("it moves").clone();
    group.say(&c, &at(), Some(&handoff.id), &Ack::Ready);
    // The mark of `a` as it was before `b` stopped too.
    let of_a = Stop { consumer: "a".parse().unwrap(), earlier: None, ..of_both };
    let marked = Assignment { stop: Some(of_a), ..assignment(&group).clone() };
    group.put(&Key::Assignment(at()), encode(&marked));
    let report = StopReport {
        at: at(),
        epoch: assignment(&group).held_epoch(),
        offset: Offset::new(5).unwrap(),
        reason: String::new(),
        is_of_drain: false,
    };
    let late = stops::report(&group.state, &b, &[report], WallMillis(0));
    group.pass();
    assert_eq!(group.state.handoff(&at()).map(|handoff| handoff.phase), Some(Phase::Draining));
    assert!(group.apply(&late[0].clone().unfenced()), "guarded on its record, which no step has changed");
    group.say(&b, &at(), Some(&handoff.id), &Ack::Drained(Drained::default()));
    assert_eq!(group.owner(&at()), Some("b"));
    group.settle();
    assert_eq!(group.owner(&at()), Some("b"), "the move is called off");
}

#[test]
fn a_topic_that_came_back_stands_nowhere() {
    let (mut group, _) = first_stop(Mode::Exclusive);
    group.remove(&Key::Topic("t".parse().unwrap()));
    group.topic("t", 1);
    group.settle();
    assert_eq!((group.owner(&at()), stop(&group)), (Some("a"), None));
    let (mut group, _) = to_be_skipped(Mode::Exclusive);
    group.remove(&Key::Topic("t".parse().unwrap()));
    group.topic("t", 1);
    group.settle();
    assert_eq!((group.owner(&at()), assignment(&group).skip), (Some("b"), None), "nor is anything skipped");
}
