//! The keeper of a term: it renews the lease and detects the term's end.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kafka_assigner_types::kv::{Lease, LeaseId, Record, Revision};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::options::Options;
use super::term::{End, TermState};
use super::vacancy::vacated;
use crate::backoff::Retries;
use crate::error::Error;
use crate::traits::Store;

/// A victory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Won {
    pub(super) create_revision: Revision,
    pub(super) lease: Lease,
    /// The moment at which the last confirmed request was sent; the store's lease starts later.
    pub(super) confirmed: Instant,
}

impl Won {
    /// Two thirds of the lease: the last third is the margin in which everything must have stopped.
    pub(super) fn valid_until(&self) -> Instant {
        self.confirmed + self.lease.ttl * 2 / 3
    }

    const fn is_shown_by(&self, record: Option<&Record>) -> bool {
        match record {
            Some(record) => {
                record.create_revision.0 == self.create_revision.0 && record.lease.0 == self.lease.id.0
            }
            None => false,
        }
    }
}

/// Keeps one term.
#[derive(Debug)]
pub(super) struct TermKeeper<'a> {
    store: &'a dyn Store,
    options: &'a Options,
    won: Won,
    state: &'a TermState,
}

impl<'a> TermKeeper<'a> {
    pub(super) const fn new(
        store: &'a dyn Store,
        options: &'a Options,
        won: Won,
        state: &'a TermState,
    ) -> Self {
        Self { store, options, won, state }
    }

    /// Keeps the term until it ends, or until `release`.
    pub(super) async fn keep(self, release: &CancellationToken) -> End {
        let (store, options, won) = (self.store, self.options, self.won);
        tokio::select! {
            biased;
            // The leader's own wish needs no other reason.
            () = release.cancelled() => End::Resigned,
            // The clock and the lease before the key: they are what the leader's right rests on.
            end = self.renew() => end,
            () = lost(store, options, won) => End::KeyLost,
        }
    }

    /// Keeps the lease alive until that fails for good or for too long.
    async fn renew(mut self) -> End {
        let mut retries = Retries::new(self.options.backoff);
        let mut asked = FuturesUnordered::new();
        let mut due = self.won.confirmed + self.won.lease.ttl / 3;
        loop {
            let answer = tokio::select! {
                biased;
                // No answer that comes now counts any more.
                () = sleep_until(self.won.valid_until()) => return End::Unconfirmed,
                Some(answer) = asked.next() => answer,
                () = sleep_until(due) => {
                    // One that stays without an answer may still get it, but must not be all that is tried.
                    asked.push(ask(self.store, self.won.lease.id));
                    due = Instant::now() + self.patience();
                    continue;
                }
            };
            match answer {
                Ok((sent, ttl)) if !ttl.is_zero() => {
                    retries.succeeded();
                    asked.clear();
                    due = sent + ttl / 3;
                    self.confirm(sent, ttl);
                }
                Ok(_) | Err(Error::LeaseNotFound(_)) => return End::LeaseLost,
                Err(error) => {
                    let wait = retries.failed("confirming the leader's lease", &error);
                    due = Instant::now() + wait.min(self.patience());
                }
            }
        }
    }

    /// The wait for a renewal before another is sent beside it: three of them fit between the first
    /// and the end of the term.
    fn patience(&self) -> Duration {
        self.won.lease.ttl / 10
    }

    fn confirm(&mut self, sent: Instant, ttl: Duration) {
        self.won.confirmed = sent;
        self.won.lease.ttl = ttl;
        self.state.confirm(self.won.valid_until());
    }
}

/// Asks for one renewal, and returns when that was and what the store grants.
async fn ask(store: &dyn Store, lease: LeaseId) -> Result<(Instant, Duration), Error> {
    let sent = Instant::now();
    Ok((sent, store.keep_alive(lease).await?))
}

/// Waits until a reading shows that the key is not ours any more. Failures prove nothing.
async fn lost(store: &dyn Store, options: &Options, won: Won) {
    let mut retries = Retries::new(options.backoff);
    loop {
        let watched = match store.get(&options.key).await {
            Ok((record, _)) if !won.is_shown_by(record.as_ref()) => return,
            Ok((_, revision)) => vacated(store, options, revision.next()).await,
            Err(error) => Err(error),
        };
        match watched {
            Ok(()) => retries.succeeded(),
            Err(error) => retries.wait("watching the leader's own key", &error).await,
        }
    }
}
