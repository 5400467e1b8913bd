//! Listeners to the updates of a view.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// A notice to a listener.
#[derive(Debug, PartialEq, Eq)]
pub enum Notice<U> {
    /// One update, and what it touched.
    Touched(Arc<U>),
    /// The listener fell behind: anything may have changed since its last notice. Read the whole view.
    Everything,
}

/// One listener's place in the updates of a view; bounded, and never in the keeper's way.
#[derive(Debug)]
pub struct Listener<U> {
    updates: Option<broadcast::Receiver<Arc<U>>>,
}

impl<U: Send + Sync + 'static> Listener<U> {
    pub(super) const fn new(updates: Option<broadcast::Receiver<Arc<U>>>) -> Self {
        Self { updates }
    }

    /// The next notice; the view already shows what it tells. `None` once the keeper has stopped.
    ///
    /// Cancel safe: no notice is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Notice<U>> {
        let updates = self.updates.as_mut()?;
        match updates.recv().await {
            Ok(touched) => Some(Notice::Touched(touched)),
            Err(RecvError::Closed) => None,
            Err(RecvError::Lagged(_)) => {
                // The changes that are still queued are part of "everything".
                *updates = updates.resubscribe();
                Some(Notice::Everything)
            }
        }
    }
}
