//! Grants that their owners have not begun: what is told of them, and when they may be moved.

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::action::Step;
use kafka_assigner_core::begun::{GrantStage, StreamReach, ToldGrants, grant_stage};
use kafka_assigner_core::counts::{GRANTED, counts};
use kafka_assigner_core::explain::explain;
use kafka_assigner_core::reason::Reason;
use kafka_assigner_core::record::{
    Assignment, BegunReport, Extra, GroupConfig, Handoff, Phase, Taken, UnbegunGrant, UnbegunReason,
};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;

const WARM_DEADLINE: Duration = Duration::from_secs(300);

fn at() -> TopicPartition {
    tp("t", 0)
}

fn unbegun(why: UnbegunReason) -> (TopicPartition, UnbegunReason, u64) {
    (at(), why, 0)
}

fn assignment(group: &TestGroup) -> &Assignment {
    group.state.assignment(&at()).expect("it was granted")
}

fn handoff(group: &TestGroup) -> Option<&Handoff> {
    group.state.handoff_of(&at())
}

fn causes(group: &TestGroup) -> String {
    let plan = group.plan();
    explain(&group.state, &at(), Ok(&plan)).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// A consumer that tells what it has not begun.
fn join(group: &mut TestGroup, name: &str) -> Member {
    group.join_as(name, |consumer| consumer.begun = Some(BegunReport::default()))
}

/// `a` owns the one partition of `t`, and says that it has not begun it. `b` is there, and owns nothing.
fn not_begun(mode: Mode, why: UnbegunReason) -> (TestGroup, Member, Member) {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.configure(&GroupConfig { mode, ..GroupConfig::default() });
    let a = join(&mut group, "a");
    group.settle();
    let b = join(&mut group, "b");
    group.settle();
    // Its time must not end with a look that the leader makes anyhow.
    group.follow(Duration::from_millis(3_500));
    assert!(group.report_unbegun(&a, &[unbegun(why)]));
    group.settle();
    assert_eq!(group.owner(&at()), Some("a"));
    (group, a, b)
}

#[test]
fn a_grant_is_shown_as_such_until_a_report_covers_it() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    let a = join(&mut group, "a");
    group.settle();
    assert_eq!(grant_stage(&group.state, &at()), Some(GrantStage::Granted));
    assert_eq!(counts(&group.state).not_begun, [(GRANTED, 1)].into());
    assert!(causes(&group).contains("It is granted, and a has not said yet that it has begun."));
    assert!(group.report_unbegun(&a, &[unbegun(UnbegunReason::Preparing)]));
    assert!(matches!(grant_stage(&group.state, &at()), Some(GrantStage::NotBegun(_))));
    assert_eq!(counts(&group.state).not_begun, [("preparing", 1)].into());
    assert!(causes(&group).contains("a has not begun it: its state is being built."), "{}", causes(&group));
    assert!(group.report_unbegun(&a, &[]));
    assert_eq!(grant_stage(&group.state, &at()), Some(GrantStage::Begun));
    assert!(counts(&group.state).not_begun.is_empty());
    assert!(!group.report_unbegun(&a, &[]), "at rest nothing is written");
}

#[test]
fn nothing_is_known_of_an_owner_that_does_not_tell() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.join("a");
    group.settle();
    assert_eq!(grant_stage(&group.state, &at()), None);
    assert!(counts(&group.state).not_begun.is_empty());
}

#[test]
fn a_report_covers_what_its_stream_had_told() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    let a = join(&mut group, "a");
    group.settle();
    let first = group.state.revision();
    group.topic("u", 1);
    group.settle();
    let reach = |revision| ToldGrants {
        told: StreamReach::UpTo(revision),
        named: Vec::new(),
        unnamed: 0,
        uncommitted: None,
    };
    assert!(group.report_grants(&a, reach(first)));
    let stage =
        |group: &TestGroup, topic| grant_stage(&group.state, &tp(topic, 0)).map(|stage| format!("{stage:?}"));
    assert_eq!(stage(&group, "t").as_deref(), Some("Begun"));
    assert_eq!(stage(&group, "u").as_deref(), Some("Granted"), "it had not been told of it");
    assert!(group.report_grants(&a, reach(group.state.revision())));
    assert_eq!(stage(&group, "u").as_deref(), Some("Begun"));
    let deaf =
        ToldGrants { told: StreamReach::UpTo(Revision(0)), named: Vec::new(), unnamed: 0, uncommitted: None };
    assert!(group.report_grants(&a, deaf));
    assert_eq!(stage(&group, "t").as_deref(), Some("Granted"), "it has heard of nothing");
}

