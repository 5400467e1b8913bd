//! The state of a runner's partitions beside their processing: failures, those that stand, and readers of states.
//! Nothing here is on the path of a record that is handled.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kafka_assigner_handler::{ErrorPolicy, RecordError, RecordFailures, Remedy};
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;

use super::failing_records::FailingRecords;
use super::held::HeldByRunner;
use super::pauses::Pauses;
use super::seeks::Seeks;
use super::state_reads::StateReaders;
use crate::status::StoppedPartition;

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
    /// Those that stand, or will again once their state is built anew.
    stops: Mutex<BTreeMap<TopicPartition, PartitionStop>>,
    fatal: OnceLock<String>,
    counts: [AtomicU64; 4],
    processed: AtomicU64,
    pub(super) readers: StateReaders<S>,
    pub(super) held: Arc<HeldByRunner>,
    pub(super) pauses: Pauses,
    pub(super) seeks: Seeks,
    pub(super) failing: FailingRecords,
}

/// A partition that stands.
struct PartitionStop {
    stopped: StoppedPartition,
    /// True if its handler could not end its work: then it stands before whatever comes, and there need be no record.
    is_of_drain: bool,
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
            stops: Mutex::default(),
            fatal: OnceLock::new(),
            counts: Default::default(),
            processed: AtomicU64::new(0),
            readers: StateReaders::default(),
            held: Arc::default(),
            pauses: Pauses::default(),
            seeks: Seeks::default(),
            failing: FailingRecords::default(),
        }
    }
}

impl<S> RunnerWatch<S> {
    fn failures(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, RecordFailures>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stops(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, PartitionStop>> {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The partition stands.
    pub(super) fn stop(&self, stopped: StoppedPartition) {
        let stop = PartitionStop { stopped, is_of_drain: false };
        self.stops().insert(stop.stopped.partition.clone(), stop);
    }

    /// The partition stands, since its handler could not end its work: no record is begun under this epoch.
    pub(super) fn stop_after_drain(&self, stopped: StoppedPartition) {
        let stop = PartitionStop { stopped, is_of_drain: true };
        self.stops().insert(stop.stopped.partition.clone(), stop);
    }

    /// True if the handler could not end its work under `epoch`, whatever became of its state since.
    pub(super) fn stands_after_drain(&self, at: &TopicPartition, epoch: Epoch) -> bool {
        self.stops().get(at).is_some_and(|stop| stop.is_of_drain && stop.stopped.epoch == epoch)
    }

    /// The handler has ended its work, or is to go on with it under another grant.
    pub(super) fn end_stop_after_drain(&self, at: &TopicPartition) {
        self.end_stop_if(at, |stop| stop.is_of_drain);
    }

    fn end_stop_if(&self, at: &TopicPartition, is_over: impl Fn(&PartitionStop) -> bool) {
        let mut stops = self.stops();
        if stops.get(at).is_some_and(is_over) {
            stops.remove(at);
        }
    }

    /// The partition does not stand here any more.
    pub(super) fn end_stop(&self, at: &TopicPartition) {
        self.stops().remove(at);
    }

    /// The partition has its state, or begins: it does not stand before its grant any more.
    pub(super) fn end_stop_before_grant(&self, at: &TopicPartition) {
        self.end_stop_if(at, |stop| stop.stopped.epoch == Epoch::default());
    }

    /// The partition was given up. What keeps it from beginning is kept: the next try may meet the same, and would look as if it
    /// stood no more and then again.
    pub(super) fn end_stop_of_grant(&self, at: &TopicPartition) {
        self.end_stop_if(at, |stop| stop.stopped.epoch != Epoch::default());
    }

    /// Processing begins under `epoch`. One that stood under the same grant and was prepared again has to stand again; under
    /// another one it has its try.
    pub(super) fn end_stop_of_other_grant(&self, at: &TopicPartition, epoch: Epoch) {
        self.end_stop_if(at, |stop| stop.stopped.epoch != epoch);
    }

    /// The reason for which the partition stood before the record at `offset` under the same grant.
    pub(super) fn stop_reason(&self, at: &TopicPartition, epoch: Epoch, offset: Offset) -> Option<String> {
        let stops = self.stops();
        let PartitionStop { stopped, .. } = stops.get(at)?;
        (stopped.offset == offset && stopped.epoch == epoch).then(|| stopped.reason.clone())
    }

    pub(super) fn stopped(&self) -> Vec<StoppedPartition> {
        self.stops().values().map(|stop| stop.stopped.clone()).collect()
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
