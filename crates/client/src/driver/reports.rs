//! The reports that heartbeats carry, and the time at which one that has changed is due: [`Reports`].

use std::time::Duration;

use kafka_assigner_proto::v1::{self, BusyPartition, WarmProgress};
use kafka_assigner_types::id::{Epoch, HandoffId, TopicPartition};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::stops::MOST_STOPPED;

use super::contexts::HeldPartitions;
use crate::roles::Roles;
use crate::status::StoppedPartition;

/// The shortest time between two heartbeats for a report's sake. A report extends a deadline of at least 1 s; between
/// two heartbeats that the claim needs there may be ten minutes.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time after which busy partitions, and those that stand, are reported again though nothing changed: the service may
/// have had no time for the last report, its write may have lost a race, or the move to this member was not over.
const AGAIN: Duration = Duration::from_secs(5);

/// The report of one heartbeat.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HeartbeatReport {
    /// The progress of the preparations.
    pub(super) warming: Vec<WarmProgress>,
    /// The partitions with a record in the works for which a handoff waits.
    pub(super) busy: Vec<BusyPartition>,
    /// The partitions that stand.
    pub(super) stopped: Vec<v1::StoppedPartition>,
}

/// The longest reason that is told, in bytes: with the most partitions it leaves more than half of a request, which has at
/// most 1 MiB.
const MOST_REASON: usize = 500;

impl HeartbeatReport {
    /// The report of what is going on now.
    pub(super) fn of(roles: &Roles, held: &HeldPartitions, stopped: Vec<StoppedPartition>) -> Self {
        let busy = roles.busy().chain(ending_records(roles, held)).map(|(at, handoff)| BusyPartition {
            topic: at.topic.to_string(),
            partition: at.kafka_number(),
            handoff_id: handoff.to_string(),
        });
        let stopped = stopped.into_iter().filter(|stopped| is_told(roles, stopped));
        let stopped = stopped.take(MOST_STOPPED).map(wire_stopped);
        Self { warming: held.warming(), busy: busy.collect(), stopped: stopped.collect() }
    }

    /// True if there is something to tell, without the cost of a report.
    pub(super) fn has_any(roles: &Roles, held: &HeldPartitions) -> bool {
        held.is_warming() || roles.busy().chain(ending_records(roles, held)).next().is_some()
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
    let StoppedPartition { partition, epoch, offset, mut reason } = stopped;
    reason.truncate(reason.floor_char_boundary(MOST_REASON));
    v1::StoppedPartition {
        topic: partition.topic.to_string(),
        partition: partition.kafka_number(),
        offset: offset.get(),
        reason,
        epoch: epoch.0,
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
}

impl Reports {
    pub(super) fn since(start: Moment) -> Self {
        Self { sent: HeartbeatReport::default(), at: start }
    }

    /// Notes what is sent now.
    pub(super) fn sent(&mut self, now: Moment, report: &HeartbeatReport) {
        *self = Self { sent: report.clone(), at: now };
    }

    /// The report of a member that gives everything up: what stood before does not go on, though nothing holds it any more.
    pub(super) fn standing_as_before(&self, report: HeartbeatReport) -> HeartbeatReport {
        HeartbeatReport { stopped: self.sent.stopped.clone(), ..report }
    }

    /// True if there is news, and the last report was not sent just now.
    pub(super) fn is_due(&self, now: Moment, report: impl FnOnce() -> HeartbeatReport) -> bool {
        let may_be_lost = !self.sent.busy.is_empty() || !self.sent.stopped.is_empty();
        let is_stale = may_be_lost && now >= self.at + AGAIN;
        now >= self.next() && (is_stale || report() != self.sent)
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
        assert!(!reports.is_due(at(999), || done(1)));
        assert!(reports.is_due(at(1_000), || done(1)));
        reports.sent(at(1_000), &done(1));
        assert!(!reports.is_due(at(1_500), || done(2)));
        assert!(!reports.is_due(at(2_000), || done(1)), "no news");
        assert!(reports.is_due(at(2_000), || done(2)));
    }

    #[test]
    fn busy_partitions_are_reported_again() {
        let mut reports = Reports::since(at(0));
        let busy = || HeartbeatReport { busy: vec![BusyPartition::default()], ..HeartbeatReport::default() };
        reports.sent(at(0), &busy());
        assert!(!reports.is_due(at(4_999), busy));
        assert!(reports.is_due(at(5_000), busy));
    }

    /// The service takes none in of a partition whose move is not over, nor one whose write lost a race.
    #[test]
    fn standing_partitions_are_reported_again() {
        let mut reports = Reports::since(at(0));
        let stopped = || vec![v1::StoppedPartition::default()];
        let stands = || HeartbeatReport { stopped: stopped(), ..HeartbeatReport::default() };
        reports.sent(at(0), &stands());
        assert!(!reports.is_due(at(4_999), stands));
        assert!(reports.is_due(at(5_000), stands));
    }

    #[test]
    fn who_leaves_says_of_nothing_that_it_goes_on() {
        let mut reports = Reports::since(at(0));
        let stopped = vec![v1::StoppedPartition { offset: 5, ..v1::StoppedPartition::default() }];
        let stands = HeartbeatReport { stopped, ..HeartbeatReport::default() };
        reports.sent(at(0), &stands);
        assert_eq!(reports.standing_as_before(HeartbeatReport::default()), stands);
        assert_eq!(
            reports.standing_as_before(done(1)),
            HeartbeatReport { stopped: stands.stopped, ..done(1) }
        );
    }

    #[test]
    fn a_reason_is_cut_between_two_characters() {
        let reason = format!("{}é", "x".repeat(MOST_REASON - 1));
        let at = TopicPartition::new("t".parse().unwrap(), 3);
        let stopped = StoppedPartition { partition: at, epoch: Epoch(7), offset: Offset::ZERO, reason };
        let told = wire_stopped(stopped);
        assert_eq!((told.partition, told.epoch, told.reason.len()), (3, 7, MOST_REASON - 1));
    }

    #[test]
    fn the_end_of_what_was_reported_is_news() {
        let mut reports = Reports::since(at(0));
        reports.sent(at(0), &done(1));
        assert!(reports.is_due(at(1_000), HeartbeatReport::default));
    }

    #[test]
    fn nobody_is_woken_without_anything_to_report() {
        let reports = Reports::since(at(0));
        assert_eq!(reports.next_wake(at(5_000), || false), None);
        assert_eq!(reports.next_wake(at(400), || true), Some(at(1_000)));
        assert_eq!(reports.next_wake(at(5_000), || true), Some(at(6_000)));
    }
}
