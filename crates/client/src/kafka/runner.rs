//! The handler that drives Kafka for a [`RecordHandler`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::client::Client;
use super::commits::Commits;
use super::handler::RecordHandler;
use super::processing::{Busy, Partition, Processing};
use super::reader::Ahead;
use super::{KafkaOptions, KafkaRunnerError};
use crate::context::{OwnedContext, WarmContext};
use crate::handler::{HandlerError, PartitionHandler, Spoiled};
use crate::partition::TopicPartition;

/// How many records are caught up with before other tasks get their turn.
const CATCH_UP_BATCH: usize = 256;

/// Runs a [`RecordHandler`] over Kafka.
pub struct KafkaRunner<H: RecordHandler> {
    handler: Arc<H>,
    client: Client,
    commits: Commits,
    permits: Arc<Semaphore>,
    slots: Mutex<BTreeMap<TopicPartition, Slot<H::State>>>,
    _committing: DropGuard,
}

impl<H: RecordHandler> fmt::Debug for KafkaRunner<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions: Vec<_> = self.slots().keys().cloned().collect();
        f.debug_struct("KafkaRunner").field("partitions", &partitions).finish_non_exhaustive()
    }
}

/// What is held of one partition.
enum Slot<S> {
    /// Read, but not processed: warm or drained.
    Still(Box<Partition<S>>),
    /// Processed.
    Running(Running<S>),
}

struct Running<S> {
    stop: CancellationToken,
    busy: Busy,
    task: JoinHandle<Partition<S>>,
}

