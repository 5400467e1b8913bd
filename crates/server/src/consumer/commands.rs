//! The commands of one stream, as whoever carries them reads them.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use kafka_assigner_proto::v1::AssignmentCommand;
use tokio::sync::mpsc;
use tonic::Status;

pub(super) type Item = Result<AssignmentCommand, Status>;

/// The commands of one stream, in order; dropping it is the only sign of a client that is gone.
// A channel keeps room for 32 items from the first on, in each of thousands of idle streams: with boxes that is a
// quarter of a kilobyte in place of several.
#[derive(Debug)]
pub struct Commands(mpsc::Receiver<Box<Item>>);

/// Where a stream's commands come from.
pub(super) type Sender = mpsc::Sender<Box<Item>>;

/// A channel in which `queue` commands may wait.
pub(super) fn channel(queue: usize) -> (Sender, Commands) {
    let (sender, receiver) = mpsc::channel(queue);
    (sender, Commands(receiver))
}

impl Stream for Commands {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Item>> {
        self.0.poll_recv(context).map(|item| item.map(|item| *item))
    }
}
