//! The trait that a user implements to handle records.

use async_trait::async_trait;
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;

use super::record::Record;
use crate::context::OwnedContext;
use crate::handler::{HandlerError, PartitionHandler};

/// Handles the records of partitions, with a state for each partition that the runner owns.
///
/// The calls of [`PartitionHandler`] come too: `warm` before the first record is read, `reserved` before the rest is
/// read up to where the old owner stopped, `assigned` before the first one is processed, `drain` after the last one
/// and before its commit, `release` and `lost` when the state is gone. After a `drain` that failed, records are
/// processed until it is tried again.
#[async_trait]
pub trait RecordHandler: PartitionHandler {
    /// The state that the records of one partition amount to, for example counts for each key; `()` where there is none.
    type State: Default + Send + 'static;

    /// The start of a partition: a state, and the offset up to which it stands. By default an empty state
    /// and the partition's beginning.
    ///
    /// # Errors
    ///
    /// Anything; the preparation then fails.
    async fn restore(&self, partition: &TopicPartition) -> Result<Restored<Self::State>, HandlerError> {
        let _ = partition;
        Ok(Restored { state: Self::State::default(), next_offset: Some(Offset::ZERO), topic_id: None })
    }

    /// Brings the state forward by one record that another owner has handled, or is handling: no side effects.
    ///
    /// # Errors
    ///
    /// Anything. While the partition is prepared, or reserved, the preparation then fails and its state is dropped. At a
    /// start, and later, the same record comes again after a wait, for ever, with the state as this call left it: change
    /// the state last. A record is never passed over.
    fn catch_up(
        &self,
        partition: &TopicPartition,
        state: &mut Self::State,
        record: &Record,
    ) -> Result<(), HandlerError>;

    /// Handles one record: state and side effects. Put the context's epoch beside every effect.
    ///
    /// If the partition is lost, the call may be dropped at an await.
    ///
    /// # Errors
    ///
    /// Anything; the same record is tried again after a wait, for ever: it is never skipped.
    async fn process(
        &self,
        context: &OwnedContext,
        state: &mut Self::State,
        record: &Record,
    ) -> Result<(), HandlerError>;
}

/// A state to begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored<S> {
    /// The state.
    pub state: S,
    /// The first offset that is not in it; 0 = everything since the beginning is missing. `None` = the
    /// state needs no history: reading begins at the committed offset.
    pub next_offset: Option<Offset>,
    /// The id of the topic of which both are: keep [`OwnedContext::topic_id`] beside a state that outlives the process. A
    /// topic that is deleted and created again has another id, and a state with another one is dropped without a call: the
    /// partition begins with an empty state at its beginning, so let go of what a handle elsewhere shows of the former one.
    /// `None` = not known: the state counts, unless its offset is above 0 and the service says that the partition starts at
    /// 0, so that nobody has handled a record of it.
    pub topic_id: Option<TopicId>,
}
