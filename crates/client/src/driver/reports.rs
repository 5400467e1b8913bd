//! The reports that heartbeats carry, and the time at which one that has changed is due: [`Reports`].

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_proto::v1::{
    self, BusyPartition, FailingPartitions, FencedPartition, UnbegunPartition, UnbegunPartitions,
    UncommittedPartition, UncommittedPartitions, WarmProgress,
};
use kafka_assigner_types::id::{Epoch, HandoffId, TopicPartition};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::stops::MOST_STOPPED;

use super::contexts::HeldPartitions;
use crate::roles::{Roles, UnbegunCause, UnbegunRole};
use crate::status::{FailingPartition, StoppedPartition};

/// The shortest time between two heartbeats for a report's sake. A report extends a deadline of at least 1 s; between
/// two heartbeats that the claim needs there may be ten minutes.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time after which busy partitions and those that stand are reported again though nothing changed: the service may have had
/// no time for the last report, its write may have lost a race, or the move to this member was not over.
const AGAIN: Duration = Duration::from_secs(5);

/// The same for grants that have not begun, and the time after which it is told how far they are: their leader waits for minutes, and
/// after a deployment all members have some.
const UNBEGUN_AGAIN: Duration = Duration::from_secs(20);

/// The report of one heartbeat.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HeartbeatReport {
    /// The progress of the preparations.
    pub(super) warming: Vec<WarmProgress>,
    /// The partitions with a record in the works for which a handoff waits.
    pub(super) busy: Vec<BusyPartition>,
    /// The partitions that stand.
    pub(super) stopped: Vec<v1::StoppedPartition>,
    /// The fenced partitions that were dropped.
    pub(super) dropped: Vec<FencedPartition>,
    /// The grants that have not begun.
    pub(super) unbegun: UnbegunPartitions,
    /// The partitions that it owns without a commit; `None` = the handler never commits, or they are too many.
    pub(super) uncommitted: Option<UncommittedPartitions>,
    /// The partitions whose next record fails, for people: no report is due for their sake.
    pub(super) failing: FailingPartitions,
}

/// The report of a handler about the partitions that it works on.
#[derive(Debug, Default)]
pub(super) struct HandlerReport {
    /// Those that stand.
    pub(super) stopped: Vec<StoppedPartition>,
    /// Those whose next record has failed for long.
    pub(super) failing: Vec<FailingPartition>,
    /// Those of which it has committed an offset, under the epoch of its grant; `None` = it never commits, or was not asked.
    pub(super) committed: Option<BTreeMap<TopicPartition, Epoch>>,
}

/// The longest reason that is told, in bytes: with the most partitions it leaves more than half of a request, which has at
/// most 1 MiB.
const MOST_REASON: usize = 500;

/// The most grants that are named as not begun: as many as the service heeds.
const MOST_UNBEGUN: usize = 1_000;

/// The most partitions that are named as owned without a commit: as many as the service heeds.
const MOST_UNCOMMITTED: usize = 100;

/// The longest text of a failure that is told with one of them, in bytes: as much as the service keeps.
const MOST_FAILURE: usize = 100;

/// The most partitions that are named as failing: as many as the service heeds.
const MOST_FAILING: usize = 100;

impl HeartbeatReport {
    /// The report of what is going on now, with what the handler reports.
    pub(super) fn of(roles: &Roles, held: &HeldPartitions, handler: HandlerReport) -> Self {
        let HandlerReport { stopped, failing, committed } = handler;
        let busy = roles.busy().chain(ending_records(roles, held)).map(|(at, handoff)| BusyPartition {
            topic: at.topic.to_string(),
            partition: at.kafka_number(),
            handoff_id: handoff.to_string(),
        });
        let stopped = stopped.into_iter().filter(|stopped| is_told(roles, stopped));
        let stopped = stopped.take(MOST_STOPPED).map(wire_stopped);
        let unbegun = unbegun(roles, held);
        let dropped = dropped(roles, held);
        let uncommitted = committed.and_then(|committed| uncommitted(roles.owned_epochs(), &committed));
        let failing = wire_failing(failing.into_iter().filter(|failing| roles.is_owner(&failing.partition)));
        Self {
            warming: held.warming(),
            busy: busy.collect(),
            stopped: stopped.collect(),
            unbegun,
            dropped,
            uncommitted,
            failing,
        }
    }

