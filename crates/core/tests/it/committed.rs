//! Partitions of which an offset was committed before: what proves it, and who is told.

use std::time::Duration;

use kafka_assigner_core::begun::{StreamReach, ToldGrants};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Assignment, BegunReport, GroupConfig};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;

/// Longer than a session, and whatever a leader waits for beyond its end.
const SESSION_OVER: Duration = Duration::from_secs(600);

fn at() -> TopicPartition {
    tp("t", 0)
}

/// A consumer that tells what it has begun.
fn join(group: &mut TestGroup, name: &str) -> Member {
    group.join_as(name, |consumer| consumer.begun = Some(BegunReport::default()))
}

/// The report of a consumer that has begun everything, and names those without a commit.
fn told(reach: StreamReach, uncommitted: Option<&[TopicPartition]>) -> ToldGrants {
    let uncommitted = uncommitted.map(<[TopicPartition]>::to_vec);
    ToldGrants { told: reach, named: Vec::new(), unnamed: 0, uncommitted }
}

fn all(uncommitted: Option<&[TopicPartition]>) -> ToldGrants {
    told(StreamReach::Everything, uncommitted)
}

/// `a` owns the one partition of `t`, has heard so, and has told nothing yet.
fn owned_in(mode: Mode) -> (TestGroup, Member) {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.configure(&GroupConfig { mode, ..GroupConfig::default() });
    let a = join(&mut group, "a");
    group.settle();
    (group, a)
}

fn owned() -> (TestGroup, Member) {
    owned_in(Mode::Overlap)
}

/// The assignment says to `member` that an offset was committed before.
fn was_committed(group: &TestGroup, member: &Member) -> bool {
    match group.view(member).roles.get(&at()) {
        Some(Role::Owner { was_committed, .. }) => *was_committed,
        other => panic!("{other:?}"),
    }
}

/// The owner crashes, and the next one, which joins, has the partition.
fn after_a_crash(group: &mut TestGroup, owner: &str, next: &str) -> Member {
    group.crash(owner);
    let next = join(group, next);
    group.follow(SESSION_OVER);
    assert_eq!(group.owner(&at()), Some(next.name.as_str()));
    next
}

#[test]
fn the_next_owner_is_told_that_one_that_crashed_had_committed() {
    let (mut group, a) = owned();
    assert!(!was_committed(&group, &a), "nobody had before it");
    assert!(group.report_grants(&a, all(Some(&[]))));
    group.settle();
    assert!(!group.report_grants(&a, all(Some(&[]))), "at rest nothing is written");
    let b = after_a_crash(&mut group, "a", "b");
    assert!(was_committed(&group, &b));
    // It is kept by whoever has it next, whatever that one has committed.
    let c = after_a_crash(&mut group, "b", "c");
    assert!(was_committed(&group, &c));
}

#[test]
fn the_next_owner_of_a_planned_move_is_told_in_each_mode() {
    for (mode, catch_up) in
        [(Mode::Overlap, false), (Mode::Exclusive, false), (Mode::Exclusive, true), (Mode::Routed, true)]
    {
        let mut group = TestGroup::with_topics(&[("t", 2)]);
        group.configure(&GroupConfig { mode, catch_up, ..GroupConfig::default() });
        let a = join(&mut group, "a");
        group.settle();
        assert!(group.report_grants(&a, all(Some(&[]))));
        let b = join(&mut group, "b");
        group.settle();
        let told: Vec<bool> = group
            .view(&b)
            .roles
            .values()
            .filter_map(|role| {
                if let Role::Owner { was_committed, .. } = role { Some(*was_committed) } else { None }
            })
            .collect();
        assert_eq!(told, [true], "{mode:?}, catch up: {catch_up}");
    }
}

#[test]
fn an_owner_that_had_begun_and_committed_nothing_leaves_no_note() {
    let (mut group, a) = owned();
    assert!(group.report_grants(&a, all(Some(&[at()]))));
    group.settle();
    let b = after_a_crash(&mut group, "a", "b");
    assert!(!was_committed(&group, &b));
}

