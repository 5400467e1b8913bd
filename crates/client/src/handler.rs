//! The trait that a user implements.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use crate::context::{OwnedContext, ReservedContext, WarmContext};
use crate::status::{FailingPartition, StoppedPartition};
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};

/// Any error of a handler; its text is logged and, for a failed preparation, shown to operators.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// The error of an [`assigned`](PartitionHandler::assigned) after which the preparation is of no use: the partition
/// is released and prepared again before the next try. A panic counts the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what was prepared can't be used")]
pub struct Spoiled;

/// Handles the changes of partitions, one call at a time for each partition.
///
/// ```text
///  warm ──► (reserved) ──► assigned ──► (processing) ──► drain ──► release
///    └──────────┴───────── release           ▲             ├─ or assigned, where the move was cancelled
///                                            └─────────────┘
///  lost, at any moment from assigned on
/// ```
///
/// In the mode `overlap` the old owner is drained after the new one was assigned; in the stricter modes before, so
/// that no two ever act at once. `reserved` comes in the stricter modes only, for moves that catch up.
///
/// Calls for different partitions run side by side. A call that fails is made again after a wait, except `warm` and
/// `reserved` for a handoff: that handoff is declined. A call may take as long as it needs; the service bounds how long a
/// handoff may stand still, and calls whose result is not wanted any more see
/// [`WarmContext::cancelled`] or [`OwnedContext::cancelled`].
#[async_trait]
pub trait PartitionHandler: Send + Sync + 'static {
    /// Builds the state while the present owner works. Nothing may be written for the partition yet.
    ///
    /// Report progress through the context: the service waits as long as there is some.
    ///
    /// # Errors
    ///
    /// Anything; the partition then stays where it is, and [`release`](Self::release) is called.
    async fn warm(&self, context: &WarmContext) -> Result<(), HandlerError> {
        let _ = context;
        Ok(())
    }

    /// The old owner has stopped: takes every fence under the context's epoch, and then reads what is left into the
    /// state, without any side effect. Nobody works meanwhile, so every millisecond counts.
    ///
    /// # Errors
    ///
    /// Anything; the partition then goes back to its old owner, and [`release`](Self::release) is called.
    async fn reserved(&self, context: &ReservedContext) -> Result<(), HandlerError> {
        let _ = context;
        Ok(())
    }

    /// The partition is owned from now on: begin to process, and return once it is running.
    ///
    /// In the mode `overlap` the service tells the old owner to stop when this returns, so there is no gap. Check the context's claim
    /// before each side effect. Known from Kafka as `onPartitionsAssigned`.
    ///
    /// # Errors
    ///
    /// Anything; nothing may have been handled or be left running then. [`Spoiled`] has the partition prepared again first.
    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError>;

    /// Stops, finishes what is in flight and commits it. Returns the offset after the last handled record, or
    /// `None` where there is no such thing. The state is kept until
    /// [`release`](Self::release), and `assigned` may follow instead of it, to go on where this stopped. Nothing is
    /// [admitted](OwnedContext::admit) any more, and what was admitted has ended; [`OwnedContext::begin_record`] refuses, so
    /// that a loop that waits there can be waited for. Known from Kafka as `onPartitionsRevoked`.
    ///
    /// # Errors
    ///
    /// Anything; the partition then still counts as processed here, until another drain succeeds. Records may be begun
    /// again once this has returned, by a loop that is started again.
    async fn drain(&self, context: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        let _ = context;
        Ok(None)
    }

    /// Drops what is left of a drained, prepared, or half prepared partition.
    ///
    /// # Errors
    ///
    /// Anything; the partition then still counts as held.
    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        let _ = partition;
        Ok(())
    }

    /// The partition was taken without asking, or may be any moment now: stop at once, commit nothing, drop everything.
    /// The claim has ended already. Known from Kafka as `onPartitionsLost`.
    async fn lost(&self, context: &OwnedContext) {
        let _ = context;
    }

    /// Nothing is left of the partition here, and nothing is wanted of it any more: forget what was kept about it from one try to the
    /// next. Comes after the last [`release`](Self::release) or [`lost`](Self::lost).
    fn forgotten(&self, partition: &TopicPartition) {
        let _ = partition;
    }

    /// True if some record has been in the works for longer than `bound`: the time since the heartbeat before, each
    /// of which asks. One that failed and waits for another try is not in the works: see [`failing`](Self::failing). The answer
    /// is reported; the service ends a session whose answers stay true for its `max_poll_interval`.
    fn is_stuck(&self, bound: Duration) -> bool {
        let _ = bound;
        false
    }

    /// The partitions that are owned and stand, since a record can't be handled. Asked often, and shown in the
    /// [status](crate::ConsumerStatus).
    fn stopped(&self) -> Vec<StoppedPartition> {
        Vec::new()
    }

    /// The partitions that are owned and of which Kafka has acknowledged a committed offset since their grant, each with the epoch
    /// under which it is owned. `None` (the default) = offsets are not committed, or nobody can tell. Asked with each heartbeat.
    ///
    /// The service tells the next owner of what is named here [that an offset was committed](OwnedContext::was_committed). Name
    /// nothing of which that is not certain.
    fn committed(&self) -> Option<BTreeMap<TopicPartition, Epoch>> {
        None
    }

    /// The error of what the handler works with, as Kafka's brokers, with its text; `None` = it has lasted no longer, or there was
    /// none. Asked often, and shown in the [status](crate::ConsumerStatus) where instances answer.
    fn last_error(&self) -> Option<String> {
        None
    }

    /// The partitions that are owned and whose next record has failed for long, and is tried again. Asked often, shown in the
    /// [status](crate::ConsumerStatus), and told to the service with each heartbeat, for operators: 100 by name with the first
    /// 100 bytes of their reasons, and the number of the others.
    fn failing(&self) -> Vec<FailingPartition> {
        Vec::new()
    }

    /// The reason for which this process is of no use any more; `None` = it is. Asked often. The consumer then gives all
    /// partitions up and ends with [`ConsumerError::Fatal`](crate::ConsumerError::Fatal).
    fn fatal(&self) -> Option<String> {
        None
    }

    /// The most partitions that it can own at once; `None` (the default) = any number. A consumer whose `max_partitions` lets
    /// it get more is refused at its start.
    fn most_partitions(&self) -> Option<u32> {
        None
    }
}