#[test]
fn where_not_all_are_named_nothing_counts_as_begun() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    let a = join(&mut group, "a");
    group.settle();
    assert!(group.report_unbegun(&a, &[]));
    let told = ToldGrants { told: StreamReach::Everything, named: Vec::new(), unnamed: 1, uncommitted: None };
    assert!(group.report_grants(&a, told));
    assert_eq!(grant_stage(&group.state, &at()), Some(GrantStage::Granted));
}

#[test]
fn of_what_a_consumer_does_not_own_nothing_is_taken_in() {
    let (mut group, a, b) = not_begun(Mode::Overlap, UnbegunReason::Preparing);
    let named = |group: &TestGroup, member: &Member| {
        let registration = group.state.registration(&member.name).expect("it is here");
        registration.begun.as_ref().map_or(0, BegunReport::count)
    };
    group.report_unbegun(&b, &[unbegun(UnbegunReason::Preparing)]);
    assert_eq!((named(&group, &a), named(&group, &b)), (1, 0));
    let entry = |epoch: Epoch| {
        let (why, message) = (UnbegunReason::Failing, format!("\n{}", "x".repeat(500)));
        (at(), UnbegunGrant { epoch, why, message, done: 0, total: None, extra: Extra::new() })
    };
    let held = assignment(&group).held_epoch();
    let told = |epoch| ToldGrants {
        told: StreamReach::Everything,
        named: vec![entry(epoch)],
        unnamed: 0,
        uncommitted: None,
    };
    assert!(
        group.report_grants(&a, told(Epoch(held.0 - 1))),
        "an earlier grant: what was named is not any more"
    );
    assert_eq!(named(&group, &a), 0);
    assert!(group.report_grants(&a, told(held)));
    let Some(GrantStage::NotBegun(kept)) = grant_stage(&group.state, &at()) else { panic!("it is named") };
    assert_eq!(kept.message.len(), UnbegunGrant::MOST_MESSAGE);
    assert!(kept.message.starts_with(" x"), "in one line: {:?}", kept.message);
}

#[test]
fn a_grant_that_does_not_begin_in_time_moves_by_an_ordinary_handoff() {
    let (mut group, a, b) = not_begun(Mode::Overlap, UnbegunReason::Failing);
    assert!(group.follow(WARM_DEADLINE - Duration::from_secs(1)).is_empty(), "it has its time");
    let epoch = assignment(&group).held_epoch();
    let done = group.follow(Duration::from_secs(2));
    assert!(matches!(&done[..], [(_, action)] if matches!(action.step, Step::Begin { .. })), "{done:?}");
    let moving = handoff(&group).expect("it moves");
    assert_eq!((&moving.old, &moving.new, moving.phase), (&a, &b, Phase::Warming));
    assert_eq!(moving.why, Reason::NotBegun { owner: a.name.clone() });
    assert_eq!((group.owner(&at()), assignment(&group).held_epoch()), (Some("a"), epoch), "nobody takes it");
    let id = moving.id.clone();
    group.say(&b, &at(), Some(&id), &Ack::Ready);
    group.pass();
    assert_eq!(group.owner(&at()), Some("b"));
    group.say(&b, &at(), Some(&id), &Ack::Taken(Taken::default()));
    group.say(&a, &at(), Some(&id), &Ack::Released { last_at: None });
    group.settle();
    assert!(
        assignment(&group).avoid.iter().any(|avoid| avoid.consumer == a.name),
        "it does not go back at once"
    );
    assert_eq!((group.owner(&at()), handoff(&group)), (Some("b"), None));
}

