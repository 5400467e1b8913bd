//! One request on its way, in a task of its own.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use kafka_assigner_types::id::TopicPartition;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::shared::ForwarderCore;
use crate::forward::{Forward, RequestError, SendError};
use crate::lane::{LaneTurn, RequestId};
use crate::lanes::FirstPoll;
use crate::route::RouteTarget;

/// A request that is to be sent at its turn.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    pub(super) id: RequestId,
    pub(super) turn: LaneTurn,
    pub(super) at: TopicPartition,
}

/// The end of a turn's task.
pub(super) enum TurnEnd<R> {
    /// It was not its turn: the lanes have taken the request back, or given it up.
    Unsent,
    /// It was sent, with this outcome.
    Sent(Result<R, SendFailure>),
}

/// The reasons for which a send has no response.
pub(super) enum SendFailure {
    /// It was refused, and waits again.
    Refused,
    /// The outcome is unknown.
    Lost(RequestError),
}

/// Tells when the request before has been polled once, or will not be sent.
pub(super) struct BeforeMe(oneshot::Receiver<()>);

/// The place of a turn among those of its partition. Requests are polled for the first time in the order of their
/// lane, although by different tasks: a transport that puts each one onto one connection then keeps that order.
pub(super) struct Place {
    before: Option<BeforeMe>,
    next: oneshot::Sender<()>,
}

impl Place {
    /// The place behind `before`, and what the next one waits for. `None` = nothing is before it.
    pub(super) fn new(before: Option<BeforeMe>) -> (Self, BeforeMe) {
        let (next, me) = oneshot::channel();
        (Self { before, next }, BeforeMe(me))
    }
}

/// Sends a request once it is its turn, if the lanes let it go then. Dropped, it sends nothing more, and the outcome of a
/// request that has departed is unknown.
///
/// The wait has the bound of the request: its age. The lanes give up a request that waits for longer; its task waits on, as
/// one of at most `window` of its partition, since the next ones are behind it.
pub(super) async fn send<F: Forward>(
    core: Arc<ForwarderCore<F>>,
    sending: Sending,
    request: Bytes,
    place: Place,
) -> TurnEnd<F::Response> {
    let before = match place.before {
        Some(BeforeMe(polled)) => polled.await.map_or(FirstPoll::Lost, |()| FirstPoll::Made),
        None => FirstPoll::Made,
    };
    let target = core.state().lanes.depart(core.now(), sending.id, sending.turn, before);
    match target {
        Some(target) => TurnEnd::Sent(poll_to_end(&core, &target, sending.at, request, place.next).await),
        None => {
            // The next one may be none.
            let _ = place.next.send(());
            TurnEnd::Unsent
        }
    }
}

async fn poll_to_end<F: Forward>(
    core: &ForwarderCore<F>,
    target: &RouteTarget,
    at: TopicPartition,
    request: Bytes,
    next: oneshot::Sender<()>,
) -> Result<F::Response, SendFailure> {
    let sent = async { timeout(core.send_timeout, core.forward.send(target, &at, request)).await };
    // A panic of the user's transport is one failed request, not the end of all others.
    let mut sent = pin!(AssertUnwindSafe(sent).catch_unwind());
    let mut next = Some(next);
    let result = poll_fn(|context| {
        let running = core.polls.begin(core.awake_micros());
        let result = sent.as_mut().poll(context);
        drop(running);
        if let Some(next) = next.take() {
            // The next one may be none.
            let _ = next.send(());
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
