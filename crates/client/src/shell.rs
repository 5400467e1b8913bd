//! What every shell around a [`Session`](crate::session::Session) needs to carry its actions out: the stream that there
//! is, and calls that end.
//!
//! The shells of consumers and routers differ in what they do with the news; how they hear it is the same. Of use to nobody
//! who writes no shell, and free to change with any version.

use std::fmt;
use std::time::Duration;

use futures::future::pending;
use futures::stream::{BoxStream, once};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use tokio::task::JoinError;
use tokio::time::timeout;
use tonic::Status;

use crate::session::Event;

/// The stream of commands that there is, if there is one.
pub struct Commands<C>(Option<Attempt<C>>);

struct Attempt<C> {
    number: u64,
    stream: BoxStream<'static, Result<C, Status>>,
}

impl<C> Default for Commands<C> {
    fn default() -> Self {
        Self(None)
    }
}

impl<C> fmt::Debug for Commands<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Commands").field(&self.0.as_ref().map(|attempt| attempt.number)).finish()
    }
}

impl<C: Send + 'static> Commands<C> {
    /// Begins to open the stream of an attempt, in place of the one that there is.
    pub fn open<S>(&mut self, attempt: u64, opening: impl Future<Output = Result<S, Status>> + Send + 'static)
    where
        S: Stream<Item = Result<C, Status>> + Send + 'static,
    {
        self.0 = Some(Attempt { number: attempt, stream: once(opening).try_flatten().boxed() });
    }

    /// Drops the stream that there is.
    pub fn close(&mut self) {
        self.0 = None;
    }

    /// What it tells next. After anything but a command there is no stream any more; without one it pends for ever.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Event<C> {
        let Some(Attempt { number, stream }) = &mut self.0 else { return pending().await };
        let event = Event::of_stream(*number, stream.next().await);
        if !matches!(event, Event::Command { .. }) {
            // An ended stream must not be polled again.
            self.close();
        }
        event
    }
}

/// Fails a call that is not answered within `bound`, as if the answer had been lost.
///
/// Cancel safe as far as the call is.
///
/// # Errors
///
/// Those of the call, and `DEADLINE_EXCEEDED`.
pub async fn bounded<R>(bound: Duration, call: impl Future<Output = Result<R, Status>>) -> Result<R, Status> {
    timeout(bound, call).await.unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer in time")))
}

/// What the task of a call to the service came to; `None` only while the runtime itself shuts down.
///
/// # Panics
///
/// With the panic of the transport: without an answer the session could not go on.
pub fn joined<R>(call: Result<R, JoinError>) -> Option<R> {
    match call.map_err(JoinError::try_into_panic) {
        Ok(reply) => Some(reply),
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::stream::{empty, iter};

    use super::*;

    #[tokio::test]
    async fn a_stream_is_heard_until_it_ends_and_then_there_is_none() {
        let mut commands = Commands::default();
        commands.open(3, async { Ok(iter([Ok('a')])) });
        assert!(matches!(commands.next().await, Event::Command { attempt: 3, command: 'a' }));
        assert!(matches!(commands.next().await, Event::StreamEnded { attempt: 3 }));
        assert!(commands.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn one_that_can_not_be_opened_has_failed_and_a_closed_one_is_silent() {
        let mut commands = Commands::<char>::default();
        commands.open(4, async { Err::<futures::stream::Empty<_>, _>(Status::unavailable("down")) });
        assert!(matches!(commands.next().await, Event::StreamFailed { attempt: 4, .. }));
        commands.open(5, async { Ok(empty()) });
        commands.close();
        assert!(commands.next().now_or_never().is_none());
    }
}
