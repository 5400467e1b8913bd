//! The keeper of the lease of an instance's leader keys: it is granted when it is needed, renewed, and given back.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kafka_assigner_types::kv::LeaseId;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

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

    /// Keeps the lease until `stop`; then every term on it ends, and their keys are given back together. Failures are
    /// retried for ever.
    ///
    /// When the future is dropped, the lease runs out by itself.
    pub async fn run(mut self, stop: CancellationToken) {
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
                    let end = self.renew(&held).await;
                    tracing::info!(?end, "the lease of the leader keys has ended");
                    self.end(end).await;
                }
                Err(error) => self.retries.wait("asking for the leader's lease", &error).await,
            }
        }
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
                    due = sent + ttl / 3;
                    held.confirm(sent);
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
        let revoking = async {
            while let Err(error) = self.store.revoke(held.id()).await {
                self.retries.wait("giving the leader keys back", &error).await;
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
