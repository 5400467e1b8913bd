//! The loop that sends requests and receives their answers.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use kafka_assigner_types::id::TopicPartition;
use tokio::time::timeout;

use super::shared::ForwarderCore;
use crate::forward::{Forward, RequestError, SendError};
use crate::lane::RequestId;
use crate::lanes::{LaneCommand, SendOutcome};
use crate::route::RouteTarget;

/// The longest sleep of the loop. It runs at least that often, so that a stall can be told from idleness;
/// and a claim that was renewed after it had lapsed for a moment is noticed by then.
const IDLE: Duration = Duration::from_millis(500);

/// A request that is to be sent.
struct Sending {
    id: RequestId,
    target: RouteTarget,
    at: TopicPartition,
    request: Bytes,
}

/// The loop. When it ends or panics, the remaining requests fail.
pub(super) struct Dispatcher<'a, F: Forward>(&'a ForwarderCore<F>);

impl<'a, F: Forward> Dispatcher<'a, F> {
    pub(super) const fn new(core: &'a ForwarderCore<F>) -> Self {
        Self(core)
    }

    pub(super) async fn run(self) {
        // It polls what was pushed in the order of pushing, so requests start in the order of the lanes.
        let mut sends = FuturesUnordered::new();
        loop {
            self.0.turned.store(self.awake_micros(), Ordering::SeqCst);
            sends.extend(self.start_due().into_iter().map(|sending| self.send(sending)));
            let wake = self.0.state().lanes.next_wake();
            let idle = self.0.now() + IDLE;
            let wake = wake.map_or(idle, |wake| wake.min(idle));
            tokio::select! {
                biased;
                // Answers first: they make room for others.
                Some((id, result)) = sends.next(), if !sends.is_empty() => self.settle(id, result),
                // A new request, or a new route.
                () = self.0.wake.notified() => {}
                // Requests that are too old, and those to try again.
                () = self.0.table.clock().sleep_until(wake) => {}
            }
        }
    }

    fn awake_micros(&self) -> u64 {
        let micros = self.0.table.clock().awake().as_micros();
        u64::try_from(micros).unwrap_or(u64::MAX).max(1)
    }

    /// Returns the requests that may be sent now, and fails those that waited too long.
    fn start_due(&self) -> Vec<Sending> {
        let now = self.0.now();
        let mut state = self.0.state();
        let mut due = Vec::new();
        while let Some(command) = state.lanes.next(now) {
            match command {
                LaneCommand::Send { id, target } => {
                    let at = state.lanes.partition(id).cloned();
                    let request = state.callers.get(&id).map(|caller| caller.request.clone());
                    if let (Some(at), Some(request)) = (at, request) {
                        due.push(Sending { id, target, at, request });
                    }
                }
                LaneCommand::Fail { id, why } => {
                    if let Some(caller) = state.callers.remove(&id) {
                        // The caller may have cancelled.
                        let _ = caller.answer.send(Err(why.into()));
                    }
                }
            }
        }
        due
    }

    async fn send(&self, sending: Sending) -> (RequestId, Result<F::Response, SendFailure>) {
        let Sending { id, target, at, request } = sending;
        // A panic of the user's transport is one failed request, not the end of all others.
        let sent = AssertUnwindSafe(self.0.forward.send(&target, &at, request)).catch_unwind();
        let result = match timeout(self.0.send_timeout, sent).await {
            Ok(Ok(Ok(response))) => Ok(response),
            Ok(Ok(Err(SendError::Refused(_)))) => Err(SendFailure::Refused),
            Ok(Ok(Err(SendError::Failed(error)))) => Err(SendFailure::Lost(RequestError::Failed(error))),
            Ok(Err(_)) => Err(SendFailure::Lost(RequestError::Failed("the transport panicked".into()))),
            Err(_) => Err(SendFailure::Lost(RequestError::NoAnswer(self.0.send_timeout))),
        };
        (id, result)
    }

    fn settle(&self, id: RequestId, result: Result<F::Response, SendFailure>) {
        let now = self.0.now();
        let mut state = self.0.state();
        let Some(at) = state.lanes.partition(id).cloned() else { return };
        let has_gone = state.callers.get(&id).is_none_or(|caller| caller.answer.is_closed());
        let answer = match result {
            Err(SendFailure::Refused) => {
                state.lanes.settle(now, id, SendOutcome::Refused);
                if has_gone {
                    state.lanes.cancel(id);
                    state.callers.remove(&id);
                }
                None
            }
            Err(SendFailure::Lost(error)) => {
                state.lanes.settle(now, id, SendOutcome::Failed);
                Some(Err(error))
            }
            Ok(response) => {
                state.lanes.settle(now, id, SendOutcome::Answered);
                Some(Ok(response))
            }
        };
        let caller = answer.and_then(|answer| Some((state.callers.remove(&id)?, answer)));
        state.release(&at);
        drop(state);
        if let Some((caller, answer)) = caller {
            // The caller may have cancelled.
            let _ = caller.answer.send(answer);
        }
    }
}

/// The reasons for which a send has no response.
enum SendFailure {
    /// It was refused, and waits again.
    Refused,
    /// The outcome is unknown.
    Lost(RequestError),
}

impl<F: Forward> Drop for Dispatcher<'_, F> {
    fn drop(&mut self) {
        self.0.turned.store(0, Ordering::SeqCst);
        self.0.state().lanes.give_up_all();
        drop(self.start_due());
        // Requests in flight: their answers are dropped.
        self.0.state().callers.clear();
    }
}
