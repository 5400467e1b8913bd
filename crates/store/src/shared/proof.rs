//! The proof that a silent watch has missed nothing: the store says at which revision it is, and the watch has to come
//! there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kafka_assigner_types::kv::Revision;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::Error;
use crate::traits::Store;

/// The silence after which the store is asked, in one read for each instance.
const SILENCE: Duration = Duration::from_secs(2);

/// The interval of requests for progress meanwhile: etcd may leave one unanswered.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// The longest time for the store to answer, and then for the watch to come nearer to the revision that it said. With the
/// silence before it, and the time for another watch, a broken watch is replaced within ten seconds, and a store
/// that does not answer is told after six. A slow store answers in one.
const PATIENCE: Duration = Duration::from_secs(4);

/// The outcome of a phase.
#[derive(Debug)]
pub(super) enum ProofOutcome {
    /// Nothing yet.
    Open,
    /// The watch has told all that there is.
    Whole,
    /// The store did not say how far it is. The watch may be whole.
    Doubtful(Error),
}

enum ProofPhase {
    /// Nothing is in doubt until then.
    Resting(Instant),
    /// The store is asked.
    Asking(BoxFuture<'static, Result<Revision, Error>>),
    /// The watch has to come to this revision until then; it is asked for its progress again at the second time.
    Waiting(Revision, Instant, Instant),
}

/// The proof, over and over.
pub(super) struct SilenceProof {
    store: Arc<dyn Store>,
    prefix: Bytes,
    phase: ProofPhase,
}

impl fmt::Debug for SilenceProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SilenceProof").finish_non_exhaustive()
    }
}

impl SilenceProof {
    /// Begins with a look at once.
    pub(super) fn new(store: Arc<dyn Store>, prefix: Bytes) -> Self {
        Self { store, prefix, phase: ProofPhase::Resting(Instant::now()) }
    }

    /// Waits for this phase's end and enters the next one; the watch stands at `position`.
    ///
    /// Cancel safe: what is under way goes on at the next call.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the watch has not come as far as the store in time.
    pub(super) async fn advance(&mut self, position: Revision) -> Result<ProofOutcome, Error> {
        match &mut self.phase {
            ProofPhase::Resting(due) => {
                sleep_until(*due).await;
                self.phase = self.ask();
                Ok(ProofOutcome::Open)
            }
            ProofPhase::Asking(asked) => {
                let asked = asked.await;
                Ok(self.said(asked, position))
            }
            ProofPhase::Waiting(revision, end, again) => {
                sleep_until((*end).min(*again)).await;
                if Instant::now() >= *end {
                    return Err(stalled());
                }
                self.store.request_progress(&self.prefix, *revision);
                *again = Instant::now() + ASK_EVERY;
                Ok(ProofOutcome::Open)
            }
        }
    }

    /// Takes in what the store said.
    fn said(&mut self, asked: Result<Revision, Error>, position: Revision) -> ProofOutcome {
        let now = Instant::now();
        match asked {
            Ok(revision) if revision > position => {
                self.phase = ProofPhase::Waiting(revision, now + PATIENCE, now);
                ProofOutcome::Open
            }
            Ok(_) => {
                self.phase = rest();
                ProofOutcome::Whole
            }
            Err(error) => {
                self.phase = rest();
                ProofOutcome::Doubtful(error)
            }
        }
    }

    fn ask(&self) -> ProofPhase {
        let (store, prefix) = (Arc::clone(&self.store), self.prefix.clone());
        let asking = async move {
            let answer = timeout(PATIENCE, store.get(&prefix)).await.unwrap_or_else(|_| Err(silent()));
            answer.map(|(_, revision)| revision)
        };
        ProofPhase::Asking(asking.boxed())
    }

    /// Notes that the watch has said something, and has come to `position`.
    pub(super) fn heard(&mut self, position: Revision) {
        match &mut self.phase {
            // It comes nearer: a long backlog takes its time.
            ProofPhase::Waiting(revision, end, _) if *revision > position => *end = Instant::now() + PATIENCE,
            _ => self.phase = rest(),
        }
    }
}

fn rest() -> ProofPhase {
    ProofPhase::Resting(Instant::now() + SILENCE)
}

fn stalled() -> Error {
    Error::Unavailable { operation: "watch", source: Some("the watch has stalled behind the store".into()) }
}

fn silent() -> Error {
    Error::Unavailable { operation: "get", source: Some("the store does not say how far it is".into()) }
}
