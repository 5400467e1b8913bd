//! Several requests at once over one connection.
//!
//! A broker takes up the requests of a connection one by one and answers in their order, so the answers need no more
//! than a queue of those who wait. One task writes, another one reads:
//!
//! ```text
//!  ask ──► outgoing ──► writer ──► broker
//!   ▲                     │ waiting (before the request is written)
//!   └──── answer ◄───── reader ◄── broker
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::stream::{FrameSink, FrameSource};
use super::{BrokerConnection, newest_version};
use crate::address::BrokerAddress;
use crate::error::Error;
use crate::wire::{ApiRequest, CodecError, VersionRange, read_answer, request_frame};

/// The most requests under way. More would only wait at the broker, which takes one at a time.
const MOST_UNDER_WAY: usize = 16;

/// A connection that carries several requests at once. A clone is the same connection; it ends with the last one, or
/// with the first error: answers behind a lost one can't be told apart from it.
#[derive(Clone)]
pub struct BrokerLink {
    facts: Arc<LinkFacts>,
    outgoing: mpsc::Sender<Outgoing>,
}

struct LinkFacts {
    broker: BrokerAddress,
    client_id: String,
    versions: BTreeMap<i16, VersionRange>,
    next: AtomicI32,
    session_until: Option<Instant>,
}

/// A request with its place for the answer.
struct Outgoing {
    frame: Vec<u8>,
    waiting: WaitingCaller,
}

/// Somebody who waits for an answer.
struct WaitingCaller {
    asked: &'static str,
    most: usize,
    deadline: Instant,
    answer: oneshot::Sender<Result<Bytes, Error>>,
}

impl fmt::Debug for BrokerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BrokerLink({})", self.facts.broker)
    }
}

impl BrokerLink {
    pub(super) fn of(connection: BrokerConnection) -> Self {
        let BrokerConnection { stream, client_id, versions, next, session_until } = connection;
        let (broker, next) = (stream.broker().clone(), AtomicI32::new(next));
        let (source, sink) = stream.split();
        let (outgoing, requests) = mpsc::channel(1);
        let (waiting, answers) = mpsc::channel(MOST_UNDER_WAY);
        tokio::spawn(write(sink, requests, waiting));
        tokio::spawn(read(source, answers));
        Self { facts: Arc::new(LinkFacts { broker, client_id, versions, next, session_until }), outgoing }
    }

    /// The broker.
    #[must_use]
    pub fn broker(&self) -> &BrokerAddress {
        &self.facts.broker
    }

    /// True where a request can still be sent: the connection stands, and the broker wants no other login.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let is_logged_in = self.facts.session_until.is_none_or(|until| Instant::now() < until);
        is_logged_in && !self.outgoing.is_closed()
    }

    /// Waits until the connection has ended. Cancel safe.
    pub async fn ended(&self) {
        self.outgoing.closed().await;
    }

    /// Sends the request that `make` makes for the newest version that both sides know, and waits for its answer, which
    /// begins within `patience`; that counts the time in which a long poll is held back. Returns the version beside it.
    ///
    /// Cancel safe for the connection: the answer to a call that was dropped is read and forgotten. The request itself
    /// may have been sent.
    ///
    /// # Errors
    /// [`Error`], by variant. After any of them but [`Error::TooOld`] and [`Error::NotOffered`] the connection is over.
    pub async fn ask<R: ApiRequest>(
        &self,
        make: impl FnOnce(i16) -> R,
        patience: Duration,
    ) -> Result<(R::Answer, i16), Error> {
        let version = newest_version::<R>(&self.facts.versions, &self.facts.broker)?;
        let correlation = self.facts.next.fetch_add(1, Ordering::Relaxed);
        let frame = request_frame(&make(version), version, correlation, &self.facts.client_id);
        let frame = frame.map_err(|source| self.malformed::<R>(source))?;
        let answer = self.exchange(frame, R::NAME, R::MOST_BYTES, patience).await?;
        let answer = read_answer::<R>(&answer, version, correlation);
        Ok((answer.map_err(|source| self.malformed::<R>(source))?, version))
    }

    async fn exchange(
        &self,
        frame: Vec<u8>,
        asked: &'static str,
        most: usize,
        patience: Duration,
    ) -> Result<Bytes, Error> {
        let broker = || self.facts.broker.clone();
        let deadline = Instant::now() + patience;
        let (answer, answered) = oneshot::channel();
        let outgoing = Outgoing { frame, waiting: WaitingCaller { asked, most, deadline, answer } };
        let late = |_| Error::NoAnswer { broker: broker(), asked, within: patience };
        let sent = timeout_at(deadline, self.outgoing.send(outgoing)).await.map_err(late)?;
        let closed = || Error::Closed { broker: broker(), asked };
        sent.map_err(|_| closed())?;
        // The reader keeps the deadline, and ends with what it promised.
        answered.await.unwrap_or_else(|_| Err(closed()))
    }

    fn malformed<R: ApiRequest>(&self, source: CodecError) -> Error {
        Error::Malformed { broker: self.facts.broker.clone(), asked: R::NAME, source }
    }
}

/// Writes requests until nobody asks any more, or one can't be written. Who waits is told to the reader first, so that
/// no answer comes before it.
async fn write(
    mut sink: FrameSink,
    mut requests: mpsc::Receiver<Outgoing>,
    waiting: mpsc::Sender<WaitingCaller>,
) {
    loop {
        let request = tokio::select! {
            // The reader has ended: nothing that is sent now would be answered.
            biased;
            () = waiting.closed() => return,
            request = requests.recv() => request,
        };
        let Some(Outgoing { frame, waiting: who }) = request else { return };
        let (asked, deadline) = (who.asked, who.deadline);
        if waiting.send(who).await.is_err() || sink.send(&frame, asked, deadline).await.is_err() {
            return;
        }
    }
}

/// Hands answers out until the connection ends, or nobody waits any more and none will.
async fn read(mut source: FrameSource, mut answers: mpsc::Receiver<WaitingCaller>) {
    while let Some(waiting) = next_waiting(&mut source, &mut answers).await {
        let answer = source.frame(waiting.asked, waiting.most, waiting.deadline).await;
        let is_over = answer.is_err();
        // Nobody listens where the call was dropped.
        let _dropped = waiting.answer.send(answer);
        if is_over {
            return;
        }
    }
}

/// The next one who waits. `None` at the end, also where the broker closes a connection that is idle, or speaks without
/// having been asked.
async fn next_waiting(
    source: &mut FrameSource,
    answers: &mut mpsc::Receiver<WaitingCaller>,
) -> Option<WaitingCaller> {
    tokio::select! {
        // The one who waits comes first: bytes that are there are the answer.
        biased;
        waiting = answers.recv() => waiting,
        has_more = source.has_more() => if has_more { answers.try_recv().ok() } else { None },
    }
}

#[cfg(test)]
#[path = "link_test.rs"]
mod link_test;
