//! The part of a user's own queues in a switch.

use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_types::id::TopicPartition;

use crate::route::RouteTarget;

/// An implementor's own failure.
pub type CutoverError = Box<dyn Error + Send + Sync>;

/// Switches the traffic of partitions from one owner to the next: stop, stash, drain, switch, flush.
///
/// [`Forwarder`](crate::Forwarder) is one, and enough for most; implement it yourself to keep queues of your own.
///
/// All calls for one partition come in order. [`stop`](Self::stop), [`switch`](Self::switch) and
/// [`remove`](Self::remove) come from the task that keeps the session: they must not block, since a blocked one renews
/// nothing, and the service then ends the session.
#[async_trait]
pub trait Cutover: Send + Sync + 'static {
    /// Stop and stash: from its return on, nothing more of the partition goes out, and new requests are held back.
    /// Comes also where no drain follows: the partition has no owner just now, or the session is over.
    fn stop(&self, at: &TopicPartition);

    /// Drain: returns once every request of the partition that was in flight is answered, has failed, or was refused.
    /// The router acknowledges the handoff then. Drains of many partitions run at once.
    ///
    /// Must be cancel safe: it is dropped when the handoff ends, and called anew for the next one.
    ///
    /// # Errors
    ///
    /// Anything; it is called again after a wait. When it fails ten times in a row, over all partitions, the router
    /// takes itself out: see [`RouterError::Drains`](crate::RouterError::Drains).
    async fn drain(&self, at: &TopicPartition) -> Result<(), CutoverError>;

    /// Switch and flush: from now on requests go to `target`, those that were held back first, in their order. A
    /// drain does not always come before: requests in flight to another target have to be answered before.
    fn switch(&self, at: &TopicPartition, target: &RouteTarget);

    /// The partition does not exist any more: what was held back for it fails.
    fn remove(&self, at: &TopicPartition);

    /// Runs beside the session, for implementors with a loop of their own. Dropped at the end; it must
    /// not return before. By default nothing.
    async fn work(&self) {
        std::future::pending::<()>().await;
    }

    /// Returns true if [`work`](Self::work) made no progress for `bound`. A router that is stuck leaves the group,
    /// or every switch would wait for it. By default never.
    fn is_stuck(&self, bound: Duration) -> bool {
        let _ = bound;
        false
    }

    /// The router is about to stop: refuses new requests, and returns when no request is left to be answered. Dropped
    /// when that takes too long. By default it returns at once.
    async fn finish(&self) {}
}
