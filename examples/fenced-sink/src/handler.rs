//! All that this consumer does with records.

use std::sync::Arc;

use kafka_assigner_client::kafka::{
    OpenedState, OrUnchanged as _, PartitionContext, Preparation, Record, RecordError, RecordHandler,
    StateSnapshot,
};
use kafka_assigner_client::{Offset, TopicPartition};
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

/// The claim ended before the record was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the claim is not valid")]
struct Lapsed;

impl Totals {
    pub(crate) const fn new(sink: Arc<Sink>) -> Self {
        Self(sink)
    }

    /// The position of the database, read beside the runtime: it may have to wait for who writes.
    async fn position(&self, at: &TopicPartition) -> anyhow::Result<Position> {
        let (sink, at) = (self.0.clone(), at.clone());
        Ok(spawn_blocking(move || sink.position(&at)).await??)
    }
}

fn effect(record: &Record) -> Effect {
    let bytes = record.value().map_or(0, <[u8]>::len);
    Effect {
        offset: record.offset().get(),
        key: String::from_utf8_lossy(record.key().unwrap_or_default()).into_owned(),
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
    }
}

impl RecordHandler for Totals {
    type State = Known;

    /// The database says how far it is, and in which topic; what the group has committed lies before that, or at it.
    async fn open(
        &self,
        preparation: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Known>, RecordError> {
        if preparation.is_anew {
            return Ok(OpenedState::empty(Known::default()));
        }
        let Position { next_offset, topic_id } = self.position(&preparation.partition).await.unchanged()?;
        Ok(OpenedState::up_to(Known { next_offset }, Offset::new(next_offset)?, topic_id))
    }

    /// Another owner has handled this record and committed it, so it has to be in the database.
    async fn catch_up(
        &self,
        at: &TopicPartition,
        known: &mut Known,
        record: &Record,
    ) -> Result<(), RecordError> {
        let offset = record.offset().get();
        if offset >= known.next_offset {
            known.next_offset = self.position(at).await.unchanged()?.next_offset;
        }
        let next_offset = known.next_offset;
        if offset >= next_offset {
            return Err(RecordError::unchanged(Behind { offset, next_offset }));
        }
        Ok(())
    }

    /// Before the first record is processed, the sink knows the new epoch: whoever owned the partition before can write
    /// nothing any more.
    async fn begin(&self, context: &PartitionContext, _: &mut Known) -> Result<(), RecordError> {
        let (sink, context) = (self.0.clone(), context.clone());
        spawn_blocking(move || sink.take(context.partition(), context.epoch().0, context.topic_id()))
            .await
            .unchanged()?
            .unchanged()
    }

    /// An error is tried again, one for a fence too: the runner ends that as soon as the consumer learns that the
    /// partition is another's.
    async fn process(
        &self,
        context: &PartitionContext,
        _: &mut Known,
        record: &Record,
    ) -> Result<(), RecordError> {
        let (sink, owner, effect) = (self.0.clone(), context.clone(), effect(record));
        let written = spawn_blocking(move || {
            // The runner has asked, but that was before this thread was found. It saves the sink the trouble; what
            // comes between this line and the next is the sink's.
            if !owner.may_act() {
                return Err(RecordError::unchanged(Lapsed));
            }
            sink.apply(owner.partition(), owner.epoch().0, &effect).unchanged()
        });
        let outcome = written.await.unchanged()??;
        debug!(partition = %context.partition(), offset = %record.offset(), ?outcome, "record");
        Ok(())
    }
}

#[cfg(test)]
#[path = "handler_test.rs"]
mod handler_test;
