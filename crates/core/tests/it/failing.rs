//! Partitions whose next record fails for long: what is taken in of the reports of their owners, and what is shown.

use kafka_assigner_core::counts::counts;
use kafka_assigner_core::explain::{Cause, explain};
use kafka_assigner_core::failing::{self, ToldFailures, failure};
use kafka_assigner_core::record::{Extra, FailingReport, RecordFailure};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::{Epoch, Member, Offset, TopicPartition};
use kafka_assigner_types::moment::WallMillis;

fn at() -> TopicPartition {
    tp("t", 0)
}

/// `a` owns all partitions of `t`.
fn owning(partitions: u32) -> (TestGroup, Member) {
    let mut group = TestGroup::with_topics(&[("t", partitions)]);
    let a = group.join("a");
    group.settle();
    (group, a)
}

fn epoch(group: &TestGroup, at: &TopicPartition) -> Epoch {
    group.state.assignment(at).expect("it was granted").held_epoch()
}

fn record(group: &TestGroup, at: &TopicPartition, reason: &str) -> (TopicPartition, RecordFailure) {
    let (epoch, offset) = (epoch(group, at), Offset::new(5).expect("an offset"));
    let (reason, since, extra) = (reason.to_owned(), WallMillis(7), Extra::new());
    (at.clone(), RecordFailure { epoch, offset, reason, since, extra })
}

fn offset(group: &TestGroup, at: &TopicPartition) -> Option<i64> {
    failure(&group.state, at).map(|failure| failure.offset.get())
}

fn kept(group: &TestGroup, member: &Member) -> FailingReport {
    group.state.registration_of(member).expect("it is registered").failing.clone()
}

#[test]
fn a_record_that_fails_is_shown_until_its_owner_names_it_no_more() {
    let (mut group, a) = owning(2);
    assert_eq!((offset(&group, &at()), counts(&group.state).failing), (None, 0));
    assert!(group.report_failing(&a, &[(at(), 5)], 0));
    assert_eq!((offset(&group, &at()), counts(&group.state).failing), (Some(5), 1));
    assert_eq!(offset(&group, &tp("t", 1)), None);
    assert!(group.report_failing(&a, &[], 0));
    assert_eq!((offset(&group, &at()), counts(&group.state).failing), (None, 0));
    assert!(!group.report_failing(&a, &[], 0), "at rest nothing is written");
}

#[test]
fn it_is_explained_with_the_record_the_error_and_what_helps() {
    let (mut group, a) = owning(1);
    group.report_failing(&a, &[(at(), 5)], 0);
    let causes = explain(&group.state, &at(), Ok(&group.plan()));
    let cause = causes.iter().find(|cause| matches!(cause, Cause::Failing { .. })).expect("it is named");
    assert_eq!(
        cause.to_string(),
        "At a, the record at offset 5 fails and is tried again: no disk. It goes on by itself once the record can be \
         handled: mend what the error names, or have the error policy of the consumer pass it over or stop. It does not \
         stand, so that `resume` does not apply."
    );
}

#[test]
fn another_record_is_news_and_another_error_of_the_same_one_is_not() {
    let (mut group, a) = owning(1);
    let told =
        |group: &TestGroup, reason| ToldFailures { named: vec![record(group, &at(), reason)], unnamed: 0 };
    let first = told(&group, "no disk");
    assert!(group.report_failures(&a, first));
    let again = told(&group, "no route");
    assert!(!group.report_failures(&a, again));
    assert_eq!(kept(&group, &a).named["t/0"].reason, "no disk");
    assert!(group.report_failing(&a, &[(at(), 6)], 0));
    assert!(group.report_failing(&a, &[(at(), 7)], 0));
    assert_eq!(offset(&group, &at()), Some(7));
}

