//! The default [`Cutover`]: it accepts requests, holds them in bounds, and forwards them in order.

mod dispatch;
#[cfg(test)]
mod forwarder_test;
mod polls;
mod sending;
mod shared;
#[cfg(test)]
mod turns_test;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_types::id::TopicPartition;
use tokio::sync::oneshot;

use self::dispatch::Dispatcher;
use self::shared::{ForwarderCore, PendingRequest};
use crate::cutover::{Cutover, CutoverError};
use crate::forward::{Forward, RequestError};
use crate::lane::RequestId;
use crate::lanes::{StashLimits, Unsent};
use crate::route::RouteTarget;
use crate::table::RoutingTable;
use kafka_assigner_types::key::KeyHash;

/// Takes requests for partitions and forwards each to the owner, through switches.
///
/// Requests for one partition are started in the order in which [`request`](Self::request) was called. While a
/// partition is switched to another owner, or has no owner, they wait, within [`StashLimits`]; a refused request goes
/// back to its place. Reads that must see earlier writes have to be requests too: sent past the queue, they would miss
/// the writes that wait in it.
pub struct Forwarder<F: Forward>(Arc<ForwarderCore<F>>);

impl<F: Forward> Forwarder<F> {
    /// A forwarder that follows `table`. `send_timeout` bounds each request's way to the owner and back; a drain takes
    /// at most as long, so it must be shorter than the group's bound on Freezing (default 30 s).
    pub fn new(forward: F, table: RoutingTable, limits: StashLimits, send_timeout: Duration) -> Self {
        Self(Arc::new(ForwarderCore::new(forward, table, limits, send_timeout)))
    }

    /// Accepts a request for a partition. Its place in the order is that of this call; the returned future only waits
    /// for the answer. Dropped, it cancels the request, unless that is in flight already: one that still waits is not sent.
    ///
    /// Requests in flight hold no lock and no thread. Each one is polled by a task of its own.
    ///
    /// # Errors
    ///
    /// [`RequestError`], by variant, when the answer is awaited.
    pub fn request(self: &Arc<Self>, at: &TopicPartition, request: Bytes) -> Answer<F> {
        let now = self.0.now();
        let (answer, receiver) = oneshot::channel();
        let mut state = self.0.state();
        let mut admitted = state.lanes.admit(now, at, request.len());
        if admitted == Err(Unsent::NoPartition) && self.0.table.lookup(at).is_ok() {
            // The table has it since a moment, and its first switch is on the way.
            state.lanes.expect(at);
            admitted = state.lanes.admit(now, at, request.len());
        }
        let waiting = match admitted {
            Ok(id) => {
                state.callers.insert(id, PendingRequest { request, answer });
                self.0.wake.notify_one();
                Ok((id, receiver))
            }
            // A table that is closed does not say which partitions there are.
            Err(Unsent::NoPartition) => Err(self.0.table.lookup(at).err().unwrap_or(Unsent::NoPartition)),
            Err(why) => Err(why),
        };
        drop(state);
        Answer { waiting, of: self.clone() }
    }

    /// As [`request`](Self::request), for the partition of `topic` that `key` belongs to by `hash`: that of the producers which
    /// write records with these keys. Java's and librdkafka's differ by default.
    ///
    /// # Errors
    ///
    /// [`RequestError`], by variant, when the answer is awaited.
    pub fn request_by_key(
        self: &Arc<Self>,
        topic: &str,
        key: &[u8],
        hash: KeyHash,
        request: Bytes,
    ) -> Answer<F> {
        match self.0.table.partition_of(topic, key, hash) {
            Some(at) => self.request(&at, request),
            None => {
                let why = if self.0.table.is_open() { Unsent::NoPartition } else { Unsent::Closed };
                Answer { waiting: Err(why), of: self.clone() }
            }
        }
    }

    /// The number of requests that wait, and the number of those in flight.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        self.0.state().lanes.counts()
    }

    fn cancel(&self, id: RequestId) {
        let mut state = self.0.state();
        let at = state.lanes.partition(id).cloned();
        state.lanes.cancel(id);
        if state.lanes.partition(id).is_none() {
            state.callers.remove(&id);
        }
        at.iter().for_each(|at| state.release(at));
    }
}

impl<F: Forward> fmt::Debug for Forwarder<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waiting, on_their_way) = self.counts();
        f.debug_struct("Forwarder")
            .field("waiting", &waiting)
            .field("on_their_way", &on_their_way)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl<F: Forward> Cutover for Forwarder<F> {
    fn stop(&self, at: &TopicPartition) {
        self.0.state().lanes.stop(at);
    }

    async fn drain(&self, at: &TopicPartition) -> Result<(), CutoverError> {
        let drained = {
            let mut state = self.0.state();
            if state.lanes.is_drained(at) {
                return Ok(());
            }
            let (sender, drained) = oneshot::channel();
            state.drains.retain(|(_, waiting)| !waiting.is_closed());
            state.drains.push((at.clone(), sender));
            drained
        };
        Ok(drained.await?)
    }

    fn switch(&self, at: &TopicPartition, target: &RouteTarget) {
        self.0.state().lanes.switch(at, target.clone());
        self.0.wake.notify_one();
    }

    fn remove(&self, at: &TopicPartition) {
        self.0.state().lanes.remove(at);
        self.0.wake.notify_one();
    }

    async fn work(&self) {
        Dispatcher::new(Arc::clone(&self.0)).run().await;
    }

    fn is_stuck(&self, bound: Duration) -> bool {
        let now = self.0.table.clock().awake();
        let turned = Some(self.0.turned.load(Ordering::SeqCst)).filter(|since| *since > 0);
        let oldest = turned.into_iter().chain(self.0.polls.oldest()).min();
        oldest.is_some_and(|since| Duration::from_micros(since) + bound < now)
    }

    async fn finish(&self) {
        let finished = {
            let mut state = self.0.state();
            state.lanes.refuse_all();
            if state.lanes.counts() == (0, 0) {
                return;
            }
            let (sender, finished) = oneshot::channel();
            state.finishing.push(sender);
            finished
        };
        // The sender lives as long as `self`.
        let _ = finished.await;
    }
}

type PendingAnswer<R> = (RequestId, oneshot::Receiver<Result<R, RequestError>>);

/// The future answer of a request.
#[must_use = "dropped, it cancels the request"]
pub struct Answer<F: Forward> {
    waiting: Result<PendingAnswer<F::Response>, Unsent>,
    of: Arc<Forwarder<F>>,
}

impl<F: Forward> fmt::Debug for Answer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.waiting.as_ref().map(|(id, _)| id);
        f.debug_struct("Answer").field("waiting", &waiting).finish_non_exhaustive()
    }
}

impl<F: Forward> Future for Answer<F> {
    type Output = Result<F::Response, RequestError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.waiting {
            Err(why) => Poll::Ready(Err(RequestError::Unsent(*why))),
            Ok((_, receiver)) => Pin::new(receiver)
                .poll(context)
                .map(|answer| answer.unwrap_or(Err(RequestError::Interrupted))),
        }
    }
}

impl<F: Forward> Drop for Answer<F> {
    fn drop(&mut self) {
        if let Ok((id, receiver)) = &mut self.waiting {
            receiver.close();
            let id = *id;
            self.of.cancel(id);
        }
    }
}
