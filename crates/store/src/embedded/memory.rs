//! The store in memory.

use std::sync::Arc;

use kafka_assigner_types::kv::Revision;
use tokio::time::Instant;

use super::driver::Driver;
use super::engine::{Engine, Seed};
use super::history::Retention;
use super::shared::SharedEngine;
use super::store::Embedded;
use crate::error::Error;

/// Keeps everything in memory: for tests, simulations and demonstrations.
///
/// A clone is another handle of the same store. Time is tokio's, so that it can be paused; on a
/// current-thread runtime every run is the same.
pub type MemoryStore = Embedded<MemoryDriver>;

/// The part of a [`MemoryStore`] that its handles share.
#[derive(Debug)]
pub struct MemoryDriver {
    shared: SharedEngine,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::with_retention(Retention::default())
    }

    /// An empty store that keeps another length of history than the default.
    #[must_use]
    pub fn with_retention(retention: Retention) -> Self {
        let engine = Engine::new(Seed::default(), retention, Instant::now());
        Self(Arc::new(MemoryDriver { shared: SharedEngine::new(engine) }))
    }

    /// Forgets the changes before `oldest`, as etcd's compaction does; the records stay.
    ///
    /// # Errors
    /// None: memory takes everything.
    pub async fn compact(&self, oldest: Revision) -> Result<(), Error> {
        self.0.compact(oldest).await
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Driver for MemoryDriver {
    fn shared(&self) -> &SharedEngine {
        &self.shared
    }

    async fn run<R: Send + 'static>(
        self: &Arc<Self>,
        _operation: &'static str,
        job: impl FnOnce(&mut Engine, Instant) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, Error> {
        let now = Instant::now();
        let mut engine = self.shared.engine();
        engine.expire(now);
        let result = job(&mut engine, now);
        // What would have to be written down is of no use here.
        engine.take_effects();
        self.shared.publish(engine.revision(), engine.next_deadline());
        result
    }
}