impl<H: RecordHandler> KafkaRunner<H> {
    /// A runner that reads with a client of its own.
    ///
    /// # Errors
    ///
    /// [`KafkaRunnerError::Client`]: a setting is unknown or out of its bounds. Brokers that can't be reached are
    /// no error; they are tried all the time.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn new(options: &KafkaOptions, handler: H) -> Result<Self, KafkaRunnerError> {
        let client = Client::new(options)?;
        let (commits, committing) = (Commits::default(), CancellationToken::new());
        let commit = commits.clone().keep_committing(client.clone(), options.commit_interval);
        tokio::spawn(committing.clone().run_until_cancelled_owned(commit));
        Ok(Self {
            handler: Arc::new(handler),
            client,
            commits,
            permits: Arc::new(Semaphore::new(options.concurrency.max(1))),
            slots: Mutex::default(),
            _committing: committing.drop_guard(),
        })
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Slot<H::State>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, at: &TopicPartition, slot: Slot<H::State>) {
        self.slots().insert(at.clone(), slot);
    }

    fn take(&self, at: &TopicPartition) -> Result<Slot<H::State>, KafkaRunnerError> {
        self.slots().remove(at).ok_or_else(|| KafkaRunnerError::NotHeld(at.clone()))
    }

    async fn prepare(&self, context: &WarmContext) -> Result<Partition<H::State>, HandlerError> {
        let at = context.partition();
        self.handler.warm(context).await?;
        let restored = self.handler.restore(at).await?;
        let committed = self.client.committed(at).await?;
        let reader = self.client.read(at, restored.next_offset.unwrap_or(committed)).await?;
        let mut partition = Partition { reader, state: restored.state };
        self.follow(context, &mut partition, committed).await?;
        Ok(partition)
    }

    /// Catches up until the reader is as far as what is committed, or has nothing more to read.
    async fn follow(
        &self,
        context: &WarmContext,
        partition: &mut Partition<H::State>,
        mut committed: i64,
    ) -> Result<(), HandlerError> {
        let first = partition.reader.next();
        loop {
            self.catch_up(context.partition(), partition, committed).await?;
            report(context, partition.reader.next() - first, committed - first);
            if partition.reader.ahead().await == Ahead::End {
                return Ok(());
            }
            let now = self.client.committed(context.partition()).await?;
            if now <= partition.reader.next() || now == committed {
                return Ok(());
            }
            committed = now;
        }
    }

    /// Brings the state forward up to `bound`, or to the end, or by one batch of records.
    async fn catch_up(
        &self,
        at: &TopicPartition,
        partition: &mut Partition<H::State>,
        bound: i64,
    ) -> Result<(), HandlerError> {
        loop {
            for _ in 0..CATCH_UP_BATCH {
                match partition.reader.ahead().await {
                    Ahead::Record(offset) if offset < bound => {}
                    Ahead::Record(_) | Ahead::End => return Ok(()),
                }
                if let Some(record) = partition.reader.take() {
                    self.handler.catch_up(at, &mut partition.state, &record)?;
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// From the warm position to the start, into the state only. Returns the start.
    async fn replay(
        &self,
        context: &OwnedContext,
        partition: &mut Partition<H::State>,
    ) -> Result<i64, HandlerError> {
        let start = match context.start_offset() {
            _ if context.is_resumed() => partition.reader.next(),
            Some(offset) => offset,
            None => self.client.committed(context.partition()).await?,
        };
        self.catch_up(context.partition(), partition, start).await?;
        self.handler.assigned(context).await?;
        Ok(start)
    }

    /// Begins to process; the receiver is told when the first record was handled, or there is none.
    fn begin(
        &self,
        context: &OwnedContext,
        partition: Partition<H::State>,
        start: i64,
    ) -> oneshot::Receiver<()> {
        let (live, is_live) = oneshot::channel();
        let (stop, busy) = (CancellationToken::new(), Busy::default());
        self.commits.begin(context.partition(), context.claim().clone(), start);
        let processing = Processing {
            handler: self.handler.clone(),
            context: context.clone(),
            start,
            permits: self.permits.clone(),
            commits: self.commits.clone(),
            busy: busy.clone(),
            stop: stop.clone(),
            live: Some(live),
            failures: 0,
            overlapped: false,
        };
        let task = tokio::spawn(processing.run(partition));
        self.put(context.partition(), Slot::Running(Running { stop, busy, task }));
        is_live
    }

    /// Stops processing after the record that is in the works.
    async fn halt(&self, at: &TopicPartition) -> Result<i64, KafkaRunnerError> {
        let partition = match self.take(at)? {
            Slot::Still(partition) => partition,
            Slot::Running(running) => {
                running.stop.cancel();
                Box::new(running.task.await.map_err(|_| KafkaRunnerError::NotHeld(at.clone()))?)
            }
        };
        let next = partition.reader.next();
        self.put(at, Slot::Still(partition));
        Ok(next)
    }

    /// Ends processing at the next await, and drops the partition.
    async fn abort(&self, at: &TopicPartition) {
        let slot = self.slots().remove(at);
        if let Some(Slot::Running(running)) = slot {
            running.task.abort();
            // Cancelled, or ended just now: either way it is over.
            let _ = running.task.await;
        }
    }

    async fn drop_partition(&self, at: &TopicPartition) {
        self.commits.forget(at);
        self.abort(at).await;
        self.client.forget(at).await;
    }
}

#[async_trait]
impl<H: RecordHandler> PartitionHandler for KafkaRunner<H> {
    async fn warm(&self, context: &WarmContext) -> Result<(), HandlerError> {
        let partition = tokio::select! {
            biased;
            // Not wanted any more; `release` drops what there is.
            () = context.cancelled() => return Err(KafkaRunnerError::Cancelled.into()),
            // The work.
            prepared = self.prepare(context) => prepared?,
        };
        self.put(context.partition(), Slot::Still(Box::new(partition)));
        Ok(())
    }

    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        let at = context.partition();
        // Without one, an earlier start has lost it: a panic takes the partition along.
        let Ok(Slot::Still(mut partition)) = self.take(at) else { return Err(Spoiled.into()) };
        let replayed = tokio::select! {
            biased;
            // Not wanted any more.
            () = context.cancelled() => Err(KafkaRunnerError::Cancelled.into()),
            // The work.
            replayed = self.replay(context, &mut partition) => replayed,
        };
        let start = match replayed {
            Ok(start) => start,
            Err(error) => {
                self.put(at, Slot::Still(partition));
                return Err(error);
            }
        };
        let is_live = self.begin(context, *partition, start);
        let live = tokio::select! {
            biased;
            // Not wanted any more.
            () = context.cancelled() => false,
            // An error means that the claim ended before the first record.
            live = is_live => live.is_ok(),
        };
        if !live {
            // Its claim has ended; what it left behind is dropped with the preparation.
            self.abort(at).await;
            return Err(Spoiled.into());
        }
        Ok(())
    }

    async fn drain(&self, context: &OwnedContext) -> Result<Option<i64>, HandlerError> {
        let at = context.partition();
        let next = self.halt(at).await?;
        self.handler.drain(context).await?;
        self.commits.commit(&self.client, Some(at)).await?;
        self.commits.forget(at);
        Ok(Some(next))
    }

    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        self.drop_partition(partition).await;
        self.handler.release(partition).await
    }

    async fn lost(&self, context: &OwnedContext) {
        self.drop_partition(context.partition()).await;
        self.handler.lost(context).await;
    }

    fn is_stuck(&self, bound: Duration) -> bool {
        let is_stuck = |slot: &Slot<H::State>| match slot {
            Slot::Still(_) => false,
            Slot::Running(running) => running.busy.is_longer_than(bound),
        };
        self.slots().values().any(is_stuck) || self.handler.is_stuck(bound)
    }
}

fn report(context: &WarmContext, done: i64, total: i64) {
    let unsigned = |count: i64| u64::try_from(count).unwrap_or_default();
    context.report(unsigned(done), Some(unsigned(total.max(done))));
}
