//! The commands of one stream, of consumers and of routers alike: who writes them, and who reads them.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use kafka_assigner_proto::v1::AssignmentCommand;
use kafka_assigner_proto::{Reason, status};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;
use tonic::Status;

type Item<C> = Result<C, Status>;

/// Commands that may wait for a reader. More would only be older news: while a reader does not read, differences are
/// not even computed, and it gets the one that is true when it comes back.
const QUEUE: usize = 2;

/// The commands of one stream, in order; dropping it is the only sign of a client that is gone.
// A channel keeps room for 32 items from the first on, in each of thousands of idle streams: with boxes that is a
// quarter of a kilobyte in place of several.
#[derive(Debug)]
pub struct Commands<C = AssignmentCommand>(mpsc::Receiver<Box<Item<C>>>);

impl<C> Commands<C> {
    /// A stream of one command.
    pub(crate) fn only(command: C) -> Self {
        let (sender, commands) = mpsc::channel(1);
        let _room = sender.try_send(Box::new(Ok(command)));
        Self(commands)
    }
}

/// The sending end of a stream's commands: its reader has as long for each as its whole session may be silent.
#[derive(Debug)]
pub(crate) struct CommandSender<C> {
    sender: mpsc::Sender<Box<Item<C>>>,
    /// A place in the queue for the last word, so that nobody has to wait with it for the reader.
    last: Option<mpsc::OwnedPermit<Box<Item<C>>>>,
    patience: Duration,
}

/// The reason why a command was not handed to the reader.
#[derive(Debug)]
pub(crate) enum CommandRefusal {
    /// The client is gone. Its session is not: it may come back to it, here or elsewhere.
    Gone,
    /// The client is there and reads nothing.
    TooSlow,
}

impl<C> CommandSender<C> {
    /// The reader of a session with the time to live `ttl`, and what it reads.
    pub(crate) fn open(ttl: Duration) -> (Self, Commands<C>) {
        let (sender, commands) = mpsc::channel(QUEUE + 1);
        let last = sender.clone().try_reserve_owned().ok();
        (Self { sender, last, patience: ttl }, Commands(commands))
    }

    /// Hands it a command.
    pub(crate) async fn send(&self, command: C) -> Result<(), CommandRefusal> {
        self.sender.send_timeout(Box::new(Ok(command)), self.patience).await.map_err(|error| match error {
            SendTimeoutError::Closed(_) => CommandRefusal::Gone,
            SendTimeoutError::Timeout(_) => CommandRefusal::TooSlow,
        })
    }

    /// Ends with the client.
    pub(crate) fn gone(&self) -> impl Future<Output = ()> + use<C> {
        let sender = self.sender.clone();
        async move { sender.closed().await }
    }

    /// Ends the stream with a command, however slow its reader is.
    pub(crate) fn end(&mut self, command: C) {
        self.last_word(Ok(command));
    }

    /// Cuts a client off that reads nothing; it may come back to its session by `call`.
    pub(crate) fn cut_off(&mut self, call: &str) {
        let message = format!("nothing was read for {:?}; read, and {call} again", self.patience);
        self.last_word(Err(status(Reason::ReaderTooSlow, message)));
    }

    /// Ends the stream with a refusal, however slow its reader is.
    pub(crate) fn refuse(&mut self, refusal: Status) {
        self.last_word(Err(refusal));
    }

    fn last_word(&mut self, item: Item<C>) {
        if let Some(place) = self.last.take() {
            drop(place.send(Box::new(item)));
        }
    }
}

impl<C> Stream for Commands<C> {
    type Item = Item<C>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|item| item.map(|item| *item))
    }
}
