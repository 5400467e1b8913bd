//! The way of a request to its owner, which a user of the [`Forwarder`](crate::Forwarder) implements.

use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_types::id::TopicPartition;

use crate::lanes::Unsent;
use crate::route::RouteTarget;

/// Carries one request to the owner of its partition, over the owners' protocol.
///
/// A router starts the requests of one partition in their order. An implementation that puts each one onto one
/// connection at the first poll of [`send`](Self::send) keeps that order up to the owner.
#[async_trait]
pub trait Forward: Send + Sync + 'static {
    /// The type of the owners' responses.
    type Response: Send + 'static;

    /// Sends `request` to `target`, with [`target.epoch`](RouteTarget::epoch) beside it.
    ///
    /// Must be cancel safe: it is dropped when it takes too long, and the outcome counts as unknown then. It must not
    /// block the thread, which holds up its partition and then the router: [`RouterOptions::stuck_after`](crate::RouterOptions::stuck_after).
    ///
    /// # Errors
    ///
    /// [`SendError`]: whether the request is kept and tried again depends on the variant.
    async fn send(
        &self,
        target: &RouteTarget,
        at: &TopicPartition,
        request: Bytes,
    ) -> Result<Self::Response, SendError>;
}

/// The reasons for which one attempt to send a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// Nothing was executed, for certain: the owner refused it (not the owner, another epoch, draining), or it never
    /// left, because no connection could be opened. The router keeps it in its place and tries again.
    #[error("refused: {0}")]
    Refused(String),
    /// It failed, and may have been executed. The caller gets the error.
    #[error("failed on its way")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

/// The reasons for which a request that was given to a router has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// It was not sent, so nothing was executed: it may be repeated, here later or at another router.
    #[error(transparent)]
    Unsent(#[from] Unsent),
    /// It failed in flight, and may have been executed.
    #[error("the request failed on its way")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// The owner did not answer for so long; it may have been executed.
    #[error("no answer within {0:?}")]
    NoAnswer(Duration),
    /// The router stopped while the request was in flight; it may have been executed.
    #[error("the router stopped while the request was on its way")]
    Interrupted,
}

impl RequestError {
    /// Returns true if certainly nothing was executed, so that repeating it is safe whatever the request does.
    #[must_use]
    pub const fn is_safe_to_repeat(&self) -> bool {
        matches!(self, Self::Unsent(_))
    }
}
