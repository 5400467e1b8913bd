//! A campaign: it stands by, and tries to create the key when it is free.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_types::kv::{Compare, Lease, Must, Op, Txn};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::keeper::{TermKeeper, Won};
use super::options::Options;
use super::term::{Term, TermState};
use super::vacancy::vacated;
use crate::backoff::Retries;
use crate::error::Error;
use crate::traits::Store;

/// One campaign, and the term that comes of it.
#[derive(Debug)]
pub(super) struct Campaign {
    store: Arc<dyn Store>,
    options: Arc<Options>,
    /// The lease of the current attempt, which has to be revoked at the end.
    lease: Option<Lease>,
    retries: Retries,
}

impl Campaign {
    pub(super) fn new(store: Arc<dyn Store>, options: Arc<Options>) -> Self {
        let retries = Retries::new(options.backoff);
        Self { store, options, lease: None, retries }
    }

    /// Campaigns until `give_up`; after a victory hands the term over and keeps it to its end. Revokes its
    /// lease in any case.
    pub(super) async fn run(
        mut self,
        wait: Duration,
        give_up: CancellationToken,
        won: oneshot::Sender<Term>,
    ) {
        let victory = give_up.run_until_cancelled(self.win(wait)).await;
        let Some(victory) = victory else { return self.release().await };
        let (release, released) = (CancellationToken::new(), CancellationToken::new());
        let state = Arc::new(TermState::new(victory.valid_until()));
        let term = Term {
            key: self.options.key.clone(),
            create_revision: victory.create_revision,
            lease: victory.lease,
            state: Arc::clone(&state),
            released: released.clone(),
            release: release.clone().drop_guard(),
        };
        // If the caller has gone, the term is dropped, which releases the key.
        drop(won.send(term));
        let keeper = TermKeeper::new(&*self.store, &self.options, victory, &state);
        let why = keeper.keep(&release).await;
        tracing::info!(?why, key = %self.options.key.escape_ascii(), "the term has ended");
        state.close(why);
        self.release().await;
        released.cancel();
    }

    /// Tries whenever the key is free, until a try succeeds.
    async fn win(&mut self, wait: Duration) -> Won {
        loop {
            self.stand_by(wait).await;
            match self.attempt().await {
                Ok(Some(won)) => return won,
                Ok(None) => self.release().await,
                Err(error) => {
                    // The outcome may be unknown: without the lease the key is gone in any case.
                    self.release().await;
                    self.retries.wait("trying for the leader key", &error).await;
                }
            }
        }
    }

    /// Waits until the key is free, and was still free after `wait`.
    async fn stand_by(&mut self, wait: Duration) {
        let mut waited = false;
        loop {
            match self.store.get(&self.options.key).await {
                Ok((None, _)) if waited || wait.is_zero() => return,
                Ok((None, _)) => {
                    sleep(wait).await;
                    waited = true;
                }
                Ok((Some(_), revision)) => {
                    waited = false;
                    let reread = vacated(&*self.store, &self.options, revision.next()).await;
                    self.settle(reread).await;
                }
                Err(error) => self.settle(Err(error)).await,
            }
        }
    }

    async fn settle(&mut self, watched: Result<(), Error>) {
        match watched {
            Ok(()) => self.retries.succeeded(),
            Err(error) => self.retries.wait("standing by", &error).await,
        }
    }

    /// Tries once to create the key.
    async fn attempt(&mut self) -> Result<Option<Won>, Error> {
        let confirmed = Instant::now();
        let lease = self.store.grant(self.options.ttl).await?;
        self.lease = Some(lease);
        let key = &self.options.key;
        let absent = vec![Compare::new(key.clone(), Must::BeAbsent)];
        let create = vec![Op::put_leased(key.clone(), self.options.value.clone(), lease.id)];
        let outcome = self.store.txn(Txn::guarded(absent, create)).await?;
        let create_revision = outcome.revision;
        Ok(outcome.succeeded.then_some(Won { create_revision, lease, confirmed }))
    }

    /// Ends the lease, and with it the key. What can't be ended in time runs out by itself.
    async fn release(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        let revoking = async {
            let mut retries = Retries::new(self.options.backoff);
            while let Err(error) = self.store.revoke(lease.id).await {
                retries.wait("giving the leader key back", &error).await;
            }
        };
        if timeout(self.options.release_within, revoking).await.is_err() {
            tracing::warn!(ttl = ?lease.ttl, "the leader key could not be given back: it runs out by itself");
        }
    }
}