    /// True if there is something to tell, without the cost of a report.
    pub(super) fn has_any(roles: &Roles, held: &HeldPartitions) -> bool {
        held.is_warming()
            || roles.is_fenced()
            || roles.unbegun().next().is_some()
            || roles.busy().chain(ending_records(roles, held)).next().is_some()
    }
}

/// The fenced partitions of which nothing acts any more, no request that was admitted either.
fn dropped(roles: &Roles, held: &HeldPartitions) -> Vec<FencedPartition> {
    let dropped = roles.dropped().filter(|(at, _)| !held.is_occupied(at));
    let wire = |(at, epoch): (&TopicPartition, Epoch)| FencedPartition {
        topic: at.topic.to_string(),
        partition: at.kafka_number(),
        epoch: epoch.0,
    };
    dropped.map(wire).collect()
}

/// The grants that have not begun, the first by name.
fn unbegun(roles: &Roles, held: &HeldPartitions) -> UnbegunPartitions {
    let mut grants = roles.unbegun();
    let named =
        grants.by_ref().take(MOST_UNBEGUN).map(|(at, role)| wire_unbegun(at, role, held.preparation(at)));
    let partitions = named.collect();
    UnbegunPartitions { partitions, unnamed: u32::try_from(grants.count()).unwrap_or(u32::MAX) }
}

/// Those of the `owned` partitions, with the epochs of their grants, that are not `committed` under that epoch; `None` where
/// they are too many. One that has not begun is named too: the list holds by itself.
fn uncommitted<'a>(
    owned: impl Iterator<Item = (&'a TopicPartition, Epoch)>,
    committed: &BTreeMap<TopicPartition, Epoch>,
) -> Option<UncommittedPartitions> {
    let lacking = owned.filter(|(at, epoch)| committed.get(*at) != Some(epoch));
    let named = lacking
        .take(MOST_UNCOMMITTED + 1)
        .map(|(at, _)| UncommittedPartition { topic: at.topic.to_string(), partition: at.kafka_number() });
    let partitions: Vec<_> = named.collect();
    (partitions.len() <= MOST_UNCOMMITTED).then_some(UncommittedPartitions { partitions })
}

fn wire_unbegun(
    at: &TopicPartition,
    role: UnbegunRole<'_>,
    (done, total): (u64, Option<u64>),
) -> UnbegunPartition {
    let reason = match role.why {
        UnbegunCause::Place => v1::UnbegunReason::Place,
        UnbegunCause::Preparing => v1::UnbegunReason::Preparing,
        UnbegunCause::Starting => v1::UnbegunReason::Starting,
        UnbegunCause::Failing => v1::UnbegunReason::Failing,
        UnbegunCause::Claim => v1::UnbegunReason::Claim,
        UnbegunCause::Clearing => v1::UnbegunReason::Clearing,
    };
    UnbegunPartition {
        topic: at.topic.to_string(),
        partition: at.kafka_number(),
        epoch: role.epoch.0,
        reason: reason.into(),
        message: role.failure[..role.failure.floor_char_boundary(MOST_FAILURE)].to_owned(),
        done,
        total,
    }
}

/// True if the service is told of a partition that stands. One that drains is told of until it is released: it does not go
/// on. A state that could not be built is a word about this grant only once that failed under it: what an earlier
/// one, or the preparation before it, met may be mended since.
fn is_told(roles: &Roles, stopped: &StoppedPartition) -> bool {
    let at = &stopped.partition;
    match stopped.epoch == Epoch::default() {
        true => roles.has_failed_under_grant(at),
        false => roles.is_owner_or_drains(at),
    }
}

