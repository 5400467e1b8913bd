//! The store in front of the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use kafka_assigner_types::kv::{Lease, LeaseId, Limits, Record, Revision, Snapshot, Txn, TxnOutcome};
use tokio::time::{Instant, timeout};

use super::health::WatchHealth;
use super::keeper::SharedWatchKeeper;
use super::readers::{Interest, Items, WatchReaders};
use crate::backoff::Backoff;
use crate::error::Error;
use crate::signal::Signal;
use crate::traits::{Store, Watch, WatchBatch};

/// The longest wait of a reader for the watch's beginning; longer than a store's own bound for one call.
const BEGINS_WITHIN: Duration = Duration::from_secs(6);

/// The longest wait of a listing for it, so that a reader can begin where the listing ends. Without the watch the
/// listing is worth having all the same.
const LISTS_WITHIN: Duration = Duration::from_secs(1);

/// A store whose watches under one prefix are readers of one watch. Everything else goes to the store behind it as it is.
///
/// A watch from before what is still held ends with [`Error::Compacted`], as it may with every store. Clones are handles
/// of the same.
#[derive(Debug, Clone)]
pub struct SharedWatch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    prefix: Bytes,
    readers: Mutex<WatchReaders>,
    standing: Signal<Standing>,
}

/// The state of the watch, to wait for.
#[derive(Debug, Default)]
struct Standing {
    has_begun: bool,
    health: WatchHealth,
}

impl SharedWatch {
    /// The store in front of `store` for everything under `prefix`, and the keeper that has to be
    /// [run](SharedWatchKeeper::run) for its watches to say anything.
    pub fn new(
        store: Arc<dyn Store>,
        prefix: impl Into<Bytes>,
        backoff: Backoff,
    ) -> (Self, SharedWatchKeeper) {
        let (prefix, readers, standing) = (prefix.into(), Mutex::default(), Signal::default());
        let shared = Self(Arc::new(Inner { store, prefix, readers, standing }));
        (shared.clone(), SharedWatchKeeper::new(shared, backoff))
    }

    /// The health of the watch.
    #[must_use]
    pub fn health(&self) -> WatchHealth {
        self.0.standing.read(|standing| standing.health.clone())
    }

    /// The revision up to which the watch has delivered everything; zero before its beginning.
    #[must_use]
    pub fn position(&self) -> Revision {
        self.readers().position()
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    pub(super) fn prefix(&self) -> &Bytes {
        &self.0.prefix
    }

    pub(super) fn readers(&self) -> MutexGuard<'_, WatchReaders> {
        // Each of its calls leaves the readers whole.
        self.0.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision after which the watch goes on: where it was, or at first the store's own.
    pub(super) async fn begin(&self) -> Result<Revision, Error> {
        let position = self.position();
        if position > Revision::default() {
            return Ok(position);
        }
        let (_, revision) = self.0.store.get(&self.0.prefix).await?;
        self.readers().begin(revision);
        self.0.standing.update(|standing| standing.has_begun = true);
        Ok(revision)
    }

    /// Ends every reader; who comes now waits until the watch has begun anew.
    pub(super) fn forget(&self, error: impl Fn() -> Error) {
        self.0.standing.update(|standing| standing.has_begun = false);
        let mut readers = self.readers();
        readers.end_all(error);
        readers.begin(Revision::default());
    }

    /// Passes a batch of the watch on. Somebody may wait for more than it covers.
    pub(super) fn take(&self, batch: &WatchBatch) {
        let wanted = {
            let mut readers = self.readers();
            readers.take(batch);
            readers.most_wanted()
        };
        if let Some(revision) = wanted {
            self.0.store.request_progress(&self.0.prefix, revision);
        }
    }

    /// Notes that the watch broke; true if it was not broken before.
    pub(super) fn note_broken(&self, at: Instant, error: &Error) -> bool {
        let mut is_news = false;
        self.0.standing.update(|standing| {
            is_news = standing.health.broken_since.is_none();
            standing.health.broken_since.get_or_insert(at);
            standing.health.last_error = Some(error.to_string());
        });
        is_news
    }

    /// Notes that the watch is whole; returns how long it was broken, where it was.
    pub(super) fn note_whole(&self) -> Option<Duration> {
        let mut since = None;
        self.0.standing.update_if(|standing| {
            since = standing.health.broken_since.take();
            since.is_some()
        });
        since.map(|since| since.elapsed())
    }

    /// Waits for the beginning of the watch, for at most `within`.
    async fn begun(&self, within: Duration) -> Result<(), Error> {
        let begun = self.0.standing.wait_for(|standing| standing.has_begun.then_some(()));
        timeout(within, begun).await.map_err(|_| {
            let source = self.health().last_error.map(Into::into);
            Error::Unavailable { operation: "watch", source }
        })
    }

    async fn read(&self, prefix: &[u8], from: Revision, interest: Interest) -> Result<Watch, Error> {
        self.begun(BEGINS_WITHIN).await?;
        let items = self.readers().add(Bytes::copy_from_slice(prefix), from, interest)?;
        Ok(watch(items))
    }

    fn is_shared(&self, prefix: &[u8]) -> bool {
        prefix.starts_with(&self.0.prefix)
    }
}

/// The stream of a reader.
fn watch(items: Items) -> Watch {
    stream::unfold(items, async |mut items| Some((items.recv().await?, items))).boxed()
}

#[async_trait]
impl Store for SharedWatch {
    async fn range(&self, prefix: &[u8]) -> Result<Snapshot, Error> {
        if self.is_shared(prefix)
            && let Err(error) = self.begun(LISTS_WITHIN).await
        {
            tracing::debug!(%error, "listed without a watch");
        }
        self.0.store.range(prefix).await
    }

    async fn get(&self, key: &[u8]) -> Result<(Option<Record>, Revision), Error> {
        self.0.store.get(key).await
    }

    async fn txn(&self, txn: Txn) -> Result<TxnOutcome, Error> {
        self.0.store.txn(txn).await
    }

    async fn watch(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error> {
        if !self.is_shared(prefix) {
            return self.0.store.watch(prefix, from).await;
        }
        self.read(prefix, from, Interest::Progress).await
    }

    async fn watch_changes(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error> {
        if !self.is_shared(prefix) {
            return self.0.store.watch_changes(prefix, from).await;
        }
        self.read(prefix, from, Interest::Changes).await
    }

    async fn grant(&self, ttl: Duration) -> Result<Lease, Error> {
        self.0.store.grant(ttl).await
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Duration, Error> {
        self.0.store.keep_alive(lease).await
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), Error> {
        self.0.store.revoke(lease).await
    }

    async fn time_to_live(&self, lease: LeaseId) -> Result<Option<Duration>, Error> {
        self.0.store.time_to_live(lease).await
    }

    fn lease_rounding(&self) -> Duration {
        self.0.store.lease_rounding()
    }

    fn request_progress(&self, prefix: &[u8], revision: Revision) {
        if !self.is_shared(prefix) {
            return self.0.store.request_progress(prefix, revision);
        }
        let is_ahead = self.readers().want(prefix, revision);
        if is_ahead {
            self.0.store.request_progress(&self.0.prefix, revision);
        }
    }

    async fn alarms(&self) -> Result<Vec<String>, Error> {
        self.0.store.alarms().await
    }

    fn limits(&self) -> Limits {
        self.0.store.limits()
    }
}

#[cfg(test)]
#[path = "store_test.rs"]
mod tests;
