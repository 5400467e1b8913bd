//! A partition in the application's hands.

use std::sync::Arc;

use kafka_assigner_group_member::KafkaError;
use kafka_assigner_types::id::{Offset, TopicPartition};

use crate::cell::PartitionCell;
use crate::shared::ConsumerCore;
use crate::{PartitionBatch, PartitionEnd};

/// A partition that this member owns, from when it is given until it is released.
///
/// Brokers take a commit for any partition from a member of the right generation, owned or not. Here a commit is a call of
/// the partition itself, so there is no way to name another one; and after a loss it is refused before a broker is asked.
///
/// Dropping the value releases the partition.
#[derive(Debug)]
pub struct OwnedPartition {
    cell: Arc<PartitionCell>,
    core: Arc<ConsumerCore>,
}

/// A commit that was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommitFailure {
    /// The partition is owned no more; its next owner begins at what was committed before.
    #[error("the partition is not owned any more")]
    Lost,
    /// The offset lies behind everything that was handed out since the partition is owned, since it was sought, or since
    /// the log lost the records and it is read on from elsewhere.
    #[error("the record was not handed out")]
    NotHandedOut,
    /// The broker refuses it for good.
    #[error("the broker refuses the commit with error {}", .0.0)]
    Refused(KafkaError),
}

impl OwnedPartition {
    pub(crate) const fn new(cell: Arc<PartitionCell>, core: Arc<ConsumerCore>) -> Self {
        Self { cell, core }
    }

    /// The topic and the number.
    #[must_use]
    pub fn partition(&self) -> &TopicPartition {
        &self.cell.partition
    }

    /// The generation of the group, or the member's epoch (KIP-848), in which the partition was given.
    #[must_use]
    pub fn generation(&self) -> i32 {
        self.cell.generation
    }

    /// The next records, at least one; `None` when the partition has ended, see [`ended`](Self::ended). Not to call it
    /// pauses the partition: what is read ahead is bounded.
    ///
    /// # Cancel safety
    /// Nothing is lost where the call is dropped.
    pub async fn next_batch(&mut self) -> Option<PartitionBatch> {
        let _waiting = self.core.asks();
        loop {
            let mut changed = std::pin::pin!(self.cell.changed.notified());
            changed.as_mut().enable();
            if let Some(next) = self.try_next() {
                return next.ok();
            }
            changed.await;
        }
    }

    /// The next records or the end, where one of them is there.
    pub(crate) fn try_next(&self) -> Option<Result<PartitionBatch, PartitionEnd>> {
        let next = self.cell.pop()?;
        if next.is_ok() {
            // There is room for more.
            self.core.work.notify_one();
        }
        Some(next)
    }

    /// The reason for which there are no more records; `None` while there are.
    #[must_use]
    pub fn ended(&self) -> Option<PartitionEnd> {
        self.cell.ended()
    }

    /// Everything up to `last`, included, is done. It is committed in the background, within the commit interval, and
    /// before the partition is given up. Less than what was done before changes nothing.
    ///
    /// # Errors
    /// [`CommitFailure::Lost`] and [`CommitFailure::NotHandedOut`].
    pub fn done_through(&self, last: Offset) -> Result<(), CommitFailure> {
        if self.is_lost() {
            return Err(CommitFailure::Lost);
        }
        if self.cell.done(last) { Ok(()) } else { Err(CommitFailure::NotHandedOut) }
    }

    /// As [`done_through`](Self::done_through), and waits until it is committed. Bounded by the ownership: where brokers
    /// can't be reached for long, the partition is lost at last.
    ///
    /// # Errors
    /// [`CommitFailure`], by variant.
    ///
    /// # Cancel safety
    /// If the call is dropped, the commit is made all the same, later.
    pub async fn commit_through(&self, last: Offset) -> Result<(), CommitFailure> {
        if self.is_lost() {
            return Err(CommitFailure::Lost);
        }
        let moves = self.cell.await_commit(last).ok_or(CommitFailure::NotHandedOut)?;
        self.core.work.notify_one();
        loop {
            let mut changed = std::pin::pin!(self.cell.changed.notified());
            changed.as_mut().enable();
            if let Some(outcome) = self.cell.commit_outcome(last, moves) {
                return outcome;
            }
            if self.is_lost() {
                return Err(CommitFailure::Lost);
            }
            changed.await;
        }
    }

    /// Reads on from `offset`. What was handed out before counts no more for commits; nothing is committed by this.
    pub fn seek(&mut self, offset: Offset) {
        self.cell.seek(offset);
        self.core.work.notify_one();
    }

    /// Gives the partition back. Where the group takes it away, this is what the group waits for; otherwise it stays
    /// owned, unread, until the group takes it away.
    pub fn release(self) {
        drop(self);
    }

    fn is_lost(&self) -> bool {
        self.cell.ended() == Some(PartitionEnd::Lost)
    }
}

impl Drop for OwnedPartition {
    fn drop(&mut self) {
        self.cell.release();
        self.core.work.notify_one();
    }
}
