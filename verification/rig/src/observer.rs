//! The records of the group of a run, watched from outside: who leads, who owns, what moves.

use std::ops::Deref;

use anyhow::Result;
use kafka_assigner_audit::watcher::Observer;
use kafka_assigner_core::key::Layout;
use kafka_assigner_store::{Error, Store};
use tokio_util::task::AbortOnDropHandle;

/// An observer that watches until it is dropped.
#[derive(Debug)]
pub struct Observing {
    observer: Observer,
    watching: AbortOnDropHandle<Result<(), Error>>,
}

impl Observing {
    /// Watches the group `group`, whose keys begin with `prefix`, in `store`.
    ///
    /// # Errors
    /// When `group` is no name.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start(store: impl Store, prefix: &str, group: &str) -> Result<Self> {
        let observer = Observer::new(Layout::new(prefix, group.parse()?));
        let watching = AbortOnDropHandle::new(tokio::spawn(observer.clone().run(store)));
        Ok(Self { observer, watching })
    }

    /// True if the watch has ended, so that nothing more is seen.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.watching.is_finished()
    }
}

impl Deref for Observing {
    type Target = Observer;

    fn deref(&self) -> &Observer {
        &self.observer
    }
}
