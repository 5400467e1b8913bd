//! One request on its way, in a task of its own.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::FutureExt as _;
use kafka_assigner_types::id::TopicPartition;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::shared::ForwarderCore;
use crate::forward::{Forward, RequestError, SendError};
use crate::lane::RequestId;
use crate::route::RouteTarget;

/// A request that is to be sent.
pub(super) struct Sending {
    pub(super) id: RequestId,
    pub(super) target: RouteTarget,
    pub(super) at: TopicPartition,
    pub(super) request: Bytes,
    /// The time at which the poll began that runs now, as [`ForwarderCore::turned`]; 0 = none runs.
    pub(super) polled: Arc<AtomicU64>,
}

/// A request that was sent, with its outcome.
pub(super) type Sent<F> = (RequestId, Result<<F as Forward>::Response, SendFailure>);

/// The reasons for which a send has no response.
pub(super) enum SendFailure {
    /// It was refused, and waits again.
    Refused,
    /// The outcome is unknown.
    Lost(RequestError),
}

/// The outcome of the first poll of the request before.
#[derive(Clone, Copy)]
enum FirstPoll {
    Made,
    /// The claim was over, so this request was not sent, and later ones must not overtake it.
    HeldBack(RequestId),
}

/// Tells when the request before has been polled once.
pub(super) struct BeforeMe(oneshot::Receiver<FirstPoll>);

/// The place of a request among those of its partition. Requests are polled for the first time in the order of their
/// lane, although by different tasks: a transport that puts each one onto one connection then keeps that order.
pub(super) struct Turn {
    before: Option<BeforeMe>,
    next: oneshot::Sender<FirstPoll>,
}

impl Turn {
    /// The turn behind `before`, and what the next one waits for. `None` = nothing is before it.
    pub(super) fn new(before: Option<BeforeMe>) -> (Self, BeforeMe) {
        let (next, me) = oneshot::channel();
        (Self { before, next }, BeforeMe(me))
    }
}

/// Sends a request once it is its turn. Dropped, it sends nothing more, and the outcome is unknown.
pub(super) async fn send<F: Forward>(core: Arc<ForwarderCore<F>>, sending: Sending, turn: Turn) -> Sent<F> {
    let id = sending.id;
    let before = match turn.before {
        // A request before that was dropped with its task has gone no further.
        Some(BeforeMe(polled)) => polled.await.unwrap_or(FirstPoll::Made),
        None => FirstPoll::Made,
    };
    // The process may have been suspended since the lane was asked.
    let is_overtaking = matches!(before, FirstPoll::HeldBack(other) if other < id);
    if is_overtaking || !core.may_send() {
        // The next one may be none.
        let _ = turn.next.send(FirstPoll::HeldBack(id));
        return (id, Err(SendFailure::Refused));
    }
    (id, poll_to_end(&core, sending, turn.next).await)
}

async fn poll_to_end<F: Forward>(
    core: &ForwarderCore<F>,
    sending: Sending,
    next: oneshot::Sender<FirstPoll>,
) -> Result<F::Response, SendFailure> {
    let Sending { target, at, request, polled, .. } = sending;
    let sent = async { timeout(core.send_timeout, core.forward.send(&target, &at, request)).await };
    // A panic of the user's transport is one failed request, not the end of all others.
    let mut sent = pin!(AssertUnwindSafe(sent).catch_unwind());
    let mut next = Some(next);
    let result = poll_fn(|context| {
        polled.store(core.awake_micros(), Ordering::SeqCst);
        let result = sent.as_mut().poll(context);
        polled.store(0, Ordering::SeqCst);
        if let Some(next) = next.take() {
            // The next one may be none.
            let _ = next.send(FirstPoll::Made);
        }
        result
    });
    match result.await {
        Ok(Ok(Ok(response))) => Ok(response),
        Ok(Ok(Err(SendError::Refused(_)))) => Err(SendFailure::Refused),
        Ok(Ok(Err(SendError::Failed(error)))) => Err(SendFailure::Lost(RequestError::Failed(error))),
        Ok(Err(_)) => Err(SendFailure::Lost(RequestError::NoAnswer(core.send_timeout))),
        Err(_) => Err(SendFailure::Lost(RequestError::Failed("the transport panicked".into()))),
    }
}
