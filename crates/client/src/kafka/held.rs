//! The partitions that a runner holds, for those who look at it from outside.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};

use crate::context::WarmUpProgress;

/// The phase of a partition at a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionPhase {
    /// Its state is being built.
    Warming,
    /// Its state is built, and follows the owner.
    Warm,
    /// It is processed, or would be if it were not paused or did not stand.
    Owned,
    /// It was processed, and another one takes over; the state is kept until then.
    Drained,
}

/// A partition that a runner holds, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// Its phase.
    pub phase: PartitionPhase,
    /// The epoch under which it is owned; `None` = it is not.
    pub epoch: Option<Epoch>,
    /// True if no record is begun, since somebody has paused it.
    pub is_paused: bool,
    /// So much of its preparation is done, of so much, in the unit that the handler or the log has; `None` = it has told
    /// nothing, or did not know all of it.
    pub warmed: Option<(u64, u64)>,
    /// The offset after the last record that was processed; `None` = it is not owned.
    pub processed: Option<Offset>,
    /// The offset that was committed last under this grant; `None` = it is not owned.
    pub committed: Option<Offset>,
    /// The end of the log some seconds ago; `None` = no broker has answered yet.
    pub log_end: Option<Offset>,
}

impl RunnerPartition {
    /// The offsets from what is committed to the end of the log, which tools of Kafka call the lag; `None` = one of them is
    /// not known. 0 where the end that is known is older.
    #[must_use]
    pub fn lag(&self) -> Option<u64> {
        Some(self.log_end?.since(self.committed?))
    }
}

/// The partitions that are held, by name.
#[derive(Debug, Default)]
pub(super) struct HeldByRunner(Mutex<BTreeMap<TopicPartition, HeldPartition>>);

#[derive(Debug, Clone)]
pub(super) struct HeldPartition {
    pub(super) phase: PartitionPhase,
    pub(super) log_end: Option<Offset>,
    progress: Arc<WarmUpProgress>,
}

impl HeldPartition {
    /// The part of a preparation that is done, and the whole.
    pub(super) fn warmed(&self) -> Option<(u64, u64)> {
        let [done, total] = [&self.progress.done, &self.progress.total].map(|n| n.load(Ordering::Relaxed));
        (total > 0).then_some((done, total))
    }
}

impl HeldByRunner {
    fn partitions(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, HeldPartition>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The preparation of a partition begins.
    pub(super) fn begin(&self, at: &TopicPartition, progress: Arc<WarmUpProgress>) {
        let held = HeldPartition { phase: PartitionPhase::Warming, log_end: None, progress };
        self.partitions().insert(at.clone(), held);
    }

    pub(super) fn enter(&self, at: &TopicPartition, phase: PartitionPhase) {
        if let Some(held) = self.partitions().get_mut(at) {
            held.phase = phase;
        }
    }

    pub(super) fn ends_at(&self, at: &TopicPartition, log_end: Offset) {
        if let Some(held) = self.partitions().get_mut(at) {
            held.log_end = Some(log_end);
        }
    }

    pub(super) fn forget(&self, at: &TopicPartition) {
        self.partitions().remove(at);
    }

    pub(super) fn all(&self) -> Vec<(TopicPartition, HeldPartition)> {
        self.partitions().iter().map(|(at, held)| (at.clone(), held.clone())).collect()
    }
}
