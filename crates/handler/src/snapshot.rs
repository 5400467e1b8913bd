//! Snapshots of states, so that a rebuild does not begin at the beginning.

use std::error::Error as StdError;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;

/// A state at one offset, as its handler wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSnapshot {
    /// The first offset that is not in it.
    pub next_offset: Offset,
    /// The topic of which it is; `None` = not known.
    pub topic_id: Option<TopicId>,
    /// The handler's bytes.
    pub bytes: Bytes,
}

/// Keeps the last snapshot of each partition, for this process or for all.
pub trait SnapshotStore: Send + Sync + 'static {
    /// The last snapshot of a partition; `None` = there is none.
    ///
    /// # Errors
    ///
    /// Anything; the state is then built from the beginning.
    fn load<'a>(
        &'a self,
        partition: &'a TopicPartition,
    ) -> BoxFuture<'a, Result<Option<StateSnapshot>, Box<dyn StdError + Send + Sync>>>;

    /// Keeps a snapshot in place of the one before. Written whole or not at all.
    ///
    /// # Errors
    ///
    /// Anything; the one before then counts.
    fn save<'a>(
        &'a self,
        partition: &'a TopicPartition,
        snapshot: StateSnapshot,
    ) -> BoxFuture<'a, Result<(), Box<dyn StdError + Send + Sync>>>;
}

impl<T: SnapshotStore + ?Sized> SnapshotStore for Arc<T> {
    fn load<'a>(
        &'a self,
        partition: &'a TopicPartition,
    ) -> BoxFuture<'a, Result<Option<StateSnapshot>, Box<dyn StdError + Send + Sync>>> {
        (**self).load(partition)
    }

    fn save<'a>(
        &'a self,
        partition: &'a TopicPartition,
        snapshot: StateSnapshot,
    ) -> BoxFuture<'a, Result<(), Box<dyn StdError + Send + Sync>>> {
        (**self).save(partition, snapshot)
    }
}
