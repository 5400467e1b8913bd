//! The task that keeps the one watch.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::proof::{ProofOutcome, SilenceProof};
use super::store::SharedWatch;
use crate::backoff::{Backoff, Retries};
use crate::error::Error;
use crate::traits::{Watch, WatchBatch};

/// The interval at which every reader is told how far the watch is, so that no view falls far behind in a quiet group.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Keeps the watch of a [`SharedWatch`] while it [runs](Self::run).
#[derive(Debug)]
pub struct SharedWatchKeeper {
    shared: SharedWatch,
    retries: Retries,
}

impl SharedWatchKeeper {
    pub(super) const fn new(shared: SharedWatch, backoff: Backoff) -> Self {
        Self { shared, retries: Retries::new(backoff) }
    }

    /// Keeps the watch until `stop`; then every reader ends. Failures are retried for ever, and shown in
    /// [`WatchHealth`](super::WatchHealth).
    ///
    /// Dropping the future leaves the readers without news.
    pub async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.keep()).await;
        self.shared.readers().end_all(stopped);
    }

    async fn keep(&mut self) {
        loop {
            let Err(error) = self.follow().await;
            self.broke(&error);
            self.retries.wait("following the store", &error).await;
        }
    }

    fn broke(&self, error: &Error) {
        if let Error::Compacted { asked, oldest } = *error {
            // Changes that are lost are listed anew.
            self.shared.forget(|| Error::Compacted { asked, oldest });
        }
        let is_news = self.shared.note_broken(Instant::now(), error);
        if is_news {
            tracing::warn!(%error, "the watch of the store broke: it is set up again");
        }
    }

    /// Watches from the last change on, until that fails.
    async fn follow(&mut self) -> Result<Infallible, Error> {
        let from = self.shared.begin().await?;
        let mut watch = self.shared.store().watch(self.shared.prefix(), from.next()).await?;
        let mut proof = SilenceProof::new(Arc::clone(self.shared.store()), self.shared.prefix().clone());
        let mut ticks = interval(TELL_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let position = self.shared.position();
            tokio::select! {
                biased;
                // Once a second, so it starves nobody.
                _ = ticks.tick() => self.shared.readers().tell_all(),
                // Changes in the store, before a proof that they are all.
                batch = next(&mut watch) => self.take(&batch?, &mut proof),
                proved = proof.advance(position) => self.judge(&proved?),
            }
        }
    }

    fn take(&mut self, batch: &WatchBatch, proof: &mut SilenceProof) {
        self.shared.take(batch);
        proof.heard(self.shared.position());
        self.is_whole();
    }

    fn judge(&mut self, proved: &ProofOutcome) {
        match proved {
            ProofOutcome::Open => {}
            ProofOutcome::Whole => self.is_whole(),
            ProofOutcome::Doubtful(error) => self.doubt(error),
        }
    }

    /// The watch is kept: it may tell more than a store that answers nothing else, and goes on by itself in most stores.
    fn doubt(&self, error: &Error) {
        if self.shared.note_broken(Instant::now(), error) {
            tracing::warn!(%error, "nothing proves that the watch of the store is whole");
        }
    }

    /// The watch tells all that happens, as far as anybody knows.
    fn is_whole(&mut self) {
        self.retries.succeeded();
        if let Some(lasted) = self.shared.note_whole() {
            tracing::info!(?lasted, "the watch of the store runs again");
        }
    }
}

async fn next(watch: &mut Watch) -> Result<WatchBatch, Error> {
    watch.next().await.unwrap_or_else(|| Err(ended()))
}

fn ended() -> Error {
    Error::Unavailable { operation: "watch", source: Some("the watch ended without a word".into()) }
}

fn stopped() -> Error {
    Error::Unavailable { operation: "watch", source: Some("the watch is no longer kept".into()) }
}