fn wire_stopped(stopped: StoppedPartition) -> v1::StoppedPartition {
    let StoppedPartition { partition, epoch, offset, mut reason, is_of_drain } = stopped;
    reason.truncate(reason.floor_char_boundary(MOST_REASON));
    v1::StoppedPartition {
        topic: partition.topic.to_string(),
        partition: partition.kafka_number(),
        offset: offset.get(),
        reason,
        epoch: epoch.0,
        is_of_drain,
    }
}

/// The first of the partitions whose next record fails, and the number of the others.
fn wire_failing(mut failing: impl Iterator<Item = FailingPartition>) -> FailingPartitions {
    let partitions = failing.by_ref().take(MOST_FAILING).map(wire_failure).collect();
    FailingPartitions { partitions, unnamed: u32::try_from(failing.count()).unwrap_or(u32::MAX) }
}

fn wire_failure(failing: FailingPartition) -> v1::FailingPartition {
    let FailingPartition { partition, epoch, offset, mut reason, since_unix_ms } = failing;
    reason.truncate(reason.floor_char_boundary(MOST_FAILURE));
    v1::FailingPartition {
        topic: partition.topic.to_string(),
        partition: partition.kafka_number(),
        epoch: epoch.0,
        offset: offset.get(),
        reason,
        since_unix_ms,
    }
}

/// The partitions in which a handoff waits for the end of a record that is in the works.
fn ending_records<'a>(
    roles: &'a Roles,
    held: &'a HeldPartitions,
) -> impl Iterator<Item = (&'a TopicPartition, &'a HandoffId)> {
    roles.resting().filter(|(partition, _)| !held.has_rested(partition))
}

/// The last report that was sent.
#[derive(Debug)]
pub(super) struct Reports {
    sent: HeartbeatReport,
    at: Moment,
    /// The time at which others were first seen not to have begun than it says; `None` = they are the same.
    grants_differ_since: Option<Moment>,
}

impl Reports {
    pub(super) fn since(start: Moment) -> Self {
        Self { sent: HeartbeatReport::default(), at: start, grants_differ_since: None }
    }

    /// Notes what is sent now.
    pub(super) fn sent(&mut self, now: Moment, report: &HeartbeatReport) {
        // Of commits, and of records that fail, each heartbeat tells, and none is ever due for them.
        let (uncommitted, failing) = (None, FailingPartitions::default());
        let sent = HeartbeatReport { uncommitted, failing, ..report.clone() };
        *self = Self { sent, at: now, grants_differ_since: None };
    }

    /// The report of a member that gives everything up: what stood before does not go on, though nothing holds it any more. Of
    /// commits it says nothing: what it gives up it does not name, and the service takes what is not named for committed.
    pub(super) fn of_who_leaves(&self, report: HeartbeatReport) -> HeartbeatReport {
        HeartbeatReport { stopped: self.sent.stopped.clone(), uncommitted: None, ..report }
    }

    /// True if the last report was not sent just now, so that another one may be due.
    pub(super) fn may_be_due(&self, now: Moment) -> bool {
        now >= self.next()
    }

    /// True if there is news in `report`. What begins within a second is none.
    pub(super) fn is_due(&mut self, now: Moment, report: &HeartbeatReport) -> bool {
        let is_unbegun = !self.sent.unbegun.partitions.is_empty();
        let may_be_lost = !self.sent.busy.is_empty() || !self.sent.stopped.is_empty();
        let is_stale = may_be_lost && now >= self.at + AGAIN || is_unbegun && now >= self.at + UNBEGUN_AGAIN;
        let is_news = !tell_the_same(&report.warming, &self.sent.warming)
            || report.busy != self.sent.busy
            || report.stopped != self.sent.stopped
            || report.dropped != self.sent.dropped
            || self.lacks_grants(now, &report.unbegun);
        self.may_be_due(now) && (is_stale || is_news)
    }

