//! Drains under way: each partition's by itself, so that a slow one delays no other.

use std::collections::BTreeMap;
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use kafka_assigner_types::id::{HandoffId, TopicPartition};
use tokio::task::{AbortHandle, JoinSet};

use crate::cutover::{Cutover, CutoverError};

/// The tasks that drain.
pub(super) struct DrainTasks<C> {
    cutover: Arc<C>,
    running: JoinSet<DrainEnd>,
    by_partition: BTreeMap<TopicPartition, AbortHandle>,
}

/// A drain that ended.
pub(super) struct DrainEnd {
    pub(super) at: TopicPartition,
    pub(super) handoff: HandoffId,
    pub(super) result: Result<(), CutoverError>,
}

impl<C: Cutover> DrainTasks<C> {
    pub(super) fn new(cutover: Arc<C>) -> Self {
        Self { cutover, running: JoinSet::new(), by_partition: BTreeMap::new() }
    }

    /// Starts a drain, after a wait.
    pub(super) fn start(&mut self, at: TopicPartition, handoff: HandoffId, wait: Duration) {
        let (cutover, of) = (self.cutover.clone(), at.clone());
        let task = self.running.spawn(async move {
            tokio::time::sleep(wait).await;
            let drained = AssertUnwindSafe(cutover.drain(&of)).catch_unwind().await;
            let result = drained.unwrap_or_else(|_| Err("the drain panicked".into()));
            DrainEnd { at: of, handoff, result }
        });
        self.by_partition.insert(at, task);
    }

    /// Aborts the drain of a partition, if one runs.
    pub(super) fn abort(&mut self, at: &TopicPartition) {
        if let Some(task) = self.by_partition.remove(at) {
            task.abort();
        }
    }

    pub(super) fn abort_all(&mut self) {
        self.by_partition.clear();
        self.running.abort_all();
    }

    /// The next drain that ended by itself; those that were aborted are passed over. Pends for ever without one.
    ///
    /// Cancel safe, since an end is only taken when it is returned.
    pub(super) async fn next_end(&mut self) -> DrainEnd {
        loop {
            match self.running.join_next().await {
                Some(Ok(end)) => return end,
                // Panics are caught within, so it was aborted.
                Some(Err(_)) => {}
                None => pending().await,
            }
        }
    }
}
