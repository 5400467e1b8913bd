//! A copy of everything under a prefix that follows the store.
//!
//! A [`Keeper`] lists at a revision, watches from the next one on, and applies what comes in order. When
//! the watch is lost it lists again and applies the difference. At intervals it compares the copy with a
//! fresh listing, and heals and counts what differs. [`View`] is the handle: it reads, waits and listens.

mod check;
mod index;
mod keeper;
mod listener;

use std::fmt::Debug;
use std::pin::pin;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_types::kv::{Change, Revision};
use tokio::sync::broadcast;
use tokio::time::{Instant, timeout};

pub use keeper::Keeper;
pub use listener::{Listener, Notice};

use crate::signal::Signal;
use crate::{Backoff, Store};

/// A value that a view keeps, and that changes are applied to.
pub trait Materialized: Debug + Send + Sync + 'static {
    /// The part of the value that an update concerns, for listeners.
    type Touched: Debug + Send + Sync + 'static;

    /// Takes over `changes`, after which the value stands at `revision`.
    ///
    /// From a watch they come in the order of their revisions and may be none, when only the revision
    /// moves on. After a listing they are the difference to it: deletions first, then puts in the order of
    /// their keys; what happened in between is not told.
    fn apply(&mut self, changes: &[Change], revision: Revision) -> Self::Touched;
}

/// The options of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The prefix that is copied.
    pub prefix: Bytes,
    /// The interval of the comparison with a fresh listing. Default 60 s.
    pub check_every: Duration,
    /// The longest time for the watch to reach the revision of such a listing before it counts as
    /// stalled and is set up anew. Default 10 s: longer than a store's own recovery takes.
    pub stalled_after: Duration,
    /// Updates that a listener may be behind before it is told that anything may have changed. Default
    /// 256; each holds what it touched in memory.
    pub backlog: usize,
    /// The waits after failures.
    pub backoff: Backoff,
}

impl Options {
    /// The defaults for a prefix.
    pub fn new(prefix: impl Into<Bytes>) -> Self {
        Self {
            prefix: prefix.into(),
            check_every: Duration::from_secs(60),
            stalled_after: Duration::from_secs(10),
            backlog: 256,
            backoff: Backoff::default(),
        }
    }
}

/// The health of a view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewHealth {
    /// Everything up to here has been applied. Zero before the first listing; it never goes back.
    pub revision: Revision,
    /// A watch runs.
    pub connected: bool,
    /// The keeper has ended: the view does not change any more.
    pub stopped: bool,
    /// The time of the store's last answer.
    pub last_progress: Option<Instant>,
    /// Listings that were taken over; one on a calm day.
    pub listings: u64,
    /// Comparisons with a fresh listing that were completed.
    pub checks: u64,
    /// Keys that such a comparison found to differ, and healed. Anything but zero is a fault to report.
    pub drifted: u64,
    /// The last failure, also when it has been recovered from.
    pub last_error: Option<String>,
}

/// The reasons for which a view did not reach a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It did not come that far in time; it may later.
    #[error("the view stands at revision {stands_at}, revision {asked} was not reached in {within:?}")]
    Behind {
        /// The revision that was waited for.
        asked: Revision,
        /// The revision of the view at the end.
        stands_at: Revision,
        /// The time that was waited.
        within: Duration,
    },
    /// Its keeper has stopped: it will never move again.
    #[error("the view is no longer kept")]
    Stopped,
}

#[derive(Debug)]
struct State<T> {
    value: T,
    revision: Revision,
}

/// A handle of a copy that its [`Keeper`] keeps up to date; clones are cheap.
#[derive(Debug)]
pub struct View<T: Materialized> {
    store: Arc<dyn Store>,
    state: Arc<RwLock<State<T>>>,
    health: Arc<Signal<ViewHealth>>,
    updates: broadcast::WeakSender<Arc<T::Touched>>,
}

impl<T: Materialized> Clone for View<T> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
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
    /// # Panics
    /// When [`Materialized::apply`] panicked before: the copy can't be trusted any more.
    pub fn read<R>(&self, reader: impl FnOnce(&T, Revision) -> R) -> R {
        let state = self.state.read().expect("applying a change doesn't panic");
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
        let ask = || {
            if self.revision() < revision {
                self.store.request_progress();
            }
        };
        timeout(within, asking(ask, reached)).await.unwrap_or_else(behind)
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
