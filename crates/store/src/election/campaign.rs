//! A campaign: it stands by, and tries to create the key when it is free.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_types::kv::{Compare, Must, Op, Record, Revision, Txn};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::keeper::{self, Won};
use super::lease::{HeldLease, KeyClaim, LeaderLease};
use super::options::Options;
use super::term::{End, Term, TermState};
use super::vacancy::vacated;
use crate::backoff::Retries;
use crate::error::Error;
use crate::traits::Store;

/// One campaign, and the term that comes of it.
#[derive(Debug)]
pub(super) struct Campaign {
    store: Arc<dyn Store>,
    options: Arc<Options>,
    lease: LeaderLease,
    /// The lease of an attempt that may have created the key, which then has to be deleted at the end.
    tried: Option<Arc<HeldLease>>,
    /// The revision in which it has.
    created: Option<Revision>,
    /// Keeps other campaigns of the instance from deleting what this one creates or leads by.
    claim: Option<KeyClaim>,
    retries: Retries,
}

impl Campaign {
    pub(super) fn new(store: Arc<dyn Store>, options: Arc<Options>, lease: LeaderLease) -> Self {
        let retries = Retries::new(options.backoff);
        Self { store, options, lease, tried: None, created: None, claim: None, retries }
    }

    /// Campaigns until `give_up`; after a victory hands the term over and keeps it to its end. Deletes its key in any
    /// case.
    pub(super) async fn run(
        mut self,
        wait: Duration,
        give_up: CancellationToken,
        won: oneshot::Sender<Term>,
    ) {
        let victory = give_up.run_until_cancelled(self.win(wait)).await;
        let Some(victory) = victory else { return self.release().await };
        let (release, released) = (CancellationToken::new(), CancellationToken::new());
        let state = Arc::new(TermState::new(Arc::clone(&victory.held)));
        let term = Term {
            key: self.options.key.clone(),
            create_revision: victory.create_revision,
            state: Arc::clone(&state),
            released: released.clone(),
            release: release.clone().drop_guard(),
        };
        // If the caller has gone, the term is dropped, which releases the key.
        drop(won.send(term));
        let why = keeper::keep(&*self.store, &self.options, &victory, &release).await;
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
                // Somebody else holds it.
                Ok(None) => self.has_nothing(),
                Err(error) => {
                    // The outcome may be unknown.
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
                Ok((Some(record), _)) if self.lease.has_left(&record) => {
                    let cleared = self.clear(&record).await;
                    self.settle(cleared).await;
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

    /// Deletes a key that the store created for an earlier attempt after that attempt was given up. It hangs on a lease that
    /// is renewed, so it would stay.
    async fn clear(&self, record: &Record) -> Result<(), Error> {
        let as_read = Must::HaveModRevision(record.mod_revision);
        self.delete_where(as_read).await
    }

    /// Deletes the key that was created in this revision, or else the one that is there under the lease. A deletion that the
    /// store carries out late must not hit the key of a later term, which hangs on the same lease.
    ///
    /// Returns false where the attempt may still be carried out.
    async fn delete_own(&self, held: &HeldLease, created: Option<Revision>) -> Result<bool, Error> {
        if let Some(created) = created {
            return self.delete_where(Must::HaveCreateRevision(created)).await.map(|()| true);
        }
        let (record, _) = self.store.get(&self.options.key).await?;
        match record.filter(|record| record.lease == held.id() && self.lease.has_left(record)) {
            Some(record) => self.clear(&record).await.map(|()| true),
            None => Ok(false),
        }
    }

    async fn delete_where(&self, must: Must) -> Result<(), Error> {
        let key = &self.options.key;
        let guards = vec![Compare::new(key.clone(), must)];
        self.store.txn(Txn::guarded(guards, vec![Op::delete(key.clone())])).await.map(drop)
    }

    /// Notes that nothing of an attempt is left.
    fn has_nothing(&mut self) {
        (self.tried, self.created, self.claim) = (None, None, None);
    }

    async fn settle(&mut self, watched: Result<(), Error>) {
        match watched {
            Ok(()) => self.retries.succeeded(),
            Err(error) => self.retries.wait("standing by", &error).await,
        }
    }

    /// Tries once to create the key.
    async fn attempt(&mut self) -> Result<Option<Won>, Error> {
        let held = self.lease.hold().await;
        self.tried = Some(Arc::clone(&held));
        let key = &self.options.key;
        self.claim = Some(self.lease.claim(key));
        let absent = vec![Compare::new(key.clone(), Must::BeAbsent)];
        let create = vec![Op::put_leased(key.clone(), self.options.value.clone(), held.id())];
        let outcome = self.store.txn(Txn::guarded(absent, create)).await.inspect_err(|error| {
            if matches!(error, Error::LeaseNotFound(_)) {
                // Before its keeper learns it by the next renewal.
                held.close(End::LeaseLost);
            }
        })?;
        self.created = outcome.succeeded.then_some(outcome.revision);
        Ok(self.created.map(|create_revision| Won { create_revision, held }))
    }

    /// Deletes the key where an attempt has created it. With the end of the lease it goes as well. What is left then is
    /// noted in `tried`.
    async fn release(&mut self) {
        self.claim = None;
        if self.lease.stop().is_cancelled() {
            // With the lease: one call, where the instance may lead hundreds of groups.
            return self.has_nothing();
        }
        let (Some(held), created) = (self.tried.clone(), self.created) else { return };
        let deleting = async {
            let mut retries = Retries::new(self.options.backoff);
            while !held.has_ended() {
                match self.delete_own(&held, created).await {
                    Ok(is_gone) => return is_gone,
                    Err(error) => retries.wait("giving the leader key back", &error).await,
                }
            }
            true
        };
        match timeout(self.options.release_within, deleting).await {
            Ok(true) => self.has_nothing(),
            Ok(false) => {}
            Err(_) => {
                let key = self.options.key.escape_ascii();
                tracing::warn!(%key, "the leader key could not be given back yet: it is tried again");
            }
        }
    }
}

/// Leaves what could not be given back, also because of a panic, to the keeper of the lease.
impl Drop for Campaign {
    fn drop(&mut self) {
        if self.tried.is_some() {
            self.lease.abandon(&self.options.key);
        }
    }
}