#[test]
fn of_what_a_consumer_does_not_own_nothing_is_taken_in() {
    let (mut group, a) = owning(1);
    let b = group.join("b");
    group.settle();
    let real = record(&group, &at(), "no disk");
    let told = |named| ToldFailures { named: vec![named], unnamed: 7 };
    assert!(!group.report_failures(&b, told(real.clone())), "it owns nothing");
    let earlier = RecordFailure { epoch: Epoch(real.1.epoch.0 - 1), ..real.1.clone() };
    assert!(group.report_failures(&a, told((at(), earlier))));
    assert_eq!(
        kept(&group, &a),
        FailingReport { unnamed: 1, ..FailingReport::default() },
        "an earlier grant"
    );
    let long = RecordFailure { reason: format!("\n{}", "é".repeat(500)), ..real.1 };
    assert!(group.report_failures(&a, told((at(), long))));
    let kept = kept(&group, &a);
    let reason = &kept.named["t/0"].reason;
    assert_eq!(reason.chars().count(), RecordFailure::MOST_REASON);
    assert!(reason.starts_with(" é"), "in one line: {reason:?}");
    assert_eq!(kept.unnamed, 0, "nobody has more that fail than it owns");
}

#[test]
fn those_beyond_the_bound_are_counted() {
    let (mut group, a) = owning(150);
    let all: Vec<_> = group.state.owned(&a).cloned().map(|at| (at, 5)).collect();
    assert!(group.report_failing(&a, &all[..100], 50));
    assert_eq!(counts(&group.state).failing, 150);
    assert_eq!(failing::count(&group.state, &a), 150);
    assert!(group.report_failing(&a, &all, 0));
    assert_eq!(kept(&group, &a).named.len(), FailingReport::MOST_NAMED);
}

#[test]
fn those_that_are_not_named_count_while_their_owner_has_them() {
    let (mut group, a) = owning(3);
    assert!(group.report_failing(&a, &[], 3));
    assert_eq!(failing::count(&group.state, &a), 3);
    group.join("b");
    group.settle();
    let left = group.loads()["a"];
    assert!(left < 3);
    assert_eq!(failing::count(&group.state, &a), left, "no other report has come since");
}

/// The mark of a partition that stands is written at once, and the end of the report later.
#[test]
fn a_record_before_which_its_partition_stands_fails_no_more() {
    let (mut group, a) = owning(1);
    assert!(group.report_failing(&a, &[(at(), 5)], 0));
    assert_eq!(group.report_stopped(&a, &[(at(), 5)]), 1);
    assert_eq!((offset(&group, &at()), failing::count(&group.state, &a)), (None, 0));
}

#[test]
fn what_failed_under_an_earlier_grant_says_nothing_of_the_present_one() {
    let (mut group, a) = owning(1);
    group.report_failing(&a, &[(at(), 5)], 0);
    group.crash("a");
    let b = group.join("b");
    group.settle();
    assert_eq!((group.owner(&at()), offset(&group, &at())), (Some("b"), None));
    assert_eq!((counts(&group.state).failing, failing::count(&group.state, &b)), (0, 0));
}

#[test]
fn a_higher_epoch_of_the_same_session_is_another_grant() {
    let (mut group, a) = owning(1);
    group.report_failing(&a, &[(at(), 5)], 0);
    let before = epoch(&group, &at());
    group.report_stopped(&a, &[(at(), 5)]);
    assert!(group.resume(&at(), false));
    group.settle();
    assert!(epoch(&group, &at()) > before && group.owner(&at()) == Some("a"));
    assert_eq!((offset(&group, &at()), failing::count(&group.state, &a)), (None, 0));
    assert!(group.report_failing(&a, &[(at(), 5)], 0), "it fails under this one too");
    assert_eq!(offset(&group, &at()), Some(5));
}

/// The partitions of a consumer whose records all fail move as any others: nothing waits for them, and nothing is taken away.
#[test]
fn nothing_is_decided_by_it() {
    let (mut group, a) = owning(2);
    let before = group.state.assignments().keys().map(|at| epoch(&group, at)).collect::<Vec<_>>();
    assert!(group.report_failing(&a, &[(at(), 5), (tp("t", 1), 5)], 0));
    group.settle();
    let after = group.state.assignments().keys().map(|at| epoch(&group, at)).collect::<Vec<_>>();
    assert_eq!(before, after);
    group.join("b");
    group.settle();
    let owners = [at(), tp("t", 1)].map(|at| group.owner(&at).map(str::to_owned));
    assert_ne!(owners[0], owners[1], "each has one of them: {owners:?}");
}
