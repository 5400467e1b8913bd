//! Leader election: a key under a lease, created by the instance that finds it absent.
//!
//! Standbys write nothing while the key is held: they watch it from the revision at which they read it,
//! and read it again at a bounded interval in case the watch has gone deaf. A won [`Term`] is a guard for
//! the leader's writes and a clock of its own, which ends before the lease can.

mod campaign;
mod keeper;
mod term;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use term::{End, Term};

use crate::{Backoff, Store};
use campaign::Campaign;

/// The options of an election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The key that the leader holds.
    pub key: Bytes,
    /// The value of the key: the leader's name and address.
    pub value: Bytes,
    /// The time to live of the leader's lease. Default 5 s. A dead leader is replaced after it, and a
    /// living one stops at two thirds of it without a confirmation.
    pub ttl: Duration,
    /// The interval in which a standby, and a leader, reads the key without an event of its watch. Default 5 s: a
    /// deaf watch costs about as much as a dead leader.
    pub reread_every: Duration,
    /// The longest time for deleting the key before it is left to the lease's expiry. Default 1 s: shutdowns wait
    /// for it.
    pub release_within: Duration,
    /// The waits after failures.
    pub backoff: Backoff,
}

impl Options {
    /// The defaults for a key and its value.
    pub fn new(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            ttl: Duration::from_secs(5),
            reread_every: Duration::from_secs(5),
            release_within: Duration::from_secs(1),
            backoff: Backoff::default(),
        }
    }
}

/// One instance's part in an election. A clone is the same part.
#[derive(Debug, Clone)]
pub struct Election {
    store: Arc<dyn Store>,
    options: Arc<Options>,
    tasks: TaskTracker,
}

impl Election {
    /// Takes part with these options, once [`campaign`](Self::campaign) is called.
    pub fn new(store: Arc<dyn Store>, options: Options) -> Self {
        Self { store, options: Arc::new(options), tasks: TaskTracker::new() }
    }

    /// Waits until the key is free, and `wait` longer, and then until this instance holds it.
    ///
    /// The preferred instance waits zero; the others give it a moment. Failures are retried for ever.
    /// Cancel safe: when the future is dropped, what was begun is undone in a task of its own, which
    /// [`close`](Self::close) waits for.
    pub async fn campaign(&self, wait: Duration) -> Term {
        let give_up = CancellationToken::new();
        let _given_up_when_dropped = give_up.clone().drop_guard();
        let (won, term) = oneshot::channel();
        let candidate = Campaign::new(Arc::clone(&self.store), Arc::clone(&self.options));
        self.tasks.spawn(candidate.run(wait, give_up, won));
        term.await.expect("a candidate ends by winning, or by the token that lives as long as this future")
    }

    /// Waits until everything is undone that dropped campaigns and ended terms leave behind.
    ///
    /// Bounded by [`Options::release_within`] as soon as all of them were dropped or ended; for ever before.
    /// No campaign may be started after it. Cancel safe.
    pub async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

#[cfg(test)]
#[path = "election_test.rs"]
mod election_test;
