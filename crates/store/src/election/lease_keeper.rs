//! The keeper of the lease of an instance's leader keys: it is granted when it is needed, renewed, and given back.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kafka_assigner_types::kv::{Compare, LeaseId, Must, Op, Txn};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::lease::{HeldLease, LeaderLease};
use super::options::LeaseOptions;
use super::term::End;
use crate::backoff::Retries;
use crate::error::Error;
use crate::traits::Store;

/// Keeps a [`LeaderLease`] while it [runs](Self::run).
#[derive(Debug)]
pub struct LeaderLeaseKeeper {
    store: Arc<dyn Store>,
    options: LeaseOptions,
    lease: LeaderLease,
    held: Option<Arc<HeldLease>>,
    retries: Retries,
}

impl LeaderLeaseKeeper {
    pub(super) const fn new(store: Arc<dyn Store>, options: LeaseOptions, lease: LeaderLease) -> Self {
        let retries = Retries::new(options.backoff);
        Self { store, options, lease, held: None, retries }
    }

    /// Keeps the lease until it is [stopped](LeaderLease::new); then every term on it ends, and their keys are given back
    /// together. Failures are retried for ever.
    ///
    /// When the future is dropped, the lease runs out by itself.
    pub async fn run(mut self) {
        let stop = self.lease.stop().clone();
        stop.run_until_cancelled(self.keep()).await;
        self.end(End::Resigned).await;
    }

    async fn keep(&mut self) {
        loop {
            self.lease.needed().await;
            let asked = Instant::now();
            match self.store.grant(self.options.ttl).await {
                Ok(granted) => {
                    self.retries.succeeded();
                    let held = Arc::new(HeldLease::new(granted, asked));
                    self.held = Some(Arc::clone(&held));
                    self.lease.set(Some(Arc::clone(&held)));
                    let end = self.look_after(&held).await;
                    tracing::info!(?end, "the lease of the leader keys has ended");
                    self.end(end).await;
                }
                Err(error) => self.retries.wait("asking for the leader's lease", &error).await,
            }
        }
    }

    /// Renews the lease, and deletes what is left on it, until it is over.
    async fn look_after(&self, held: &HeldLease) -> End {
        tokio::select! {
            biased;
            end = self.renew(held) => end,
            never = self.clear_abandoned(held) => match never {},
        }
    }

    /// Deletes the leader keys that their campaigns could not give back: nobody leads by them, and they would stay as long
    /// as the lease.
    async fn clear_abandoned(&self, held: &HeldLease) -> Infallible {
        loop {
            for key in self.lease.abandoned().await {
                if let Err(error) = self.clear(held, &key).await {
                    tracing::debug!(%error, key = %key.escape_ascii(), "an abandoned leader key stays for now");
                }
            }
            sleep(held.lease().ttl / 3).await;
        }
    }

    async fn clear(&self, held: &HeldLease, key: &Bytes) -> Result<(), Error> {
        let (record, _) = self.store.get(key).await?;
        let Some(record) = record.filter(|record| record.lease == held.id()) else { return Ok(()) };
        // Asked after the read: what a campaign creates after its claim was not read.
        if !self.lease.is_abandoned(key) {
            return Ok(());
        }
        let as_read = Compare::new(key.clone(), Must::HaveModRevision(record.mod_revision));
        self.store.txn(Txn::guarded(vec![as_read], vec![Op::delete(key.clone())])).await.map(drop)
    }

    /// Renews the lease until that fails for good or for too long, or somebody finds that it is over.
    async fn renew(&self, held: &HeldLease) -> End {
        let mut retries = Retries::new(self.options.backoff);
        let mut asked = FuturesUnordered::new();
        let ttl = held.lease().ttl;
        let mut due = held.valid_until() - ttl / 3;
        loop {
            let answer = tokio::select! {
                biased;
                // No answer that comes now counts any more.
                end = held.over() => return end,
                Some(answer) = asked.next() => answer,
                () = sleep_until(due) => {
                    // One that stays without an answer may still get it, but must not be all that is tried.
                    asked.push(ask(&*self.store, held.id()));
                    due = Instant::now() + patience(ttl);
                    continue;
                }
            };
            match answer {
                Ok((sent, left)) if !left.is_zero() => {
                    retries.succeeded();
                    asked.clear();
                    due = sent + ttl.min(left) / 3;
                    held.confirm(sent, left);
                }
                Ok(_) | Err(Error::LeaseNotFound(_)) => return End::LeaseLost,
                Err(error) => {
                    let wait = retries.failed("confirming the leader's lease", &error);
                    due = Instant::now() + wait.min(patience(ttl));
                }
            }
        }
    }

    /// Ends the lease, and with it the keys. What can't be ended in time runs out by itself.
    async fn end(&mut self, end: End) {
        let Some(held) = self.held.take() else { return };
        held.close(end);
        self.lease.set(None);
        // Its failures are no reason to wait longer for the next lease.
        let mut retries = Retries::new(self.options.backoff);
        let revoking = async {
            while let Err(error) = self.store.revoke(held.id()).await {
                retries.wait("giving the leader keys back", &error).await;
            }
        };
        if timeout(self.options.release_within, revoking).await.is_err() {
            let ttl = held.lease().ttl;
            tracing::warn!(?ttl, "the leader keys could not be given back: they run out by themselves");
        }
    }
}

/// The wait for a renewal before another is sent beside it: three of them fit between the first and the end of the
/// terms.
fn patience(ttl: Duration) -> Duration {
    ttl / 10
}

/// Asks for one renewal, and returns when that was and what the store grants.
async fn ask(store: &dyn Store, lease: LeaseId) -> Result<(Instant, Duration), Error> {
    let sent = Instant::now();
    Ok((sent, store.keep_alive(lease).await?))
}
