//! The owner's gate: which requests may act for a partition, and when none is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kafka_assigner_types::id::Epoch;
use tokio::sync::Notify;

/// The highest bit of the state: nothing is admitted any more. The rest counts permits.
const CLOSED: u64 = 1 << 63;

/// Counts the requests that act for a partition, under whichever grant they were admitted.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: AtomicU64,
    emptied: Notify,
    /// Wakes whoever looks after all gates.
    wake: Arc<Notify>,
}

/// The right of one request to act for a partition, until it is dropped. A drain waits for every permit, so keep it
/// for as long as the request has effects, and no longer.
#[derive(Debug)]
#[must_use = "a request acts only while its permit lives"]
pub struct Permit(Arc<Gate>);

/// A request was refused at the gate: nothing of it was executed, and it may be sent again. Or a record was: it is left to
/// the next owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The claim is not valid: another one may own the partition.
    #[error("not the owner just now; nothing was executed")]
    NoClaim,
    /// The request was meant for another grant.
    #[error("owned under epoch {owned}, not {asked}; nothing was executed")]
    OtherEpoch {
        /// The epoch that the request carried.
        asked: Epoch,
        /// The epoch of the grant.
        owned: Epoch,
    },
    /// The partition is about to go to another owner, and its handler to stop.
    #[error("the partition is being handed over; nothing was executed")]
    Draining,
}

impl Gate {
    /// An open gate. Each time that it is closed and empties, `wake` is notified.
    pub(crate) fn new(wake: Arc<Notify>) -> Self {
        Self { wake, ..Self::default() }
    }

    /// True if any permit is left.
    pub(crate) fn is_occupied(&self) -> bool {
        self.state.load(Ordering::SeqCst) & !CLOSED != 0
    }

    /// Lets one request in; `None` = it is closed.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Permit> {
        // A refused request must not look like a last permit, or each refusal would wake somebody.
        if self.state.load(Ordering::SeqCst) & CLOSED != 0 {
            return None;
        }
        let before = self.state.fetch_add(1, Ordering::SeqCst);
        // Counted before it looks, so that whoever closes the gate sees every permit that was given.
        let permit = Permit(self.clone());
        (before & CLOSED == 0).then_some(permit)
    }

    /// Lets requests in again: what the gate was closed for did not come about.
    pub(crate) fn open(&self) {
        self.state.fetch_and(!CLOSED, Ordering::SeqCst);
    }

    /// Lets nobody in any more.
    pub(crate) fn close(&self) {
        self.state.fetch_or(CLOSED, Ordering::SeqCst);
    }

    /// Waits until no permit is left.
    ///
    /// Cancel safe.
    pub(crate) async fn emptied(&self) {
        loop {
            // Registered before looking, so that the last permit can't slip by.
            let emptied = self.emptied.notified();
            if !self.is_occupied() {
                return;
            }
            emptied.await;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.0.state.fetch_sub(1, Ordering::SeqCst) == CLOSED | 1 {
            self.0.emptied.notify_waiters();
            self.0.wake.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_closed_gate_is_empty_once_the_last_permit_is_gone() {
        let gate = Arc::new(Gate::default());
        let (first, second) = (gate.enter().expect("open"), gate.enter().expect("open"));
        gate.close();
        assert!(gate.enter().is_none());
        let mut emptied = Box::pin(gate.emptied());
        assert!(emptied.as_mut().now_or_never().is_none());
        drop(first);
        assert!(gate.emptied().now_or_never().is_none());
        drop(second);
        assert_eq!(gate.emptied().now_or_never(), Some(()));
    }

    #[tokio::test]
    async fn whoever_waits_is_woken_by_the_last_permit() {
        let gate = Arc::new(Gate::default());
        let permit = gate.enter().expect("open");
        gate.close();
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.emptied().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(permit);
        waiting.await.expect("no panic");
    }
}
