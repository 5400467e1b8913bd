//! A writer: an ordinary consumer that takes requests for what it owns.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _, ready};
use kafka_assigner_client::{
    Epoch, HandlerError, Offset, OwnedContext, PartitionHandler, ReservedContext, TopicPartition, WarmContext,
};
use prost::Message as _;
use tokio::sync::oneshot;

use crate::desk::{Desk, Job};
use crate::journal::Witness;
use crate::log::Log;
use crate::message::{Answer, Code, Request, RoutedRequest};
use crate::replica::Replica;
use crate::wire::Service;

/// Keeps the counters of the partitions that it owns, or is about to own.
pub struct Writer {
    log: Log,
    witness: Option<Arc<dyn Witness>>,
    slots: Slots,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// Takes requests for the partitions of a [`Writer`]; cheap to clone.
#[derive(Debug, Clone)]
pub struct Reception(Slots);

type Slots = Arc<Mutex<BTreeMap<TopicPartition, WriterSlot>>>;

/// The state of one partition.
#[derive(Debug)]
enum WriterSlot {
    /// It is read only.
    Still(Box<Replica>),
    /// It is written.
    Open(Desk),
}

impl Writer {
    /// A writer of `log`, which owns nothing yet. Each effect is shown to `witness`.
    #[must_use]
    pub fn new(log: Log, witness: Option<Arc<dyn Witness>>) -> Self {
        Self { log, witness, slots: Slots::default() }
    }

    /// The address at which its requests arrive.
    #[must_use]
    pub fn reception(&self) -> Reception {
        Reception(self.slots.clone())
    }

    /// The replica of a partition that is not written just now.
    fn still(&self, at: &TopicPartition) -> Box<Replica> {
        match lock(&self.slots).remove(at) {
            Some(WriterSlot::Still(replica)) => replica,
            Some(WriterSlot::Open(_)) | None => Box::new(Replica::new(self.log.clone(), at.clone())),
        }
    }

    fn keep(&self, at: &TopicPartition, slot: WriterSlot) {
        lock(&self.slots).insert(at.clone(), slot);
    }
}

fn lock(slots: &Slots) -> MutexGuard<'_, BTreeMap<TopicPartition, WriterSlot>> {
    slots.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl PartitionHandler for Writer {
    /// Reads the log while its owner writes it.
    async fn warm(&self, context: &WarmContext) -> Result<(), HandlerError> {
        let mut replica = self.still(context.partition());
        tokio::select! {
            biased;
            // Whatever was read is of no use.
            () = context.cancelled() => return Ok(()),
            // The end was reached.
            warmed = replica.warm(context) => warmed?,
        }
        self.keep(context.partition(), WriterSlot::Still(replica));
        Ok(())
    }

    /// The owner has stopped: what is left of the log is short, and nobody else writes.
    async fn reserved(&self, context: &ReservedContext) -> Result<(), HandlerError> {
        let mut replica = self.still(context.partition());
        tokio::select! {
            biased;
            // Whatever was read is of no use.
            () = context.cancelled() => return Ok(()),
            // The rest was read.
            opened = replica.open(context.claim()) => opened?,
        }
        self.keep(context.partition(), WriterSlot::Still(replica));
        Ok(())
    }

    /// Nothing is left to do where the very epoch was reserved before.
    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        let mut replica = self.still(context.partition());
        replica.open(context.claim()).await?;
        let desk = Desk::open(context.clone(), *replica, self.witness.clone());
        self.keep(context.partition(), WriterSlot::Open(desk));
        Ok(())
    }

    /// Whatever was admitted is answered by now. The counters are kept: the partition may come back.
    async fn drain(&self, context: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        let slot = lock(&self.slots).remove(context.partition());
        let replica = match slot {
            Some(WriterSlot::Open(desk)) => desk.close().await.map(Box::new),
            Some(WriterSlot::Still(replica)) => Some(replica),
            None => None,
        };
        let replica = replica.ok_or("the counters are gone")?;
        let next = replica.counters().next();
        self.keep(context.partition(), WriterSlot::Still(replica));
        Ok(Some(next))
    }

    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        lock(&self.slots).remove(partition);
        Ok(())
    }

    async fn lost(&self, context: &OwnedContext) {
        lock(&self.slots).remove(context.partition());
    }
}

impl Service for Reception {
    fn take(&self, order: Bytes) -> BoxFuture<'static, Bytes> {
        match self.begin(order) {
            Ok(answer) => answer
                .map(|answer| {
                    let unknown = |_| Answer::not_done(Code::Unknown, "the writer lost the partition");
                    answer.unwrap_or_else(unknown).write()
                })
                .boxed(),
            Err(answer) => ready(answer.write()).boxed(),
        }
    }
}

impl Reception {
    fn begin(&self, order: Bytes) -> Result<oneshot::Receiver<Answer>, Answer> {
        let invalid = |why: String| Answer::not_done(Code::Invalid, why);
        let order = RoutedRequest::decode(order).map_err(|error| invalid(error.to_string()))?;
        let request = Request::read(order.request).map_err(|error| invalid(error.to_string()))?;
        let (answer, answered) = oneshot::channel();
        let at = TopicPartition::from_kafka(&order.topic, order.partition);
        let at = at.map_err(|error| invalid(error.to_string()))?;
        match lock(&self.0).get(&at) {
            Some(WriterSlot::Open(desk)) => desk
                .take(Job { request, epoch: Epoch(order.epoch), answer })
                .map_err(|_| Answer::not_done(Code::NotExecuted, "too many requests wait"))?,
            Some(WriterSlot::Still(_)) | None => {
                return Err(Answer::not_done(Code::NotExecuted, format!("{at} is not open here")));
            }
        }
        Ok(answered)
    }
}
