//! The proof that a silent watch has missed nothing: the store says at which revision it is, and the watch has to come there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kafka_assigner_types::kv::Revision;
use tokio::time::{Instant, sleep_until};

use crate::error::Error;
use crate::traits::Store;

/// The silence after which the store is asked, in one read for each instance.
const SILENCE: Duration = Duration::from_secs(2);

/// The interval of requests for progress meanwhile: etcd may leave one unanswered.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// The longest time for the watch to come nearer to the revision that the store said. With the silence before it, and the time
/// for another watch, a broken watch is replaced within ten seconds. A slow store answers in one.
const PATIENCE: Duration = Duration::from_secs(4);

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

    /// Waits for this phase's end and enters the next one; the watch stands at `position`. Returns true if that is proved to
    /// be all.
    ///
    /// Cancel safe: what is under way goes on at the next call.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the watch has not come as far as the store in time.
    pub(super) async fn advance(&mut self, position: Revision) -> Result<bool, Error> {
        match &mut self.phase {
            ProofPhase::Resting(due) => {
                sleep_until(*due).await;
                self.phase = self.ask();
                Ok(false)
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
                Ok(false)
            }
        }
    }

    /// Takes in what the store said. A store that does not answer proves nothing.
    fn said(&mut self, asked: Result<Revision, Error>, position: Revision) -> bool {
        let now = Instant::now();
        match asked {
            Ok(revision) if revision > position => {
                self.phase = ProofPhase::Waiting(revision, now + PATIENCE, now);
                false
            }
            answered => {
                self.phase = rest();
                answered.inspect_err(|error| tracing::debug!(%error, "no proof of a silent watch")).is_ok()
            }
        }
    }

    fn ask(&self) -> ProofPhase {
        let (store, prefix) = (Arc::clone(&self.store), self.prefix.clone());
        ProofPhase::Asking(async move { store.get(&prefix).await.map(|(_, revision)| revision) }.boxed())
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