    /// True if others have not begun than was reported, for a second by now.
    fn lacks_grants(&mut self, now: Moment, unbegun: &UnbegunPartitions) -> bool {
        if names_the_same(unbegun, &self.sent.unbegun) {
            self.grants_differ_since = None;
            return false;
        }
        now >= *self.grants_differ_since.get_or_insert(now) + INTERVAL
    }

    /// The time at which to ask again; `None` while there is nothing to report, and was nothing.
    pub(super) fn next_wake(&self, now: Moment, has_any: impl FnOnce() -> bool) -> Option<Moment> {
        let next = if now < self.next() { self.next() } else { now + INTERVAL };
        (self.sent != HeartbeatReport::default() || has_any()).then_some(next)
    }

    fn next(&self) -> Moment {
        self.at + INTERVAL
    }
}

/// True if both tell the same of the preparations. An estimate of the time left is no news, since it changes all the time; that
/// there is one is, and that there is none any more.
fn tell_the_same(one: &[WarmProgress], other: &[WarmProgress]) -> bool {
    let news =
        |progress: &WarmProgress| WarmProgress { left_ms: progress.left_ms.map(|_| 0), ..progress.clone() };
    one.iter().map(news).eq(other.iter().map(news))
}

/// True if both name the same grants for the same reasons, however far these are.
fn names_the_same(one: &UnbegunPartitions, other: &UnbegunPartitions) -> bool {
    let same = |(one, other): (&UnbegunPartition, &UnbegunPartition)| {
        let place = |grant: &UnbegunPartition| (grant.partition, grant.epoch, grant.reason);
        place(one) == place(other) && one.topic == other.topic
    };
    let pairs = || one.partitions.iter().zip(&other.partitions);
    one.unnamed == other.unnamed && one.partitions.len() == other.partitions.len() && pairs().all(same)
}

#[cfg(test)]
mod tests {
    use kafka_assigner_types::id::Offset;

    use super::*;

    fn at(ms: u64) -> Moment {
        Moment(Duration::from_millis(ms))
    }

    fn done(done: u64) -> HeartbeatReport {
        HeartbeatReport {
            warming: vec![WarmProgress { done, ..WarmProgress::default() }],
            ..HeartbeatReport::default()
        }
    }

    #[test]
    fn a_report_that_changes_is_due_once_a_second() {
        let mut reports = Reports::since(at(0));
        assert!(!reports.is_due(at(999), &done(1)));
        assert!(reports.is_due(at(1_000), &done(1)));
        reports.sent(at(1_000), &done(1));
        assert!(!reports.is_due(at(1_500), &done(2)));
        assert!(!reports.is_due(at(2_000), &done(1)), "no news");
        assert!(reports.is_due(at(2_000), &done(2)));
    }

    #[test]
    fn an_estimate_is_news_when_it_comes_or_goes() {
        let mut reports = Reports::since(at(0));
        let left = |left_ms| HeartbeatReport {
            warming: vec![WarmProgress { done: 1, left_ms, ..WarmProgress::default() }],
            ..HeartbeatReport::default()
        };
        reports.sent(at(0), &left(None));
        assert!(reports.is_due(at(1_000), &left(Some(7))));
        reports.sent(at(1_000), &left(Some(7)));
        assert!(!reports.is_due(at(2_000), &left(Some(6))));
        assert!(reports.is_due(at(2_000), &left(None)));
    }

    #[test]
    fn busy_partitions_are_reported_again() {
        let mut reports = Reports::since(at(0));
        let busy = || HeartbeatReport { busy: vec![BusyPartition::default()], ..HeartbeatReport::default() };
        reports.sent(at(0), &busy());
        assert!(!reports.is_due(at(4_999), &busy()));
        assert!(reports.is_due(at(5_000), &busy()));
    }

