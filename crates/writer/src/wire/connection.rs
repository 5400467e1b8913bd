//! The side that asks.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use futures::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::debug;

use super::{Frames, GOODBYE, PATIENCE, UNANSWERED, frame, frames, unframe};

/// A connection that asks; cheap to clone, and closed with its last clone.
#[derive(Debug, Clone)]
pub struct Connection(mpsc::Sender<PendingCall>);

/// The reason why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It was not sent: the other side leaves or is gone, or too much is unanswered.
    #[error("not sent")]
    Unsent,
    /// The connection broke after it was sent.
    #[error("connection broken")]
    Broken,
}

#[derive(Debug)]
struct PendingCall {
    request: Bytes,
    answer: oneshot::Sender<Result<Bytes, CallError>>,
}

impl Connection {
    /// Connects to `address`, a "host:port", within 5 s.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// Those of the network.
    pub async fn open(address: &str) -> io::Result<Self> {
        let stream = timeout(PATIENCE, TcpStream::connect(address)).await??;
        let (calls, taken) = mpsc::channel(UNANSWERED);
        tokio::spawn(
            Asking { frames: frames(stream), unanswered: BTreeMap::new(), last: GOODBYE }.run(taken),
        );
        Ok(Self(calls))
    }

    /// True if it takes requests.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.0.is_closed()
    }

    /// Asks. Requests are sent in the order in which the calls were polled first.
    ///
    /// Cancel safe; the request may be sent nevertheless.
    ///
    /// # Errors
    ///
    /// [`CallError`], by variant.
    pub async fn call(&self, request: Bytes) -> Result<Bytes, CallError> {
        let (answer, answered) = oneshot::channel();
        self.0.try_send(PendingCall { request, answer }).map_err(|_| CallError::Unsent)?;
        answered.await.unwrap_or(Err(CallError::Broken))
    }
}

/// Sends requests, and takes the answers in.
struct Asking {
    frames: Frames,
    unanswered: BTreeMap<u64, oneshot::Sender<Result<Bytes, CallError>>>,
    last: u64,
}

impl Asking {
    async fn run(mut self, mut calls: mpsc::Receiver<PendingCall>) {
        if let Err(error) = self.ask(&mut calls).await {
            debug!(%error, "connection ended");
        }
        refuse(&mut calls);
    }

    /// Until nobody asks any more and all is answered.
    async fn ask(&mut self, calls: &mut mpsc::Receiver<PendingCall>) -> io::Result<()> {
        let mut is_asking = true;
        while is_asking || !self.unanswered.is_empty() {
            tokio::select! {
                biased;
                // Answers, and the word that the other side leaves.
                answer = self.frames.next() => {
                    let answer = answer.ok_or(io::ErrorKind::UnexpectedEof)??;
                    match unframe(answer).ok_or(io::ErrorKind::InvalidData)? {
                        (GOODBYE, _) => {
                            is_asking = false;
                            refuse(calls);
                        }
                        (number, answer) => self.answer(number, answer),
                    }
                }
                // A request, where there is room.
                call = calls.recv(), if is_asking && self.unanswered.len() < UNANSWERED => match call {
                    Some(call) => self.send(call).await?,
                    None => is_asking = false,
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, number: u64, answer: Bytes) {
        if let Some(waiting) = self.unanswered.remove(&number) {
            // A caller that has gone does not listen.
            let _ = waiting.send(Ok(answer));
        }
    }

    async fn send(&mut self, call: PendingCall) -> io::Result<()> {
        self.last += 1;
        // Before it is sent: from now on nobody knows.
        self.unanswered.insert(self.last, call.answer);
        timeout(PATIENCE, self.frames.send(frame(self.last, &call.request))).await?
    }
}

/// Takes no request any more.
fn refuse(calls: &mut mpsc::Receiver<PendingCall>) {
    calls.close();
    while let Ok(call) = calls.try_recv() {
        // A caller that has gone does not listen.
        let _ = call.answer.send(Err(CallError::Unsent));
    }
}
