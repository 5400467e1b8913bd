//! The way to the task that runs all watches.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use kafka_assigner_types::kv::Revision;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::command::WatchCommand;
use super::driver::Driver;
use super::registry::EtcdWatch;
use crate::error::Error;
use crate::etcd::connection::EtcdConnection;
use crate::traits::{Watch, WatchBatch};

/// Callers that wait for a place; opening a watch takes a millisecond.
const QUEUE: usize = 256;

/// Batches that wait for one watch's reader, and room for the error that ends it. A reader that falls
/// behind further has its watch parked, and read again from the history later.
const ROOM: usize = 256 + 1;

/// The way to the task that runs all watches; the task ends with the last handle and the last watch.
#[derive(Debug, Clone)]
pub(in crate::etcd) struct Watches {
    commands: mpsc::Sender<WatchCommand>,
    bound: Duration,
}

impl Watches {
    /// Starts the task. It opens its stream with the first watch.
    pub(in crate::etcd) fn start(connection: Arc<EtcdConnection>) -> Self {
        let (commands, received) = mpsc::channel(QUEUE);
        let bound = connection.request_timeout;
        tokio::spawn(Driver::new(connection, received).run());
        Self { commands, bound }
    }

    /// Opens a watch and waits until etcd has confirmed it.
    pub(in crate::etcd) async fn open(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error> {
        let (items, delivered) = mpsc::channel(ROOM);
        let (ready, opened) = oneshot::channel();
        let subscription = EtcdWatch::new(Bytes::copy_from_slice(prefix), from, items, ready);
        let opening = async {
            self.commands.send(WatchCommand::Open(subscription)).await.ok()?;
            opened.await.ok()
        };
        let opened = timeout(self.bound, opening).await.ok().flatten();
        opened.unwrap_or(Err(Error::Unavailable { operation: "watch", source: None }))?;
        Ok(self.stream(delivered))
    }

    /// A full queue means that the task is about to hear from the store anyway.
    pub(in crate::etcd) fn ask_for_progress(&self) {
        let _ = self.commands.try_send(WatchCommand::AskForProgress);
    }

    /// The stream holds a handle, so that the task runs as long as somebody watches.
    fn stream(&self, delivered: mpsc::Receiver<Result<WatchBatch, Error>>) -> Watch {
        let state = (delivered, self.commands.clone());
        stream::unfold(state, |(mut delivered, commands)| async {
            let item = delivered.recv().await?;
            Some((item, (delivered, commands)))
        })
        .boxed()
    }
}