    /// The service takes none in of a partition whose move is not over, nor one whose write lost a race.
    #[test]
    fn standing_partitions_are_reported_again() {
        let mut reports = Reports::since(at(0));
        let stopped = || vec![v1::StoppedPartition::default()];
        let stands = || HeartbeatReport { stopped: stopped(), ..HeartbeatReport::default() };
        reports.sent(at(0), &stands());
        assert!(!reports.is_due(at(4_999), &stands()));
        assert!(reports.is_due(at(5_000), &stands()));
    }

    #[test]
    fn what_has_not_begun_is_reported_again() {
        let mut reports = Reports::since(at(0));
        let partitions = vec![UnbegunPartition::default()];
        let waits = HeartbeatReport {
            unbegun: UnbegunPartitions { partitions, unnamed: 0 },
            ..HeartbeatReport::default()
        };
        reports.sent(at(0), &waits);
        let mut further = waits.clone();
        further.unbegun.partitions[0].done = 7;
        assert!(!reports.is_due(at(19_999), &waits) && !reports.is_due(at(19_999), &further));
        assert!(reports.is_due(at(20_000), &further));
    }

    #[test]
    fn what_begins_within_a_second_is_no_news() {
        let mut reports = Reports::since(at(0));
        let partitions = vec![UnbegunPartition::default()];
        let waits = HeartbeatReport {
            unbegun: UnbegunPartitions { partitions, unnamed: 0 },
            ..HeartbeatReport::default()
        };
        assert!(!reports.is_due(at(5_000), &waits), "it was granted just now");
        assert!(!reports.is_due(at(5_900), &HeartbeatReport::default()), "and it has begun");
        assert!(!reports.is_due(at(9_000), &waits));
        assert!(!reports.is_due(at(9_999), &waits));
        assert!(reports.is_due(at(10_000), &waits));
        reports.sent(at(10_000), &waits);
        assert!(!reports.is_due(at(11_000), &HeartbeatReport::default()));
        assert!(reports.is_due(at(12_000), &HeartbeatReport::default()));
    }

    #[test]
    fn a_failure_is_cut_between_two_characters() {
        let failure = format!("{}é", "x".repeat(MOST_FAILURE - 1));
        let role = UnbegunRole { epoch: Epoch(7), why: UnbegunCause::Failing, failure: &failure };
        let at = TopicPartition::new("t".parse().unwrap(), 3);
        let told = wire_unbegun(&at, role, (5, Some(9)));
        assert_eq!((told.partition, told.epoch, told.message.len()), (3, 7, MOST_FAILURE - 1));
        assert_eq!((told.reason(), told.done, told.total), (v1::UnbegunReason::Failing, 5, Some(9)));
    }

