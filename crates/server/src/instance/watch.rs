//! Looks after the store's history: what is served belongs to one, and another one is loaded anew.

use std::time::Duration;

use kafka_assigner_core::history::{StoreHistory, judge};
use kafka_assigner_store::Error;
use kafka_assigner_types::kv::Revision;
use tokio::time::sleep;

use super::Instance;
use crate::identity::{StoreIdentity, read, replace};

/// The time between two readings of the identity, each in one linearizable read for each instance. A watch would not
/// do: on a store that was put back it waits for a revision that comes much later.
const EVERY: Duration = Duration::from_secs(1);

/// One read of the store's identity, and what it says.
struct Look {
    history: StoreHistory,
    identity: Option<StoreIdentity>,
    at: Revision,
}

/// Looks until the instance is stopped.
pub(super) async fn run(instance: Instance) {
    let stop = instance.0.stop.clone();
    while stop.run_until_cancelled(instance.next_look()).await.is_some() {
        match stop.run_until_cancelled(instance.look_at_history()).await {
            Some(Err(error)) => tracing::debug!(%error, "the store's identity can't be read"),
            Some(Ok(())) => {}
            None => return,
        }
    }
}

impl Instance {
    /// The store's history as one look shows it, and the revision of that look.
    ///
    /// # Errors
    /// Where the store can't be read.
    pub(crate) async fn judge_history(&self) -> Result<(StoreHistory, Revision), Error> {
        self.look().await.map(|look| (look.history, look.at))
    }

    /// Waits until the identity is to be read again.
    async fn next_look(&self) {
        tokio::select! {
            biased;
            // Somebody has read less than there was: every moment in which that goes on may lead members astray.
            () = self.0.fallen_store.notified() => {}
            () = sleep(EVERY) => {}
        }
    }

    /// A look that began before somebody found the store put back begins anew: it may hang with the store as it was. The
    /// store's own bounds end one that hangs otherwise, and find another endpoint.
    async fn fresh_look(&self) -> Result<Look, Error> {
        loop {
            tokio::select! {
                biased;
                // It comes once for each history.
                () = self.0.fallen_store.notified() => {}
                look = self.look() => return look,
            }
        }
    }

    async fn look(&self) -> Result<Look, Error> {
        let known = self.history();
        // Before the read: revisions never fall within one history.
        let reached = known.reached();
        let (identity, at) = read(&*self.0.store, &self.0.options.prefix).await?;
        let stored = identity.as_ref().map(|identity| &**identity.record());
        let is_older = identity.as_ref().is_some_and(|stored| stored.is_older_than(&known.identity));
        let history = match judge(known.identity.record(), reached, stored, at) {
            // Its revision was raised when it was restored.
            StoreHistory::Continues if known.went_back() || is_older => StoreHistory::WentBack,
            history => history,
        };
        if history == StoreHistory::WentBack {
            // Work that is begun on it may fail, and writes may lift the revision until the next look.
            known.fallen_store.note();
        }
        Ok(Look { history, identity, at })
    }

    async fn look_at_history(&self) -> Result<(), Error> {
        let Look { history, identity, .. } = self.fresh_look().await?;
        self.0.store_contact.note();
        match (history, identity) {
            (StoreHistory::Another, Some(identity)) => self.load_anew(identity).await,
            (StoreHistory::WentBack, Some(identity)) => self.begin_another(&identity).await?,
            // Somebody wrote it again. Nothing is written any more that is guarded on the record as it was.
            (StoreHistory::Continues, Some(identity)) if identity != *self.history().identity => {
                self.load_anew(identity).await;
            }
            (StoreHistory::Continues | StoreHistory::Unidentified, _) | (_, None) => {}
        }
        Ok(())
    }

    /// This instance has seen more than there is: clients must begin anew, and so must every grant.
    async fn begin_another(&self, identity: &StoreIdentity) -> Result<(), Error> {
        let (store, prefix) = (&*self.0.store, &self.0.options.prefix);
        let known = self.history();
        let stored = identity.record().not_below(known.identity.record());
        let next = stored.begun_anew(self.0.entropy.id(), self.0.options.wall.now());
        tracing::warn!(
            lost = identity.id(),
            "the store was put back to an earlier state: it gets another cluster id"
        );
        // Where somebody else was first, the next look finds what they wrote.
        if let Some(next) = replace(store, prefix, Some(identity), &next).await? {
            self.load_anew(next).await;
        }
        Ok(())
    }

    async fn load_anew(&self, identity: StoreIdentity) {
        tracing::warn!(
            cluster = identity.id(),
            "the store's identity was written anew: everything is loaded anew"
        );
        self.serve_anew(identity).await;
        self.0.metrics.history_begun();
    }
}
