//! The commands of one stream, as whoever carries them reads them.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use kafka_assigner_proto::v1::AssignmentCommand;
use tokio::sync::mpsc;
use tonic::Status;

pub(crate) type Item<C> = Result<C, Status>;

/// The commands of one stream, in order; dropping it is the only sign of a client that is gone.
// A channel keeps room for 32 items from the first on, in each of thousands of idle streams: with boxes that is a
// quarter of a kilobyte in place of several.
#[derive(Debug)]
pub struct Commands<C = AssignmentCommand>(mpsc::Receiver<Box<Item<C>>>);

/// Where a stream's commands come from.
pub(crate) type Sender<C> = mpsc::Sender<Box<Item<C>>>;

/// A channel in which `queue` commands may wait.
pub(crate) fn channel<C>(queue: usize) -> (Sender<C>, Commands<C>) {
    let (sender, receiver) = mpsc::channel(queue);
    (sender, Commands(receiver))
}

impl<C> Stream for Commands<C> {
    type Item = Item<C>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|item| item.map(|item| *item))
    }
}