    #[test]
    fn what_has_no_commit_under_its_own_grant_is_named() {
        let at = |number| TopicPartition::new("t".parse().unwrap(), number);
        let (first, second, third) = (at(0), at(1), at(2));
        let owned = [(&first, Epoch(5)), (&second, Epoch(5)), (&third, Epoch(5))];
        let committed = BTreeMap::from([(first.clone(), Epoch(5)), (second.clone(), Epoch(4))]);
        let told = uncommitted(owned.into_iter(), &committed).expect("they are few");
        assert_eq!(told.partitions.iter().map(|named| named.partition).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn nothing_is_said_of_commits_where_too_many_lack() {
        let owned: Vec<_> =
            (0..=100).map(|number| TopicPartition::new("t".parse().unwrap(), number)).collect();
        let told =
            |count: usize| uncommitted(owned.iter().take(count).map(|at| (at, Epoch(5))), &BTreeMap::new());
        assert_eq!(told(100).map(|told| told.partitions.len()), Some(100));
        assert_eq!(told(101), None);
    }

    #[test]
    fn who_leaves_says_of_nothing_that_it_goes_on() {
        let mut reports = Reports::since(at(0));
        let stopped = vec![v1::StoppedPartition { offset: 5, ..v1::StoppedPartition::default() }];
        let stands = HeartbeatReport { stopped, ..HeartbeatReport::default() };
        reports.sent(at(0), &stands);
        assert_eq!(reports.of_who_leaves(HeartbeatReport::default()), stands);
        assert_eq!(reports.of_who_leaves(done(1)), HeartbeatReport { stopped: stands.stopped, ..done(1) });
    }

    /// It works on nothing any more, while the service still has it as the owner: a list without names would say that all is
    /// committed.
    #[test]
    fn who_leaves_says_nothing_of_commits() {
        let uncommitted = Some(UncommittedPartitions::default());
        let report = HeartbeatReport { uncommitted, ..HeartbeatReport::default() };
        assert_eq!(Reports::since(at(0)).of_who_leaves(report), HeartbeatReport::default());
    }

    #[test]
    fn a_reason_is_cut_between_two_characters() {
        let reason = format!("{}é", "x".repeat(MOST_REASON - 1));
        let at = TopicPartition::new("t".parse().unwrap(), 3);
        let (epoch, offset) = (Epoch(7), Offset::ZERO);
        let stopped = StoppedPartition { partition: at, epoch, offset, reason, is_of_drain: true };
        let told = wire_stopped(stopped);
        assert_eq!((told.partition, told.epoch, told.reason.len()), (3, 7, MOST_REASON - 1));
        assert!(told.is_of_drain);
    }

    #[test]
    fn the_end_of_what_was_reported_is_news() {
        let mut reports = Reports::since(at(0));
        reports.sent(at(0), &done(1));
        assert!(reports.is_due(at(1_000), &HeartbeatReport::default()));
    }

    #[test]
    fn nobody_is_woken_for_the_sake_of_commits() {
        let mut reports = Reports::since(at(0));
        let all = Some(UncommittedPartitions::default());
        reports.sent(at(0), &HeartbeatReport { uncommitted: all, ..HeartbeatReport::default() });
        assert_eq!(reports.next_wake(at(5_000), || false), None, "they are told with the next heartbeat");
    }

    /// Nothing is decided by them: a heartbeat comes anyway.
    #[test]
    fn no_report_is_due_for_records_that_fail() {
        let mut reports = Reports::since(at(0));
        let failing = |number| wire_failing(std::iter::once(fails(number, "no disk")));
        let report = |number| HeartbeatReport { failing: failing(number), ..HeartbeatReport::default() };
        reports.sent(at(0), &report(0));
        assert_eq!(reports.next_wake(at(5_000), || false), None);
        assert!(!reports.is_due(at(60_000), &report(1)));
    }

    fn fails(number: u32, reason: &str) -> FailingPartition {
        let partition = TopicPartition::new("t".parse().unwrap(), number);
        let (epoch, offset, reason) = (Epoch(7), Offset::ZERO, reason.to_owned());
        FailingPartition { partition, epoch, offset, reason, since_unix_ms: 9 }
    }

    #[test]
    fn of_many_partitions_whose_record_fails_the_first_are_named_and_the_others_counted() {
        let long = format!("{}é", "x".repeat(MOST_FAILURE - 1));
        let told = wire_failing((0..150).map(|number| fails(number, &long)));
        assert_eq!((told.partitions.len(), told.unnamed), (MOST_FAILING, 50));
        let last = &told.partitions[MOST_FAILING - 1];
        assert_eq!((last.partition, last.epoch, last.since_unix_ms), (99, 7, 9));
        assert_eq!(last.reason.len(), MOST_FAILURE - 1, "cut between two characters");
    }

    #[test]
    fn nobody_is_woken_without_anything_to_report() {
        let reports = Reports::since(at(0));
        assert_eq!(reports.next_wake(at(5_000), || false), None);
        assert_eq!(reports.next_wake(at(400), || true), Some(at(1_000)));
        assert_eq!(reports.next_wake(at(5_000), || true), Some(at(6_000)));
    }
}
