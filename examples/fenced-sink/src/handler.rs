//! All that this consumer does with records.

use std::sync::Arc;

use async_trait::async_trait;
use kafka_assigner_client::kafka::{Message as _, Record, RecordHandler, Restored};
use kafka_assigner_client::{
    ClaimEnded, HandlerError, Offset, OwnedContext, PartitionHandler, TopicPartition,
};
use tokio::task::spawn_blocking;
use tracing::debug;

use crate::sink::{Effect, Position, Sink};

/// Adds records up, by key, in a database.
#[derive(Debug, Clone)]
pub(crate) struct Totals(Arc<Sink>);

/// The known end of the database. The totals are nowhere else, so there is nothing else to keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Known {
    next_offset: i64,
}

/// The database lacks what the group has committed, for example since it was restored from a backup. Going on from the
/// committed offset would leave a hole in the totals that nobody sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the group has committed offset {offset}, but the database ends before {next_offset}: reset the group to it"
)]
pub(crate) struct Behind {
    offset: i64,
    next_offset: i64,
}

impl Totals {
    pub(crate) const fn new(sink: Arc<Sink>) -> Self {
        Self(sink)
    }
}

fn effect(record: &Record) -> Effect {
    let bytes = record.payload().map_or(0, <[u8]>::len);
    Effect {
        offset: record.offset(),
        key: String::from_utf8_lossy(record.key().unwrap_or_default()).into_owned(),
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
    }
}

#[async_trait]
impl PartitionHandler for Totals {
    /// Before the first record is processed, the sink knows the new epoch: whoever owned the partition before can write
    /// nothing any more.
    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        let (sink, context) = (self.0.clone(), context.clone());
        spawn_blocking(move || sink.take(context.partition(), context.epoch().0, context.topic_id()))
            .await??;
        Ok(())
    }
}

#[async_trait]
impl RecordHandler for Totals {
    type State = Known;

    /// The database says how far it is, and in which topic; what the group has committed lies before that, or at it.
    async fn restore(&self, partition: &TopicPartition) -> Result<Restored<Known>, HandlerError> {
        let (sink, at) = (self.0.clone(), partition.clone());
        let Position { next_offset, topic_id } = spawn_blocking(move || sink.position(&at)).await??;
        Ok(Restored { state: Known { next_offset }, next_offset: Some(Offset::new(next_offset)?), topic_id })
    }

    /// Another owner has handled this record and committed it, so it has to be in the database.
    fn catch_up(&self, at: &TopicPartition, known: &mut Known, record: &Record) -> Result<(), HandlerError> {
        let offset = record.offset();
        if offset >= known.next_offset {
            known.next_offset = self.0.position(at)?.next_offset;
        }
        let next_offset = known.next_offset;
        if offset >= next_offset { Err(Behind { offset, next_offset }.into()) } else { Ok(()) }
    }

    /// An error is tried again, one for a fence too: the runner ends that as soon as the consumer learns that the
    /// partition is another's.
    async fn process(
        &self,
        context: &OwnedContext,
        _: &mut Known,
        record: &Record,
    ) -> Result<(), HandlerError> {
        let (sink, at, claim) = (self.0.clone(), context.partition().clone(), context.claim().clone());
        let effect = effect(record);
        let written = spawn_blocking(move || {
            // The runner has asked, but that was before this thread was found. It saves the sink the trouble; what
            // comes between this line and the next is the sink's.
            if !claim.is_valid() {
                return Err(HandlerError::from(ClaimEnded));
            }
            Ok(sink.apply(&at, claim.epoch().0, &effect)?)
        });
        let outcome = written.await??;
        debug!(partition = %context.partition(), offset = record.offset(), ?outcome, "record");
        Ok(())
    }
}

#[cfg(test)]
#[path = "handler_test.rs"]
mod handler_test;