#[test]
fn in_a_strict_mode_it_moves_with_its_drain() {
    let (mut group, a, b) = not_begun(Mode::Exclusive, UnbegunReason::Failing);
    group.follow(WARM_DEADLINE + Duration::from_secs(1));
    let id = handoff(&group).expect("it moves").id.clone();
    group.say(&b, &at(), Some(&id), &Ack::Ready);
    group.follow(Duration::from_secs(1));
    assert_eq!(handoff(&group).map(|handoff| handoff.phase), Some(Phase::Draining));
    assert_eq!(group.owner(&at()), Some("a"), "it may act until it has said where it stopped");
    group.say(&a, &at(), Some(&id), &Ack::Drained(Drained { offset: None, last_at: None }));
    group.pass();
    assert_eq!(group.owner(&at()), Some("b"));
}

#[test]
fn where_nobody_else_may_have_it_the_grant_stays() {
    let (mut group, a, _) = not_begun(Mode::Overlap, UnbegunReason::Failing);
    group.join_as("b", |consumer| consumer.topics = ["u".parse().unwrap()].into());
    let granted = assignment(&group).clone();
    group.follow(WARM_DEADLINE * 3);
    assert_eq!(*assignment(&group), granted);
    assert!(
        causes(&group).contains("a has not begun it: it failed and is tried again."),
        "{}",
        causes(&group)
    );
    assert_eq!(handoff(&group), None);
    join(&mut group, "c");
    group.follow(Duration::from_secs(1));
    assert_eq!(handoff(&group).map(|handoff| (&handoff.old, handoff.new.name.as_str())), Some((&a, "c")));
}

#[test]
fn where_all_others_are_full_it_stays_and_says_why() {
    let mut group = TestGroup::with_topics(&[("t", 1), ("u", 1)]);
    let a = group.join_as("a", |consumer| {
        consumer.begun = Some(BegunReport::default());
        consumer.topics = ["t".parse().unwrap()].into();
    });
    group.settle();
    group.join_as("b", |consumer| consumer.max_partitions = Some(1));
    group.settle();
    assert_eq!(group.owner(&tp("u", 0)), Some("b"), "which is all that it takes");
    assert!(group.report_unbegun(&a, &[unbegun(UnbegunReason::Failing)]));
    group.follow(WARM_DEADLINE * 2);
    assert_eq!((group.owner(&at()), handoff(&group)), (Some("a"), None));
    assert!(group.plan().deferred.iter().any(|deferral| deferral.unit.contains(&at())));
}

/// All partitions of `t` that `owner` has, as ones that fail to begin.
fn all_of(group: &TestGroup, owner: &str) -> Vec<(TopicPartition, UnbegunReason, u64)> {
    let owned = group.state.assignments().keys().filter(|at| group.owner(at) == Some(owner));
    owned.map(|at| (at.clone(), UnbegunReason::Failing, 0)).collect()
}

fn moves(group: &TestGroup) -> Vec<(String, String)> {
    let moving = group.state.assignments().keys().filter_map(|at| group.state.handoff_of(at));
    moving.map(|handoff| (handoff.old.name.to_string(), handoff.new.name.to_string())).collect()
}

#[test]
fn who_has_not_begun_what_it_has_is_given_nothing_in_exchange() {
    let mut group = TestGroup::with_topics(&[("t", 10)]);
    let a = join(&mut group, "a");
    join(&mut group, "b");
    group.settle();
    let late = all_of(&group, "a");
    assert_eq!(late.len(), 5);
    assert!(group.report_unbegun(&a, &late));
    group.follow(WARM_DEADLINE + Duration::from_secs(1));
    assert_eq!(moves(&group), vec![("a".to_owned(), "b".to_owned()); 5], "b keeps what it has begun");
}

#[test]
fn where_more_than_one_of_a_few_do_not_begin_nothing_moves() {
    let mut group = TestGroup::with_topics(&[("t", 9)]);
    let [a, b] = ["a", "b"].map(|name| join(&mut group, name));
    join(&mut group, "c");
    group.settle();
    for (member, name) in [(&a, "a"), (&b, "b")] {
        let late = all_of(&group, name);
        assert!(group.report_unbegun(member, &late));
    }
    group.follow(WARM_DEADLINE * 2);
    assert_eq!(moves(&group), [], "what they need is away, and would be for c as well");
}

