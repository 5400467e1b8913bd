//! The records that fail again and again, by partition: pure, with the time passed in.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use tokio::time::Instant;

use crate::status::FailingPartition;

/// The time after which others are told: several attempts with the longest waits of the default policy. An outage of seconds is
/// over before somebody has looked.
const SHOWN_AFTER: Duration = Duration::from_secs(60);

/// The longest time between two warnings about the same record.
const LONGEST_SILENCE: Duration = Duration::from_secs(60 * 60);

/// A partition whose next record fails, from its first failure on.
#[derive(Debug, Clone)]
struct FailingRecord {
    failing: FailingPartition,
    since: Instant,
    /// The next warning is due when it has failed for so long.
    warned_after: Duration,
    /// True while the state is built anew under the same grant: the record comes again behind that.
    is_rebuilt: bool,
}

/// At most one record of each partition, since the next one comes only when it was handled.
#[derive(Debug, Default)]
pub(super) struct FailingRecords(Mutex<BTreeMap<TopicPartition, FailingRecord>>);

impl FailingRecords {
    fn records(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, FailingRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A record failed once more, and is tried again. Returns for how long it has failed where people are to be warned.
    ///
    /// `failing` says when that was; the first failure of the same record counts.
    pub(super) fn failed(&self, now: Instant, failing: FailingPartition) -> Option<Duration> {
        let mut records = self.records();
        let record = records
            .entry(failing.partition.clone())
            .and_modify(|record| record.again(now, &failing))
            .or_insert_with(|| FailingRecord::new(now, failing));
        record.warning(now)
    }

    /// Processing begins under `epoch`. Returns the record of the partition that failed under it before, if one did: the state
    /// was built anew since. Under another one nothing is known.
    pub(super) fn begin(&self, at: &TopicPartition, epoch: Epoch) -> Option<Offset> {
        let mut records = self.records();
        let record = records.get_mut(at)?;
        if record.failing.epoch == epoch {
            record.is_rebuilt = false;
            return Some(record.failing.offset);
        }
        records.remove(at);
        None
    }

    /// The record of the partition that failed is not tried again from `now` on. True = it was shown.
    pub(super) fn end(&self, now: Instant, at: &TopicPartition) -> bool {
        self.records().remove(at).is_some_and(|record| record.has_failed_for_long(now))
    }

    /// The state of the partition is of no use, and is built anew.
    pub(super) fn rebuild(&self, at: &TopicPartition) {
        if let Some(record) = self.records().get_mut(at) {
            record.is_rebuilt = true;
        }
    }

    /// The partition was lost; if its state is not built anew, nothing is tried again here.
    pub(super) fn lose(&self, at: &TopicPartition) {
        self.records().retain(|failed, record| failed != at || record.is_rebuilt);
    }

    /// Those that have failed for long by `now`.
    pub(super) fn shown(&self, now: Instant) -> Vec<FailingPartition> {
        let records = self.records();
        let long = records.values().filter(|record| record.has_failed_for_long(now));
        long.map(|record| record.failing.clone()).collect()
    }
}

impl FailingRecord {
    const fn new(since: Instant, failing: FailingPartition) -> Self {
        Self { failing, since, warned_after: SHOWN_AFTER, is_rebuilt: false }
    }

    fn again(&mut self, now: Instant, failing: &FailingPartition) {
        if self.failing.offset != failing.offset {
            *self = Self::new(now, failing.clone());
        }
        (self.failing.epoch, self.failing.reason) = (failing.epoch, failing.reason.clone());
    }

    fn has_failed_for_long(&self, now: Instant) -> bool {
        now.duration_since(self.since) >= SHOWN_AFTER
    }

    /// The time for which it has failed, after a minute, and then each time that it has doubled, and each hour.
    fn warning(&mut self, now: Instant) -> Option<Duration> {
        let failed_for = now.duration_since(self.since);
        let is_due = failed_for >= self.warned_after;
        is_due.then(|| {
            self.warned_after = failed_for + failed_for.min(LONGEST_SILENCE);
            failed_for
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(epoch: u64, offset: i64, since_unix_ms: i64) -> FailingPartition {
        FailingPartition {
            partition: TopicPartition::try_from(("t", 0)).expect("a valid name"),
            epoch: Epoch(epoch),
            offset: Offset::new(offset).expect("not negative"),
            reason: "no disk".to_owned(),
            since_unix_ms,
        }
    }

    #[test]
    fn a_record_that_fails_for_long_is_shown_and_warned_of_less_and_less_often() {
        let (records, begun) = (FailingRecords::default(), Instant::now());
        let mut warned = Vec::new();
        for seconds in (0..4 * 3_600).step_by(10) {
            let now = begun + Duration::from_secs(seconds);
            let failed_for = records.failed(now, failing(5, 7, i64::try_from(seconds).expect("small")));
            warned.extend(failed_for.map(|failed_for| failed_for.as_secs() / 60));
            let shown = records.shown(now);
            assert_eq!(shown, if seconds < 60 { vec![] } else { vec![failing(5, 7, 0)] }, "{seconds}");
        }
        assert_eq!(warned, [1, 2, 4, 8, 16, 32, 64, 124, 184]);
        let end = begun + Duration::from_secs(4 * 3_600);
        assert!(records.end(end, &failing(5, 7, 0).partition), "it was shown");
        assert_eq!(records.shown(end), []);
    }

    #[test]
    fn another_record_or_grant_has_not_failed_yet() {
        let (records, begun) = (FailingRecords::default(), Instant::now());
        let later = begun + Duration::from_secs(3_600);
        let partition = failing(5, 7, 0).partition;
        records.failed(begun, failing(5, 7, 0));
        assert_eq!(
            records.begin(&partition, Epoch(5)),
            Some(failing(5, 7, 0).offset),
            "its state was built anew"
        );
        assert_eq!(records.shown(later).len(), 1);
        records.failed(later, failing(5, 8, 1));
        assert_eq!(records.shown(later), []);
        assert_eq!(records.begin(&partition, Epoch(6)), None);
        assert_eq!(records.shown(later + Duration::from_secs(60)), []);
    }

    #[test]
    fn nobody_is_told_of_the_end_of_what_nobody_was_told_of() {
        let (records, begun) = (FailingRecords::default(), Instant::now());
        records.failed(begun, failing(5, 7, 0));
        assert!(!records.end(begun + Duration::from_secs(59), &failing(5, 7, 0).partition));
    }

    #[test]
    fn a_record_outlives_a_partition_that_is_lost_only_while_its_state_is_built_anew() {
        let (records, begun) = (FailingRecords::default(), Instant::now());
        let (at, later) = (failing(5, 7, 0).partition, begun + Duration::from_secs(3_600));
        records.failed(begun, failing(5, 7, 0));
        records.rebuild(&at);
        records.lose(&at);
        assert_eq!(records.shown(later).len(), 1);
        assert_eq!(records.begin(&at, Epoch(5)), Some(failing(5, 7, 0).offset));
        records.lose(&at);
        assert_eq!(records.shown(later), []);
    }
}
