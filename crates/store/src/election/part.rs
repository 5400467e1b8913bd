//! The part of one instance in an election.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::campaign::Campaign;
use super::lease::LeaderLease;
use super::options::Options;
use super::term::Term;
use crate::traits::Store;

/// One instance's part in an election. A clone is the same part.
#[derive(Debug, Clone)]
pub struct Election {
    store: Arc<dyn Store>,
    options: Arc<Options>,
    lease: LeaderLease,
    tasks: TaskTracker,
}

impl Election {
    /// Takes part with these options, once [`campaign`](Self::campaign) is called. The key hangs on `lease`, which other
    /// elections of the instance share.
    pub fn new(store: Arc<dyn Store>, options: Options, lease: LeaderLease) -> Self {
        Self { store, options: Arc::new(options), lease, tasks: TaskTracker::new() }
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
        let candidate = Campaign::new(Arc::clone(&self.store), Arc::clone(&self.options), self.lease.clone());
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
