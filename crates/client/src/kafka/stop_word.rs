//! The word to stop, as the task of a partition hears it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

/// The word to stop, which is asked for after each record: without the lock of a token. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct StopWord {
    is_given: Arc<AtomicBool>,
    token: CancellationToken,
}

impl StopWord {
    pub(super) fn give(&self) {
        // Before whoever waits is woken, and asks.
        self.is_given.store(true, Ordering::SeqCst);
        self.token.cancel();
    }

    #[inline]
    pub(super) fn is_given(&self) -> bool {
        self.is_given.load(Ordering::SeqCst)
    }

    /// Waits until it is given.
    ///
    /// Cancel safe.
    pub(super) async fn given(&self) {
        self.token.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn all_who_share_it_hear_it_by_asking_and_by_waiting() {
        let stop = StopWord::default();
        let shared = stop.clone();
        assert!(!shared.is_given() && shared.given().now_or_never().is_none());
        stop.give();
        assert!(shared.is_given() && shared.given().now_or_never().is_some());
    }
}
