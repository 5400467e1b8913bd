//! The handle of a view: it reads, waits and listens.

use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_types::kv::Revision;
use tokio::sync::broadcast;
use tokio::time::timeout;

use super::error::Error;
use super::keeper::Keeper;
use super::listener::Listener;
use super::options::Options;
use super::state::{Materialized, State, ViewHealth};
use crate::signal::Signal;
use crate::traits::Store;

/// A handle of a copy that its [`Keeper`] keeps up to date; clones are cheap.
#[derive(Debug)]
pub struct View<T: Materialized> {
    store: Arc<dyn Store>,
    prefix: Bytes,
    state: Arc<RwLock<State<T>>>,
    health: Arc<Signal<ViewHealth>>,
    updates: broadcast::WeakSender<Arc<T::Touched>>,
}

impl<T: Materialized> Clone for View<T> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            prefix: self.prefix.clone(),
            state: Arc::clone(&self.state),
            health: Arc::clone(&self.health),
            updates: self.updates.clone(),
        }
    }
}

impl<T: Materialized> View<T> {
    /// A view that starts from `empty`, and the keeper that has to be [run](Keeper::run) for it to move.
    pub fn new(store: Arc<dyn Store>, options: Options, empty: T) -> (Self, Keeper<T>) {
        let state = Arc::new(RwLock::new(State { value: empty, revision: Revision::default() }));
        let health = Arc::new(Signal::default());
        let updates = broadcast::Sender::new(options.backlog.max(1));
        let view = Self {
            store: Arc::clone(&store),
            prefix: options.prefix.clone(),
            state: Arc::clone(&state),
            health: Arc::clone(&health),
            updates: updates.downgrade(),
        };
        (view, Keeper::new(store, options, state, health, updates))
    }

    /// Reads the copy, with the revision at which it stands.
    ///
    /// The keeper waits meanwhile, so `reader` should be short.
    ///
    /// Where [`Materialized::apply`] panicked, the copy is as that left it; its keeper has stopped, and
    /// [`health`](Self::health) says so.
    pub fn read<R>(&self, reader: impl FnOnce(&T, Revision) -> R) -> R {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        reader(&state.value, state.revision)
    }

    /// The revision at which the copy stands; zero before the first listing.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.health.read(|health| health.revision)
    }

    /// The health of the view.
    #[must_use]
    pub fn health(&self) -> ViewHealth {
        self.health.read(ViewHealth::clone)
    }

    /// Waits until the copy stands at `revision` or later, for at most `within`.
    ///
    /// Revision one means the first listing. The store is asked for progress meanwhile. Cancel safe.
    ///
    /// # Errors
    /// [`Error::Behind`] after that time, [`Error::Stopped`] once the keeper has stopped.
    pub async fn wait_until(&self, revision: Revision, within: Duration) -> Result<(), Error> {
        let reached = self.health.wait_for(|health| match health {
            ViewHealth { revision: stands_at, .. } if *stands_at >= revision => Some(Ok(())),
            ViewHealth { stopped: true, .. } => Some(Err(Error::Stopped)),
            ViewHealth { .. } => None,
        });
        let behind = |_| Err(Error::Behind { asked: revision, stands_at: self.revision(), within });
        timeout(within, asking(|| self.ask_for(revision), reached)).await.unwrap_or_else(behind)
    }

    /// Asks the store to let the view come to `revision` soon, where it has not.
    pub fn ask_for(&self, revision: Revision) {
        if self.revision() < revision {
            self.store.request_progress(&self.prefix, revision);
        }
    }

    /// Listens to every update from now on. Subscribe first, then [read](Self::read): nothing is missed.
    #[must_use]
    pub fn subscribe(&self) -> Listener<T::Touched> {
        Listener::new(self.updates.upgrade().map(|updates| updates.subscribe()))
    }
}

/// The interval of progress requests while a reader waits. etcd leaves a request unanswered that finds one of
/// its watches with something yet to deliver, so asking once may mean waiting for the next sign of life.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Calls `ask` at once, and again and again until `reached` is there.
async fn asking<R>(ask: impl Fn(), reached: impl Future<Output = R>) -> R {
    let mut reached = pin!(reached);
    loop {
        ask();
        if let Ok(result) = timeout(ASK_EVERY, &mut reached).await {
            return result;
        }
    }
}

#[cfg(test)]
#[path = "view_test.rs"]
mod view_test;
