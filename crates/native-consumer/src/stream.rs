//! All records of a consumer, one after the other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_kafka::records::KafkaRecord;
use kafka_assigner_types::id::{Offset, TopicPartition};

use crate::partition::{CommitFailure, OwnedPartition};
use crate::{NativeConsumer, NativeFailure, PartitionEnd, ReceiveFailure};

/// All records of a consumer, one after the other, as other clients give them.
///
/// A partition that the group takes away is released with the next [`recv`](Self::recv): what was said to be
/// [`done`](Self::done) by then is committed first.
#[derive(Debug)]
pub struct RecordStream {
    consumer: NativeConsumer,
    partitions: VecDeque<StreamedPartition>,
}

/// A record with its partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamedRecord {
    /// The partition.
    pub partition: TopicPartition,
    /// The generation in which the partition was given.
    pub generation: i32,
    /// The record.
    pub record: KafkaRecord,
}

#[derive(Debug)]
struct StreamedPartition {
    owned: OwnedPartition,
    batch: VecDeque<KafkaRecord>,
}

impl RecordStream {
    /// The records of `consumer`.
    #[must_use]
    pub const fn new(consumer: NativeConsumer) -> Self {
        Self { consumer, partitions: VecDeque::new() }
    }

    /// The consumer.
    #[must_use]
    pub const fn consumer(&self) -> &NativeConsumer {
        &self.consumer
    }

    /// The next record; `None` when the consumer is closed. Partitions take turns. Whoever does not call it for the poll
    /// interval loses all partitions until it does.
    ///
    /// # Errors
    /// [`ReceiveFailure`], by variant.
    ///
    /// # Cancel safety
    /// Nothing is lost where the call is dropped.
    pub async fn recv(&mut self) -> Result<Option<StreamedRecord>, ReceiveFailure> {
        let core = Arc::clone(self.consumer.core());
        let _waiting = core.asks();
        loop {
            let mut changed = std::pin::pin!(core.changed.notified());
            changed.as_mut().enable();
            self.take_arrivals();
            if let Some(next) = self.take_next() {
                return next.map(Some);
            }
            if let Some(outcome) = core.outcome() {
                return Ok(outcome.map(|()| None)?);
            }
            changed.await;
        }
    }

    fn take_arrivals(&mut self) {
        let core = self.consumer.core();
        while let Some(cell) = core.next_arrival() {
            let owned = OwnedPartition::new(cell, Arc::clone(core));
            self.partitions.push_back(StreamedPartition { owned, batch: VecDeque::new() });
        }
    }

    /// The next record, where there is one. A partition that gave its last one of a batch goes behind the others.
    fn take_next(&mut self) -> Option<Result<StreamedRecord, ReceiveFailure>> {
        for _ in 0..self.partitions.len() {
            let mut next = self.partitions.pop_front()?;
            if let Some(reason) = next.owned.ended() {
                let partition = next.owned.partition().clone();
                match reason {
                    PartitionEnd::Revoked | PartitionEnd::Lost => continue,
                    reason => return Some(Err(ReceiveFailure::Partition { partition, reason })),
                }
            }
            let record = next.take();
            let goes_on = !next.batch.is_empty();
            if goes_on {
                self.partitions.push_front(next);
            } else {
                self.partitions.push_back(next);
            }
            if let Some(record) = record {
                return Some(Ok(record));
            }
        }
        None
    }

    /// The record is done, with all before it in its partition. It is committed in the background, within the commit
    /// interval, and before the partition is given up.
    ///
    /// # Errors
    /// [`CommitFailure::Lost`] where the partition is not owned any more, or again.
    pub fn done(&self, record: &StreamedRecord) -> Result<(), CommitFailure> {
        self.owner_of(record)?.done_through(offset_of(record))
    }

    /// As [`done`](Self::done), and waits until it is committed.
    ///
    /// # Errors
    /// [`CommitFailure`], by variant.
    ///
    /// # Cancel safety
    /// If the call is dropped, the commit is made all the same, later.
    pub async fn commit(&self, record: &StreamedRecord) -> Result<(), CommitFailure> {
        self.owner_of(record)?.commit_through(offset_of(record)).await
    }

    fn owner_of(&self, record: &StreamedRecord) -> Result<&OwnedPartition, CommitFailure> {
        let is_it = |owned: &&OwnedPartition| {
            owned.partition() == &record.partition && owned.generation() == record.generation
        };
        self.partitions.iter().map(|streamed| &streamed.owned).find(is_it).ok_or(CommitFailure::Lost)
    }

    /// Releases all partitions, and closes the consumer; see [`NativeConsumer::close`].
    ///
    /// # Errors
    /// [`NativeFailure`] where the member could not go on before.
    ///
    /// # Cancel safety
    /// If the call is dropped, the consumer closes all the same.
    pub async fn close(self, within: Duration) -> Result<(), NativeFailure> {
        drop(self.partitions);
        self.consumer.close(within).await
    }
}

impl StreamedPartition {
    fn take(&mut self) -> Option<StreamedRecord> {
        if self.batch.is_empty() {
            self.batch = self.owned.try_next()?.ok()?.records.into();
        }
        let record = self.batch.pop_front()?;
        let (partition, generation) = (self.owned.partition().clone(), self.owned.generation());
        Some(StreamedRecord { partition, generation, record })
    }
}

fn offset_of(record: &StreamedRecord) -> Offset {
    // Records are decoded from batches whose offsets are not negative.
    Offset::new(record.record.offset).unwrap_or_default()
}
