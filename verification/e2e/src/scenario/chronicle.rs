//! Every change of the store below a prefix, with the time at which it was seen.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use futures::StreamExt as _;
use kafka_assigner_audit::Micros;
use kafka_assigner_rig::clock::wall;
use kafka_assigner_store::{Error, Store, Watch};
use kafka_assigner_types::kv::{Change, Revision};
use tokio_util::task::AbortOnDropHandle;

/// One change, and when it was seen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    /// The time.
    pub(crate) at: Micros,
    /// The change.
    pub(crate) change: Change,
}

/// A watch of the store, from its first revision until this is dropped.
#[derive(Debug)]
pub(crate) struct Chronicle {
    seen: Arc<Mutex<Vec<Seen>>>,
    watching: AbortOnDropHandle<Result<(), Error>>,
}

impl Chronicle {
    /// Begins.
    pub(crate) async fn start(store: &impl Store, prefix: &str) -> Result<Self> {
        let (watch, seen) = (store.watch(prefix.as_bytes(), Revision(1)).await?, Arc::default());
        let watching = AbortOnDropHandle::new(tokio::spawn(note(watch, Arc::clone(&seen))));
        Ok(Self { seen, watching })
    }

    /// Everything that was seen so far, in the order of the revisions.
    pub(crate) fn read(&self) -> Result<Vec<Seen>> {
        if self.watching.is_finished() {
            bail!("the watch of etcd has ended");
        }
        Ok(self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

async fn note(mut watch: Watch, seen: Arc<Mutex<Vec<Seen>>>) -> Result<(), Error> {
    while let Some(batch) = watch.next().await {
        let (changes, at) = (batch?.changes, wall());
        let changes = changes.into_iter().map(|change| Seen { at, change });
        seen.lock().unwrap_or_else(PoisonError::into_inner).extend(changes);
    }
    Ok(())
}
