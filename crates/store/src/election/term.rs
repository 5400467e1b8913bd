//! The term of a leader.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use kafka_assigner_types::kv::{Compare, Lease, Must, Revision};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::lease::HeldLease;

/// The reasons for the end of a term.
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

/// The state of a term, which its keeper shares with the leader.
#[derive(Debug)]
pub(super) struct TermState {
    held: Arc<HeldLease>,
    end: OnceLock<End>,
    ended: CancellationToken,
}

impl TermState {
    pub(super) fn new(held: Arc<HeldLease>) -> Self {
        Self { held, end: OnceLock::new(), ended: CancellationToken::new() }
    }

    /// Ends the term; only the first end counts.
    pub(super) fn close(&self, end: End) {
        self.end.get_or_init(|| end);
        self.ended.cancel();
    }
}

/// One time of leading, from winning the key to its end.
///
/// Dropping it gives the key back at once, in a task of its own.
#[derive(Debug)]
pub struct Term {
    pub(super) key: Bytes,
    pub(super) create_revision: Revision,
    pub(super) state: Arc<TermState>,
    pub(super) released: CancellationToken,
    pub(super) release: DropGuard,
}

impl Term {
    /// The compare that every write of this term carries: it holds until the key is released.
    #[must_use]
    pub fn guard(&self) -> Compare {
        Compare::new(self.key.clone(), Must::HaveCreateRevision(self.create_revision))
    }

    /// Numbers the term: a later one has a higher revision.
    #[must_use]
    pub const fn create_revision(&self) -> Revision {
        self.create_revision
    }

    /// The lease that the key hangs on, with the keys of the instance's other terms.
    #[must_use]
    pub fn lease(&self) -> Lease {
        self.state.held.lease()
    }

    /// Returns true if the leader may act: the term has not ended, and was confirmed less than two thirds of the
    /// lease ago. Cheap, and right even where the task that keeps the term was not run for a while.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.state.ended.is_cancelled() && self.state.held.is_valid()
    }

    /// Is cancelled when the term ends; cancelling it oneself does nothing to the term.
    #[must_use]
    pub fn ended(&self) -> CancellationToken {
        self.state.ended.child_token()
    }

    /// Waits for the end, and returns its reason. Cancel safe.
    pub async fn end(&self) -> End {
        self.state.ended.cancelled().await;
        *self.state.end.get().expect("the reason is set before the token")
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