#[test]
fn who_does_not_begin_again_and_again_is_passed_over_for_longer() {
    let (mut group, a, b) = not_begun(Mode::Overlap, UnbegunReason::Failing);
    group.follow(WARM_DEADLINE + Duration::from_secs(1));
    let id = handoff(&group).expect("it moves").id.clone();
    group.say(&b, &at(), Some(&id), &Ack::Ready);
    group.pass();
    let avoid = &assignment(&group).avoid[0];
    assert_eq!(
        (avoid.consumer.clone(), avoid.for_ms),
        (a.name.clone(), 300_000),
        "as long as it had time to begin"
    );
    let again = assignment(&group).given_up_by(&b, 300_000).given_up_by(&a, 300_000);
    let spans: Vec<_> = again.avoid.iter().map(|avoid| (avoid.consumer.as_str(), avoid.for_ms)).collect();
    assert_eq!(spans, [("b", 300_000), ("a", 600_000)]);
    assert_eq!(again.given_up_by(&a, u64::MAX).avoid[1].for_ms, 3_600_000);
}

#[test]
fn progress_gives_it_its_time_anew() {
    let (mut group, a, _) = not_begun(Mode::Overlap, UnbegunReason::Preparing);
    for done in 1..=4 {
        group.follow(WARM_DEADLINE - Duration::from_secs(1));
        assert!(group.report_unbegun(&a, &[(at(), UnbegunReason::Preparing, done)]));
    }
    assert_eq!(handoff(&group), None);
    group.follow(WARM_DEADLINE + Duration::from_secs(1));
    assert!(handoff(&group).is_some());
}

#[test]
fn failing_again_and_again_is_no_progress() {
    let (mut group, a, _) = not_begun(Mode::Overlap, UnbegunReason::Failing);
    for n in 0..6 {
        let why = if n % 2 == 0 { UnbegunReason::Preparing } else { UnbegunReason::Failing };
        group.report_unbegun(&a, &[(at(), why, 1)]);
        group.follow(Duration::from_secs(60));
    }
    assert!(handoff(&group).is_some(), "once for the stage and the amount, and no more");
}

#[test]
fn a_first_record_has_the_time_of_a_record() {
    let (mut group, a, _) = not_begun(Mode::Overlap, UnbegunReason::Preparing);
    group.configure(&GroupConfig { drain_deadline_ms: 900_000, ..GroupConfig::default() });
    assert!(group.report_unbegun(&a, &[unbegun(UnbegunReason::Starting)]));
    group.follow(Duration::from_secs(899));
    assert_eq!(handoff(&group), None);
    group.follow(Duration::from_secs(2));
    assert!(handoff(&group).is_some());
}

#[test]
fn who_waits_for_a_place_is_not_late_while_what_has_one_progresses() {
    for progresses in [true, false] {
        let mut group = TestGroup::with_topics(&[("t", 2), ("u", 2)]);
        let (a, _) = (join(&mut group, "a"), join(&mut group, "b"));
        group.settle();
        let owned: Vec<_> = group.state.owned(&a).cloned().collect();
        let [first, second] = &owned[..] else { panic!("each has two: {owned:?}") };
        let report = |done| {
            [(first.clone(), UnbegunReason::Place, 0), (second.clone(), UnbegunReason::Preparing, done)]
        };
        for n in 0..4 {
            group.report_unbegun(&a, &report(if progresses { n } else { 0 }));
            group.follow(Duration::from_secs(200));
        }
        let is_moving = |at: &TopicPartition| group.state.handoff_of(at).is_some();
        assert_eq!([first, second].map(is_moving), [!progresses; 2]);
    }
}

#[test]
fn a_new_leader_gives_it_its_time_anew() {
    let (mut group, ..) = not_begun(Mode::Overlap, UnbegunReason::Failing);
    group.follow(WARM_DEADLINE - Duration::from_secs(1));
    group.change_leader();
    group.follow(WARM_DEADLINE - Duration::from_secs(1));
    assert_eq!(handoff(&group), None);
    group.follow(Duration::from_secs(2));
    assert!(handoff(&group).is_some());
}

#[test]
fn what_was_granted_anew_has_its_time_anew() {
    let (mut group, a, _) = not_begun(Mode::Overlap, UnbegunReason::Failing);
    group.follow(WARM_DEADLINE - Duration::from_secs(1));
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    group.settle();
    group.report_unbegun(&a, &[unbegun(UnbegunReason::Failing)]);
    group.follow(Duration::from_secs(2));
    assert_eq!(handoff(&group), None);
}
