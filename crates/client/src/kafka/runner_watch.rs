//! The state of a runner's partitions beside their processing: failures, those that stand, and readers of states.
//! Nothing here is on the path of a record that is handled.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kafka_assigner_handler::{ErrorPolicy, RecordError, RecordFailures, Remedy};
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;

use super::failing_records::FailingRecords;
use super::held::HeldByRunner;
use super::partition_stops::PartitionStops;
use super::pauses::Pauses;
use super::seeks::Seeks;
use super::state_reads::StateReaders;

/// The records that were not handled, and those that are gone, since the runner was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordCounts {
    /// Attempts that failed and were repeated.
    pub retried: u64,
    /// Records that were passed over, in processing or in a rebuild.
    pub skipped: u64,
    /// Records that were written to the dead-letter topic.
    pub dead_lettered: u64,
    /// Gaps that were told.
    pub gaps: u64,
}

/// Shared by a runner, its tasks and its handles.
pub(super) struct RunnerWatch<S> {
    failures: Mutex<BTreeMap<TopicPartition, RecordFailures>>,
    /// The topic under whose id each partition was prepared last.
    topics: Mutex<BTreeMap<TopicPartition, TopicId>>,
    fatal: OnceLock<String>,
    counts: [AtomicU64; 4],
    processed: AtomicU64,
    pub(super) readers: StateReaders<S>,
    pub(super) held: Arc<HeldByRunner>,
    pub(super) pauses: Pauses,
    pub(super) seeks: Seeks,
    pub(super) failing: FailingRecords,
    pub(super) stops: PartitionStops,
}

/// The counters, in the order of their fields.
#[derive(Debug, Clone, Copy)]
pub(super) enum CountedRecord {
    Retry,
    Skip,
    DeadLetter,
    Gap,
}

impl<S> Default for RunnerWatch<S> {
    fn default() -> Self {
        Self {
            failures: Mutex::default(),
            topics: Mutex::default(),
            fatal: OnceLock::new(),
            counts: Default::default(),
            processed: AtomicU64::new(0),
            readers: StateReaders::default(),
            held: Arc::default(),
            pauses: Pauses::default(),
            seeks: Seeks::default(),
            failing: FailingRecords::default(),
            stops: PartitionStops::default(),
        }
    }
}

impl<S> RunnerWatch<S> {
    fn failures(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, RecordFailures>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more failure of the record at `offset`. Returns the remedy, and the number of failures.
    pub(super) fn decide(
        &self,
        at: &TopicPartition,
        offset: Offset,
        error: &RecordError,
        policy: &ErrorPolicy,
    ) -> (Remedy, u32) {
        let mut failures = self.failures();
        let of_partition = failures.entry(at.clone()).or_insert_with(|| RecordFailures::new(rand::random()));
        let remedy = of_partition.decide(offset, error, policy);
        (remedy, of_partition.attempts(offset))
    }

    /// The failures of a partition, for a look before its records are read. Those of an earlier topic of the name are forgotten:
    /// the records at their offsets are others.
    pub(super) fn failures_of(&self, at: &TopicPartition, topic_id: Option<TopicId>) -> RecordFailures {
        if self.is_of_another_topic(at, topic_id) {
            self.forget_failures(at);
        }
        self.failures().get(at).cloned().unwrap_or_default()
    }

    /// Notes the topic of a partition; true where it is known to have been another one.
    fn is_of_another_topic(&self, at: &TopicPartition, topic_id: Option<TopicId>) -> bool {
        let Some(id) = topic_id else { return false };
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        topics.insert(at.clone(), id).is_some_and(|before| before != id)
    }

    /// Every record of the partition is tried as one that has not failed yet.
    pub(super) fn forget_failures(&self, at: &TopicPartition) {
        self.failures().remove(at);
    }

    /// The record at `offset` is passed over without a call from now on; false = too many are.
    pub(super) fn pass_over(&self, at: &TopicPartition, offset: Offset) -> bool {
        self.failures().entry(at.clone()).or_default().pass_over(offset)
    }

    /// The record at `offset` was passed over while it was processed; it may come again once the state is built anew.
    pub(super) fn give_up(&self, at: &TopicPartition, offset: Offset) {
        self.failures().entry(at.clone()).or_default().give_up(offset);
    }

    /// Nobody looks at the state of a partition from outside any more, nor commands its task.
    pub(super) fn close(&self, at: &TopicPartition) {
        self.readers.close(at);
        self.seeks.close(at);
    }

    /// The first reason counts.
    pub(super) fn set_fatal(&self, reason: String) {
        let _ = self.fatal.set(reason);
    }

    pub(super) fn fatal(&self) -> Option<String> {
        self.fatal.get().cloned()
    }

    pub(super) fn count(&self, what: CountedRecord) {
        self.counts[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// So many more records were processed.
    pub(super) fn count_processed(&self, records: u64) {
        self.processed.fetch_add(records, Ordering::Relaxed);
    }

    pub(super) fn processed(&self) -> u64 {
        self.processed.load(Ordering::Relaxed)
    }

    pub(super) fn counts(&self) -> RecordCounts {
        let [retried, skipped, dead_lettered, gaps] =
            [0, 1, 2, 3].map(|what: usize| self.counts[what].load(Ordering::Relaxed));
        RecordCounts { retried, skipped, dead_lettered, gaps }
    }
}

/// Shared by all tasks of a runner; cheap to clone.
pub(super) type SharedWatch<S> = Arc<RunnerWatch<S>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_passed_over_in_an_earlier_topic_of_the_name_is_not_in_the_next_one() {
        let watch = RunnerWatch::<()>::default();
        let at = TopicPartition::try_from(("t", 0)).expect("a valid name");
        let [first, second] = [1, 2].map(|byte| TopicId::new([byte; 16]).expect("not zero"));
        let offset = Offset::ZERO.next();
        let passes_over = |id| watch.failures_of(&at, id).passes_over(offset);
        assert!(!passes_over(Some(first)));
        assert!(watch.pass_over(&at, offset));
        assert!(passes_over(Some(first)) && passes_over(None), "it is the same topic");
        assert!(!passes_over(Some(second)), "a record of the new topic would be in no state");
    }
}
