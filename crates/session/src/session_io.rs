//! The I/O around a [`Session`](crate::Session): its stream of commands, and calls with a bound.

use std::fmt;
use std::time::Duration;

use futures::future::pending;
use futures::stream::{BoxStream, once};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use tokio::task::JoinError;
use tokio::time::timeout;
use tonic::Status;

use crate::session::Event;

/// The stream of commands of the current attempt, if there is one.
pub struct CommandSource<C>(Option<NumberedStream<C>>);

struct NumberedStream<C> {
    number: u64,
    stream: BoxStream<'static, Result<C, Status>>,
}

impl<C> Default for CommandSource<C> {
    fn default() -> Self {
        Self(None)
    }
}

impl<C> fmt::Debug for CommandSource<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CommandSource").field(&self.0.as_ref().map(|attempt| attempt.number)).finish()
    }
}

impl<C: Send + 'static> CommandSource<C> {
    /// Begins to open the stream of an attempt, in place of the one that there is.
    pub fn open<S>(&mut self, attempt: u64, opening: impl Future<Output = Result<S, Status>> + Send + 'static)
    where
        S: Stream<Item = Result<C, Status>> + Send + 'static,
    {
        self.0 = Some(NumberedStream { number: attempt, stream: once(opening).try_flatten().boxed() });
    }

    /// Drops the stream that there is.
    pub fn close(&mut self) {
        self.0 = None;
    }

    /// The next event of the stream. After anything but a command there is no stream any more; without one it pends for ever.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Event<C> {
        let Some(NumberedStream { number, stream }) = &mut self.0 else { return pending().await };
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

/// The result of the task of a call to the service; `None` only while the runtime itself shuts down.
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
        let mut commands = CommandSource::default();
        commands.open(3, async { Ok(iter([Ok('a')])) });
        assert!(matches!(commands.next().await, Event::Command { attempt: 3, command: 'a' }));
        assert!(matches!(commands.next().await, Event::StreamEnded { attempt: 3 }));
        assert!(commands.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn one_that_can_not_be_opened_has_failed_and_a_closed_one_is_silent() {
        let mut commands = CommandSource::<char>::default();
        commands.open(4, async { Err::<futures::stream::Empty<_>, _>(Status::unavailable("down")) });
        assert!(matches!(commands.next().await, Event::StreamFailed { attempt: 4, .. }));
        commands.open(5, async { Ok(empty()) });
        commands.close();
        assert!(commands.next().now_or_never().is_none());
    }
}
