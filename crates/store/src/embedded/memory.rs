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

/// A copy of everything that a [`MemoryStore`] held at one time.
#[derive(Debug, Clone)]
pub struct StoreBackup(Seed);

impl StoreBackup {
    /// The same backup with a revision of at least `revision`, as etcd's tool raises it where it is told to: what changed
    /// before can't be watched.
    #[must_use]
    pub fn raised_to(&self, revision: Revision) -> Self {
        Self(Seed { revision: self.0.revision.max(revision), ..self.0.clone() })
    }
}

impl MemoryStore {
    /// A copy of everything that is stored now, as a backup of etcd holds it: without the history.
    #[must_use]
    pub fn back_up(&self) -> StoreBackup {
        StoreBackup(self.0.shared.engine().seed())
    }

    /// Puts a backup back under all handles, as an operator of etcd does: the revision goes back, leases start afresh,
    /// and watches wait for a revision that comes much later. No id of a lease is dealt twice.
    pub fn put_back(&self, backup: &StoreBackup) {
        let mut engine = self.0.shared.engine();
        let seed = Seed { next_lease: engine.next_lease(), ..backup.0.clone() };
        *engine = Engine::new(seed, Retention::default(), Instant::now());
        self.0.shared.publish(engine.revision(), engine.next_deadline());
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
        // Effects that would have to be written down are of no use here.
        engine.take_effects();
        self.shared.publish(engine.revision(), engine.next_deadline());
        result
    }
}