#[test]
fn an_owner_that_does_not_tell_of_commits_leaves_no_note() {
    let (mut group, a) = owned();
    assert!(group.report_grants(&a, all(None)));
    group.settle();
    let b = after_a_crash(&mut group, "a", "b");
    assert!(!was_committed(&group, &b));
}

#[test]
fn a_commit_that_follows_a_start_is_news() {
    let (mut group, a) = owned();
    assert!(group.report_grants(&a, all(Some(&[at()]))));
    assert!(!group.report_grants(&a, all(Some(&[at()]))), "it has committed nothing still");
    assert!(group.report_grants(&a, all(Some(&[]))));
    group.settle();
    let b = after_a_crash(&mut group, "a", "b");
    assert!(was_committed(&group, &b));
}

#[test]
fn a_report_of_who_has_not_heard_of_everything_proves_nothing() {
    for reach in [StreamReach::UpTo(Revision(u64::MAX >> 1)), StreamReach::AsBefore] {
        let (mut group, a) = owned();
        group.report_grants(&a, told(reach, Some(&[])));
        group.settle();
        let b = after_a_crash(&mut group, "a", "b");
        assert!(!was_committed(&group, &b), "{reach:?}");
    }
}

/// It may have been written with others of its plan, after those that the report covers.
#[test]
fn a_grant_that_is_written_after_the_report_is_not_proven_by_it() {
    let (mut group, a) = owned();
    assert!(group.report_grants(&a, all(Some(&[]))));
    group.topic("u", 1);
    group.settle();
    group.crash("a");
    let b = join(&mut group, "b");
    group.follow(SESSION_OVER);
    let owner = |topic| group.view(&b).roles.get(&tp(topic, 0)).cloned();
    assert!(matches!(owner("t"), Some(Role::Owner { was_committed: true, .. })));
    assert!(matches!(owner("u"), Some(Role::Owner { was_committed: false, .. })));
}

#[test]
fn what_was_proven_stays_so_where_a_later_report_names_it() {
    let (mut group, a) = owned();
    assert!(group.report_grants(&a, all(Some(&[]))));
    group.topic("u", 1);
    group.settle();
    assert!(group.report_grants(&a, all(Some(&[at()]))), "the other one has committed");
    let kept = group.state.registration(&a.name).and_then(|consumer| consumer.begun.clone());
    let commits = kept.and_then(|report| report.commits).expect("it tells");
    assert!(!commits.lacks(&at()), "another leader knows it too: {commits:?}");
    group.settle();
    let b = after_a_crash(&mut group, "a", "b");
    assert!(was_committed(&group, &b));
}

#[test]
fn what_was_committed_in_a_former_topic_says_nothing_of_the_next_one_of_that_name() {
    let (mut group, a) = owned_in(Mode::Exclusive);
    assert!(group.report_grants(&a, all(Some(&[]))));
    group.settle();
    let b = after_a_crash(&mut group, "a", "b");
    assert!(was_committed(&group, &b));
    group.remove(&Key::Topic("t".parse().expect("a name")));
    group.topic("t", 1);
    group.settle();
    assert!(!was_committed(&group, &b));
    let c = after_a_crash(&mut group, "b", "c");
    assert!(!was_committed(&group, &c));
}

#[test]
fn records_of_earlier_versions_note_nothing() {
    let report: BegunReport = serde_json::from_str(r#"{"covered":5}"#).expect("a record");
    assert_eq!(report.commits, None);
    let (group, _) = owned();
    let mut written = serde_json::to_value(group.state.assignment(&at())).expect("a record");
    assert!(written.get("committed_in").is_none(), "nothing is known");
    written["topic_since"] = serde_json::Value::Null;
    let read: Assignment = serde_json::from_value(written).expect("a record");
    assert!(!read.was_committed(), "both are missing");
}
