//! Watches a runner, and reads its states.

use std::fmt;

use kafka_assigner_handler::StartPosition;
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::key::KeyHash;
use kafka_assigner_types::name::{InvalidName, TopicName};
use tokio::time::Instant;

use super::commits::{Commits, ConfirmError};
use super::held::{HeldPartition, RunnerPartition};
use super::runner_watch::{RecordCounts, SharedWatch};
use super::seeks::SeekError;
use super::state_reads::StateReadError;
use super::topic_sizes::TopicSizes;
use crate::status::{FailingPartition, StoppedPartition};

/// Watches a [`KafkaRunner`](crate::kafka::KafkaRunner) while its consumer runs, and reads the states of its partitions;
/// cheap to clone.
pub struct RunnerHandle<S> {
    pub(super) watch: SharedWatch<S>,
    pub(super) commits: Commits,
    pub(super) sizes: TopicSizes,
}

impl<S> Clone for RunnerHandle<S> {
    fn clone(&self) -> Self {
        Self { watch: self.watch.clone(), commits: self.commits.clone(), sizes: self.sizes.clone() }
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

    /// As [`read`](Self::read), for the partition of `topic` that `key` belongs to by `hash`: that of the producers which write
    /// records with these keys. Java's and librdkafka's differ by default.
    ///
    /// The number of partitions is that which a broker named in the last ten seconds, or in the last five minutes while none
    /// answers. The first read of a topic waits for it, at most a second after other topics. Where a topic grows, keys belong to
    /// other partitions from then on, at each producer once it knows: their earlier records stay where they are.
    ///
    /// Cancel safe: the look may be made all the same.
    ///
    /// # Errors
    ///
    /// As `read`; [`StateReadError::PartitionsUnknown`] where no broker says how many partitions the topic has.
    pub async fn read_by_key<R: Send + 'static>(
        &self,
        topic: &str,
        key: &[u8],
        hash: KeyHash,
        look: impl FnOnce(&S, Epoch) -> R + Send + 'static,
    ) -> Result<R, StateReadError> {
        self.read(&self.partition_of(topic, key, hash).await?, look).await
    }

    /// The partition of `topic` that `key` belongs to, as [`read_by_key`](Self::read_by_key) finds it, wherever it is owned.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// [`StateReadError::PartitionsUnknown`]: no broker says how many partitions the topic has.
    pub async fn partition_of(
        &self,
        topic: &str,
        key: &[u8],
        hash: KeyHash,
    ) -> Result<TopicPartition, StateReadError> {
        let unknown = |why| StateReadError::PartitionsUnknown { topic: topic.to_owned(), why };
        let name: TopicName = topic.parse().map_err(|error: InvalidName| unknown(error.to_string()))?;
        let size = self.sizes.of(&name).await.map_err(unknown)?;
        Ok(TopicPartition::new(name, hash.partition(key, size)))
    }

    /// Says that the effects of all records of a partition before `next` are safe, as
    /// [`PartitionContext::confirm`](crate::kafka::PartitionContext::confirm) does. `epoch` is the one beside which they were
    /// processed: a late word does not count for another owner's records. One for a state that was built anew under the same epoch
    /// does, so a handler that goes back confirms by its context, which belongs to the state.
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

    /// Begins no more records of a partition under `epoch`, until [`resume`](Self::resume). The one that is in the works is
    /// handled to its end.
    ///
    /// It may be called as soon as the epoch is known, for example in [`RecordHandler::begin`](crate::kafka::RecordHandler::begin).
    /// The partition stays with its owner and can be read, drained and moved. A pause survives nothing: the next owner
    /// processes, as does this one under another epoch. Under one that is not owned it has no effect.
    pub fn pause(&self, partition: &TopicPartition, epoch: Epoch) {
        self.watch.pauses.of(partition).begin(epoch);
    }

    /// Ends the pause of a partition under `epoch`, if there is one.
    pub fn resume(&self, partition: &TopicPartition, epoch: Epoch) {
        self.watch.pauses.of(partition).end(epoch);
    }

    /// Goes on at another place of a partition that is owned under `epoch`, and returns its offset.
    ///
    /// The place is committed at once, under the claim, so that every later owner goes on there as well. Where it is ahead, the
    /// records in between are read into the state, without effects; what is not confirmed of those before counts as confirmed.
    /// Where it is behind, the state is dropped and built anew up to there, and the records from there on are processed again. A
    /// partition that stands tries what comes next. A state that says itself how far it is is to be set back by whoever keeps it,
    /// or reading goes on where it says. A pause goes on; pause it first where it is not to go on at once. In `overlap` a new owner
    /// that has begun wins: seek while nothing moves.
    ///
    /// Never wait for it in a call of the handler for the same partition, whose task takes it.
    ///
    /// Cancel safe: it may go on there all the same.
    ///
    /// # Errors
    ///
    /// [`SeekError`], by variant.
    pub async fn seek(
        &self,
        partition: &TopicPartition,
        epoch: Epoch,
        to: StartPosition,
    ) -> Result<Offset, SeekError> {
        self.watch.seeks.seek(partition, epoch, to).await
    }

    /// The partitions that are held here, by name.
    #[must_use]
    pub fn partitions(&self) -> Vec<RunnerPartition> {
        self.watch.held.all().into_iter().map(|(at, held)| self.partition(at, &held)).collect()
    }

    fn partition(&self, partition: TopicPartition, held: &HeldPartition) -> RunnerPartition {
        let known = self.commits.known(&partition);
        let epoch = known.map(|(epoch, ..)| epoch);
        RunnerPartition {
            phase: held.phase,
            epoch,
            is_paused: epoch.is_some_and(|epoch| self.watch.pauses.of(&partition).holds(epoch)),
            warmed: held.warmed(),
            processed: known.map(|(_, processed, _)| processed),
            committed: known.map(|(.., committed)| committed),
            log_end: held.log_end,
            partition,
        }
    }

    /// The records that were not handled, and those that are gone.
    #[must_use]
    pub fn counts(&self) -> RecordCounts {
        self.watch.counts()
    }

    /// The records that were processed since the runner was made, those that were passed over included. One turn of a partition
    /// is counted at its end.
    #[must_use]
    pub fn processed(&self) -> u64 {
        self.watch.processed()
    }

    /// The partitions whose next record has failed for a minute or longer, and is tried again, in their order.
    #[must_use]
    pub fn failing(&self) -> Vec<FailingPartition> {
        self.watch.failing.shown(Instant::now())
    }

    /// The partitions that stand before a record that can't be handled, in their order.
    #[must_use]
    pub fn stopped(&self) -> Vec<StoppedPartition> {
        self.watch.stops.all()
    }
}
