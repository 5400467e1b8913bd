//! Snapshots of states, as a runner takes and uses them.

use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kafka_assigner_handler::{RecordError, RecordHandler, SnapshotStore, StateSnapshot};
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;
use tokio::sync::Semaphore;
use tracing::warn;

/// The store of snapshots, and how often they are taken.
#[derive(Clone)]
pub(super) struct Snapshots {
    store: Arc<dyn SnapshotStore>,
    pub(super) every: NonZeroU64,
    /// One is saved at a time: they are large, and nobody waits for them.
    saving: Arc<Semaphore>,
}

impl Snapshots {
    pub(super) fn new(store: impl SnapshotStore, every: NonZeroU64) -> Self {
        Self { store: Arc::new(store), every, saving: Arc::new(Semaphore::new(1)) }
    }

    /// The snapshot to begin with, of the topic with this id, for an owner that starts at `start`. One that is further is of
    /// somebody whose work was never committed: its effects may have been refused, so it does not count.
    pub(super) async fn load(
        &self,
        at: &TopicPartition,
        topic_id: Option<TopicId>,
        start: Offset,
    ) -> Option<StateSnapshot> {
        let loaded = self.store.load(at).await;
        let loaded = loaded.unwrap_or_else(|error| {
            warn!(partition = %at, error = &*error as &dyn std::error::Error, "no snapshot can be read");
            None
        });
        let of_another = |snapshot: &StateSnapshot| match (snapshot.topic_id, topic_id) {
            (Some(of), Some(this)) => of != this,
            _ => false,
        };
        loaded.filter(|snapshot| snapshot.next_offset <= start && !of_another(snapshot))
    }

    /// Has the handler write its state down, and saves that beside the processing. False = another one is being saved; try
    /// again later.
    ///
    /// # Errors
    ///
    /// That of the handler; the snapshot before stays.
    pub(super) fn take<H: RecordHandler>(
        &self,
        handler: &H,
        (at, topic_id): (&TopicPartition, Option<TopicId>),
        state: &H::State,
        next_offset: Offset,
    ) -> Result<bool, RecordError> {
        let Ok(turn) = self.saving.clone().try_acquire_owned() else { return Ok(false) };
        let snapshot = || handler.snapshot(at, state);
        // A panic here is no reason to end the partition's task: the state is whole, it was only read.
        let taken = catch_unwind(AssertUnwindSafe(snapshot)).unwrap_or_else(|_| Err(RecordError::panicked()));
        let Some(bytes) = taken? else { return Ok(true) };
        let (store, at) = (self.store.clone(), at.clone());
        tokio::spawn(async move {
            if let Err(error) = store.save(&at, StateSnapshot { next_offset, topic_id, bytes }).await {
                warn!(partition = %at, error = &*error as &dyn std::error::Error, "no snapshot was saved");
            }
            drop(turn);
        });
        Ok(true)
    }
}
