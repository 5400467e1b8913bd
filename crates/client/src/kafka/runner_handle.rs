//! Watches a runner, and reads its states.

use std::fmt;

use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};

use super::commits::{Commits, ConfirmError};
use super::runner_watch::{RecordCounts, SharedWatch};
use super::state_reads::StateReadError;
use crate::status::StoppedPartition;

/// Watches a [`KafkaRunner`](crate::kafka::KafkaRunner) while its consumer runs, and reads the states of its partitions;
/// cheap to clone.
pub struct RunnerHandle<S> {
    pub(super) watch: SharedWatch<S>,
    pub(super) commits: Commits,
}

impl<S> Clone for RunnerHandle<S> {
    fn clone(&self) -> Self {
        Self { watch: self.watch.clone(), commits: self.commits.clone() }
    }
}

impl<S> fmt::Debug for RunnerHandle<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunnerHandle").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

impl<S> RunnerHandle<S> {
    /// Calls `look` with the state of a partition and the epoch under which it is owned, in the partition's own task between
    /// two records; so keep it short. At most 128 wait for a partition.
    ///
    /// Cancel safe: the look may be made all the same.
    ///
    /// # Errors
    ///
    /// [`StateReadError`]: also where the claim ended meanwhile, since another one may own the partition by then.
    pub async fn read<R: Send + 'static>(
        &self,
        partition: &TopicPartition,
        look: impl FnOnce(&S, Epoch) -> R + Send + 'static,
    ) -> Result<R, StateReadError> {
        self.watch.readers.read(partition, look).await
    }

    /// Says that the effects of all records of a partition before `next` are safe, as
    /// [`PartitionContext::confirm`](crate::kafka::PartitionContext::confirm) does. `epoch` is the one beside which they were
    /// processed: a late word does not count for another owner's records, nor for a state that was built anew.
    ///
    /// # Errors
    ///
    /// [`ConfirmError`]: it counts for nothing.
    pub fn confirm(
        &self,
        partition: &TopicPartition,
        epoch: Epoch,
        next: Offset,
    ) -> Result<(), ConfirmError> {
        self.commits.confirm(partition, epoch, next)
    }

    /// The records that were not handled, and those that are gone.
    #[must_use]
    pub fn counts(&self) -> RecordCounts {
        self.watch.counts()
    }

    /// The partitions that stand before a record that can't be handled, in their order.
    #[must_use]
    pub fn stopped(&self) -> Vec<StoppedPartition> {
        self.watch.stopped()
    }
}
