//! The comparison with a fresh listing, at intervals, beside the running watch.
//!
//! The listing is of one revision, and the copy may be before or after it. So the comparison waits until
//! the watch has come that far, and leaves out the keys that it has seen to change later.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use kafka_assigner_types::kv::{Change, Revision, Snapshot};
use tokio::time::{Instant, sleep_until};

use super::options::Options;
use crate::error::Error;
use crate::traits::Store;

/// A comparison that meets more later changes than this is put off: it would hold too much.
const MOST_OVERTAKEN: usize = 100_000;

enum CheckPhase {
    /// Nothing to do until then.
    Resting(Instant),
    /// The listing is under way; the changes that the watch delivers meanwhile.
    Listing(BoxFuture<'static, Result<Snapshot, Error>>, Vec<(Bytes, Revision)>),
    /// The watch has to reach the listing's revision; the keys that changed after it.
    Waiting(Snapshot, BTreeSet<Bytes>, Instant),
}

/// The state of the comparison.
pub(super) struct Check {
    store: Arc<dyn Store>,
    options: Options,
    phase: CheckPhase,
    /// The rests so far.
    rests: u32,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").finish_non_exhaustive()
    }
}

impl Check {
    pub(super) fn new(store: Arc<dyn Store>, options: Options) -> Self {
        let mut check = Self { store, options, phase: CheckPhase::Resting(Instant::now()), rests: 0 };
        check.rest();
        check
    }

    /// Waits for this phase's end and enters the next one.
    ///
    /// Cancel safe: what is under way goes on at the next call.
    ///
    /// # Errors
    /// When the watch has not come as far as the listing in time.
    pub(super) async fn advance(&mut self) -> Result<(), Error> {
        match &mut self.phase {
            CheckPhase::Resting(due) => {
                sleep_until(*due).await;
                self.list();
            }
            CheckPhase::Listing(listing, _) => {
                let listed = listing.await;
                self.listed(listed);
            }
            CheckPhase::Waiting(_, _, end) => {
                sleep_until(*end).await;
                return Err(stalled());
            }
        }
        Ok(())
    }

    fn list(&mut self) {
        let (store, prefix) = (Arc::clone(&self.store), self.options.prefix.clone());
        let listing = async move { store.range(&prefix).await };
        self.phase = CheckPhase::Listing(listing.boxed(), Vec::new());
    }

    fn listed(&mut self, listed: Result<Snapshot, Error>) {
        let CheckPhase::Listing(_, seen) = self.rest() else { return };
        match listed {
            Ok(snapshot) => {
                let later = seen.into_iter().filter(|(_, revision)| *revision > snapshot.revision);
                let overtaken = later.map(|(key, _)| key).collect();
                self.store.request_progress(&self.options.prefix, snapshot.revision);
                self.phase =
                    CheckPhase::Waiting(snapshot, overtaken, Instant::now() + self.options.stalled_after);
            }
            Err(error) => tracing::debug!(%error, "the view could not be checked"),
        }
    }

    /// Goes back to rest, and hands out what was under way. Views that began together don't check together.
    fn rest(&mut self) -> CheckPhase {
        self.rests = self.rests.wrapping_add(1);
        let wait = self.options.backoff.shortened(self.options.check_every.interval(), self.rests);
        std::mem::replace(&mut self.phase, CheckPhase::Resting(Instant::now() + wait))
    }

    /// Notes what the watch delivered.
    pub(super) fn saw(&mut self, changes: &[Change]) {
        let held = match &mut self.phase {
            CheckPhase::Resting(_) => return,
            CheckPhase::Listing(_, seen) => {
                seen.extend(changes.iter().map(|change| (change.key().clone(), change.revision())));
                seen.len()
            }
            CheckPhase::Waiting(snapshot, overtaken, _) => {
                let later = changes.iter().filter(|change| change.revision() > snapshot.revision);
                overtaken.extend(later.map(|change| change.key().clone()));
                overtaken.len()
            }
        };
        if held > MOST_OVERTAKEN {
            self.rest();
        }
    }

    /// The listing and the keys to leave out, once the watch has reached `revision` and that is enough.
    pub(super) fn ready(&mut self, revision: Revision) -> Option<(Snapshot, BTreeSet<Bytes>)> {
        if !matches!(&self.phase, CheckPhase::Waiting(snapshot, ..) if snapshot.revision <= revision) {
            return None;
        }
        match self.rest() {
            CheckPhase::Waiting(snapshot, overtaken, _) => Some((snapshot, overtaken)),
            CheckPhase::Resting(_) | CheckPhase::Listing(..) => None,
        }
    }
}

fn stalled() -> Error {
    Error::Unavailable { operation: "watch", source: Some("the watch has stalled behind a listing".into()) }
}
