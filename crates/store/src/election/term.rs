//! What a leader holds.

use bytes::Bytes;
use kafka_assigner_core::kv::{Compare, Lease, Must, Revision};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Why a term ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The leader gave it back.
    Resigned,
    /// The store says that the lease is over.
    LeaseLost,
    /// The key is gone, or hangs on something else.
    KeyLost,
    /// No confirmation came for two thirds of the lease: it may still live, but can't be relied on.
    Unconfirmed,
}

/// One time of leading, from winning the key to its end.
///
/// Dropping it gives the key back at once, in a task of its own.
#[derive(Debug)]
pub struct Term {
    pub(super) key: Bytes,
    pub(super) create_revision: Revision,
    pub(super) lease: Lease,
    pub(super) valid_until: watch::Receiver<Instant>,
    pub(super) end: watch::Receiver<Option<End>>,
    pub(super) ended: CancellationToken,
    pub(super) released: CancellationToken,
    pub(super) release: DropGuard,
}

impl Term {
    /// The compare that every write of this term carries: it holds until the key is given up, for nobody else.
    #[must_use]
    pub fn guard(&self) -> Compare {
        Compare::new(self.key.clone(), Must::HaveCreateRevision(self.create_revision))
    }

    /// Numbers the term: a later one has a higher revision.
    #[must_use]
    pub const fn create_revision(&self) -> Revision {
        self.create_revision
    }

    /// The lease that the key hangs on.
    #[must_use]
    pub const fn lease(&self) -> Lease {
        self.lease
    }

    /// Whether the leader may act: the term has not ended, and was confirmed less than two thirds of the
    /// lease ago. Cheap, and right even where the task that keeps the term was not run for a while.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.ended.is_cancelled() && Instant::now() < *self.valid_until.borrow()
    }

    /// Is cancelled when the term ends; cancelling it oneself does nothing to the term.
    #[must_use]
    pub fn ended(&self) -> CancellationToken {
        self.ended.child_token()
    }

    /// Waits for the end, and tells why. Cancel safe.
    pub async fn end(&self) -> End {
        let mut end = self.end.clone();
        let end = end.wait_for(Option::is_some).await.ok().and_then(|end| *end);
        end.unwrap_or(End::Resigned)
    }

    /// Gives the key back, and waits until that is done or was given up after
    /// [`release_within`](super::Options::release_within).
    ///
    /// When the future is dropped, it is done all the same.
    pub async fn resign(self) {
        drop(self.release);
        self.released.cancelled().await;
    }
}
