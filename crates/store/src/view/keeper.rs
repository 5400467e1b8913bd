//! The task that keeps a view up to date.

use std::collections::BTreeSet;
use std::sync::{Arc, RwLock};

use futures::StreamExt;
use kafka_assigner_types::kv::{Change, Revision, Snapshot};
use tokio::sync::broadcast;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::check::Check;
use super::index::Index;
use super::options::Options;
use super::state::{Materialized, State, ViewHealth};
use crate::backoff::Retries;
use crate::error::Error;
use crate::signal::Signal;
use crate::traits::{Store, WatchBatch};

/// Keeps one view up to date while it [runs](Self::run).
#[derive(Debug)]
pub struct Keeper<T: Materialized> {
    store: Arc<dyn Store>,
    options: Options,
    state: Arc<RwLock<State<T>>>,
    health: Arc<Signal<ViewHealth>>,
    updates: broadcast::Sender<Arc<T::Touched>>,
    index: Index,
    revision: Revision,
    retries: Retries,
}

impl<T: Materialized> Keeper<T> {
    pub(super) fn new(
        store: Arc<dyn Store>,
        options: Options,
        state: Arc<RwLock<State<T>>>,
        health: Arc<Signal<ViewHealth>>,
        updates: broadcast::Sender<Arc<T::Touched>>,
    ) -> Self {
        let (index, revision) = (Index::default(), Revision::default());
        let retries = Retries::new(options.backoff);
        Self { store, options, state, health, updates, index, revision, retries }
    }

    /// Follows the store until `stop`. Failures are retried for ever, and shown in [`ViewHealth`].
    ///
    /// Dropping the future stops it too.
    pub async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.keep()).await;
    }

    async fn keep(&mut self) {
        loop {
            let Err(error) = self.follow().await;
            self.health.update(|health| {
                health.connected = false;
                health.last_error = Some(error.to_string());
            });
            self.retries.wait("following the store", &error).await;
        }
    }

    /// Lists and watches, until that fails.
    async fn follow(&mut self) -> Result<std::convert::Infallible, Error> {
        let snapshot = self.store.range(&self.options.prefix).await?;
        self.adopt(snapshot)?;
        let mut watch = self.store.watch(&self.options.prefix, self.revision.next()).await?;
        self.health.update(|health| health.connected = true);
        let mut check = Check::new(Arc::clone(&self.store), self.options.clone());
        loop {
            tokio::select! {
                biased;
                // Changes first: a comparison must not hold them up.
                batch = watch.next() => self.take(&batch.unwrap_or_else(|| Err(ended()))?, &mut check),
                stalled = check.advance() => stalled?,
            }
            if let Some((snapshot, overtaken)) = check.ready(self.revision) {
                self.heal(snapshot, &overtaken)?;
            }
        }
    }

    /// Takes over a listing by its difference to the copy.
    fn adopt(&mut self, snapshot: Snapshot) -> Result<(), Error> {
        if snapshot.revision < self.revision {
            return Err(went_back(snapshot.revision, self.revision));
        }
        let overtaken = BTreeSet::new();
        self.refuse_earlier(&snapshot, &overtaken)?;
        let revision = snapshot.revision;
        let changes = self.index.difference(snapshot, &overtaken);
        let first = self.revision == Revision::default();
        self.apply(&changes, revision, first || !changes.is_empty());
        self.health.update(|health| health.listings += 1);
        Ok(())
    }

    /// Refuses a listing of a store that was put back, where its revision does not tell.
    fn refuse_earlier(&self, snapshot: &Snapshot, overtaken: &BTreeSet<bytes::Bytes>) -> Result<(), Error> {
        if !self.index.is_ahead_of(snapshot, overtaken) {
            return Ok(());
        }
        self.health.update(|health| health.went_back = true);
        Err(was_put_back())
    }

    fn take(&mut self, batch: &WatchBatch, check: &mut Check) {
        self.retries.succeeded();
        check.saw(&batch.changes);
        self.apply(&batch.changes, batch.revision, !batch.changes.is_empty());
    }

    /// Brings the copy in line with a listing that it differs from. A watch may lose changes, but no key goes back: a watch on
    /// a store that was put back under a raised revision goes on as if nothing had happened.
    fn heal(&mut self, snapshot: Snapshot, overtaken: &BTreeSet<bytes::Bytes>) -> Result<(), Error> {
        self.refuse_earlier(&snapshot, overtaken)?;
        let revision = snapshot.revision;
        let changes = self.index.difference(snapshot, overtaken);
        if let Some(change) = changes.first() {
            let (count, key) = (changes.len(), change.key().escape_ascii());
            tracing::warn!(count, %key, %revision, "the view had drifted from the store");
            self.apply(&changes, self.revision, true);
        }
        self.health.update(|health| {
            health.checks += 1;
            health.drifted += changes.len() as u64;
        });
        Ok(())
    }

    /// Applies changes, then notifies listeners, so that they find them applied.
    fn apply(&mut self, changes: &[Change], revision: Revision, tell: bool) {
        let touched = {
            let mut state = self.state.write().expect("it ends where applying a change panics");
            state.revision = revision;
            state.value.apply(changes, revision)
        };
        self.index.apply(changes);
        self.revision = revision;
        self.health.update(|health| {
            health.revision = revision;
            health.last_progress = Some(Instant::now());
        });
        if tell {
            // No listener is no failure.
            let _ = self.updates.send(Arc::new(touched));
        }
    }
}

impl<T: Materialized> Drop for Keeper<T> {
    fn drop(&mut self) {
        self.health.update(|health| {
            health.connected = false;
            health.stopped = true;
        });
    }
}

fn ended() -> Error {
    Error::Unavailable { operation: "watch", source: Some("the watch ended without a word".into()) }
}

/// The same of a store whose revision was raised when it was restored.
fn was_put_back() -> Error {
    let source = "the store holds an earlier state of a key than the view: was it restored?";
    Error::Unavailable { operation: "range", source: Some(source.into()) }
}

/// A store that has lost its recent past is not followed: members must never see a revision go back.
fn went_back(store: Revision, view: Revision) -> Error {
    let source = format!("the store stands at revision {store}, the view at {view}: was it restored?");
    Error::Unavailable { operation: "range", source: Some(source.into()) }
}
