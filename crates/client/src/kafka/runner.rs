//! The handler that drives Kafka for a [`RecordHandler`].

mod catching_up;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use catching_up::{CatchingUp, while_wanted};
use kafka_assigner_types::id::{Offset, TopicPartition};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use super::client::Client;
use super::commits::Commits;
use super::cursor::LogReset;
use super::error::KafkaRunnerError;
use super::handler::RecordHandler;
use super::options::KafkaOptions;
use super::processing::{Busy, Partition, Processing};
use super::producers::FencedProducers;
use crate::context::{OwnedContext, ReservedContext, WarmContext};
use crate::handler::{HandlerError, PartitionHandler, Spoiled};

/// The wait of a start in the stricter modes for its first record. It already processes; only the service hears of
/// that record, which tells the gap, with the word that it does. A drain that follows at once waits for it.
const FIRST_RECORD_WAIT: Duration = Duration::from_millis(100);

/// Runs a [`RecordHandler`] over Kafka.
pub struct KafkaRunner<H: RecordHandler> {
    handler: Arc<H>,
    client: Client,
    commits: Commits,
    permits: Arc<Semaphore>,
    catching_up: CatchingUp<H>,
    slots: Mutex<BTreeMap<TopicPartition, PartitionSlot<H::State>>>,
    _committing: DropGuard,
}

impl<H: RecordHandler> fmt::Debug for KafkaRunner<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions: Vec<_> = self.slots().keys().cloned().collect();
        f.debug_struct("KafkaRunner").field("partitions", &partitions).finish_non_exhaustive()
    }
}

/// The state of one partition in the runner.
enum PartitionSlot<S> {
    /// Read, but not processed: warm or drained.
    Still(Box<Partition<S>>),
    /// Processed.
    Running(RunningTask<S>),
    /// Told to stop, which the record in the works may hold up. Whoever told it has the task.
    Stopping(Busy),
}

impl<S> PartitionSlot<S> {
    fn is_stuck(&self, bound: Duration) -> bool {
        match self {
            Self::Still(_) => false,
            Self::Running(RunningTask { busy, .. }) | Self::Stopping(busy) => busy.is_longer_than(bound),
        }
    }
}

/// Processing goes on no longer than this lives.
struct RunningTask<S> {
    stop: CancellationToken,
    busy: Busy,
    task: AbortOnDropHandle<Partition<S>>,
}

impl<H: RecordHandler> KafkaRunner<H> {
    /// A runner that reads with a client of its own.
    ///
    /// # Errors
    ///
    /// - [`KafkaRunnerError::CommitInterval`]: it is 0.
    /// - [`KafkaRunnerError::Client`]: a setting of librdkafka is unknown or out of its bounds.
    ///
    /// Brokers that can't be reached are no error; they are tried all the time.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn new(options: &KafkaOptions, handler: H) -> Result<Self, KafkaRunnerError> {
        options.validate()?;
        let client = Client::new(options)?;
        let (commits, committing) = (Commits::default(), CancellationToken::new());
        let commit = commits.clone().keep_committing(client.clone(), options.commit_interval);
        tokio::spawn(committing.clone().run_until_cancelled_owned(commit));
        let handler = Arc::new(handler);
        Ok(Self {
            catching_up: CatchingUp::new(handler.clone(), client.clone()),
            handler,
            client,
            commits,
            permits: Arc::new(Semaphore::new(options.permits())),
            slots: Mutex::default(),
            _committing: committing.drop_guard(),
        })
    }

    /// Takes the fences of `producers` with each partition, before the rest of its log is read. Off without this call. A
    /// clone of them writes; see [`FencedProducers::write`]. A partition whose fence can't be taken does not begin.
    #[must_use]
    pub fn with_producers(self, producers: FencedProducers) -> Self {
        Self { catching_up: self.catching_up.with_producers(producers), ..self }
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, PartitionSlot<H::State>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, at: &TopicPartition, slot: PartitionSlot<H::State>) {
        self.slots().insert(at.clone(), slot);
    }

    fn take(&self, at: &TopicPartition) -> Result<PartitionSlot<H::State>, KafkaRunnerError> {
        self.slots().remove(at).ok_or_else(|| KafkaRunnerError::NotHeld(at.clone()))
    }

    /// Begins to process; the receiver is told when the first record was handled, or there is none.
    fn begin(
        &self,
        context: &OwnedContext,
        partition: Partition<H::State>,
        start: Offset,
    ) -> oneshot::Receiver<()> {
        self.commits.begin(context.partition(), context.claim().clone(), context.topic_id(), start);
        self.process(context, partition, start)
    }

    /// Begins to process what is committed already as far as [`Commits`] knows.
    fn process(
        &self,
        context: &OwnedContext,
        partition: Partition<H::State>,
        start: Offset,
    ) -> oneshot::Receiver<()> {
        let (live, is_live) = oneshot::channel();
        let (stop, busy) = (CancellationToken::new(), Busy::default());
        let processing = Processing {
            handler: self.handler.clone(),
            context: context.clone(),
            start,
            permits: self.permits.clone(),
            client: self.client.clone(),
            commits: self.commits.clone(),
            busy: busy.clone(),
            stop: stop.clone(),
            live: Some(live),
            failures: 0,
            overlapped: false,
        };
        let task = AbortOnDropHandle::new(tokio::spawn(processing.run(partition)));
        self.put(context.partition(), PartitionSlot::Running(RunningTask { stop, busy, task }));
        is_live
    }

    /// Stops processing after the record that is in the works; a claim that ends meanwhile ends both at once.
    async fn halt(&self, context: &OwnedContext) -> Result<Offset, HandlerError> {
        let at = context.partition();
        let partition = match self.take(at)? {
            PartitionSlot::Still(partition) => partition,
            PartitionSlot::Running(running) => Box::new(self.stopped(context, running).await?),
            PartitionSlot::Stopping(_) => return Err(KafkaRunnerError::NotHeld(at.clone()).into()),
        };
        let next = partition.reader.next();
        self.put(at, PartitionSlot::Still(partition));
        Ok(next)
    }

    async fn stopped(
        &self,
        context: &OwnedContext,
        mut running: RunningTask<H::State>,
    ) -> Result<Partition<H::State>, HandlerError> {
        let at = context.partition();
        running.stop.cancel();
        self.put(at, PartitionSlot::Stopping(running.busy.clone()));
        let stopped = tokio::select! {
            biased;
            // Nobody waits for the record any more.
            () = context.cancelled() => None,
            // The usual case.
            stopped = &mut running.task => Some(stopped),
        };
        let Some(stopped) = stopped else {
            cut(running).await;
            self.slots().remove(at);
            return Err(KafkaRunnerError::Cancelled.into());
        };
        Ok(stopped.map_err(|_| KafkaRunnerError::NotHeld(at.clone()))?)
    }

    /// The rest of a drain once processing has stopped.
    async fn finish(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        self.handler.drain(context).await?;
        Ok(self.commits.commit(&self.client, Some(context.partition())).await?)
    }

    /// Processes again after a drain that failed. The partition counts as processed here until one succeeds, and it may
    /// stay: nobody would say so.
    fn go_on(&self, context: &OwnedContext, next: Offset) {
        if let Ok(PartitionSlot::Still(partition)) = self.take(context.partition()) {
            // Nobody waits for the first record of a partition that was processed before.
            drop(self.process(context, *partition, next));
        }
    }

    /// Ends processing at the next await, and drops the partition.
    async fn abort(&self, at: &TopicPartition) {
        let slot = self.slots().remove(at);
        if let Some(PartitionSlot::Running(running)) = slot {
            self.put(at, PartitionSlot::Stopping(running.busy.clone()));
            cut(running).await;
            self.slots().remove(at);
        }
    }

    async fn drop_partition(&self, at: &TopicPartition) {
        self.commits.forget(at);
        self.abort(at).await;
        self.catching_up.forget_fence(at);
        self.client.forget(at).await;
    }
}

#[async_trait]
impl<H: RecordHandler> PartitionHandler for KafkaRunner<H> {
    async fn warm(&self, context: &WarmContext) -> Result<(), HandlerError> {
        let partition = self.catching_up.prepare(context).await?;
        self.put(context.partition(), PartitionSlot::Still(Box::new(partition)));
        Ok(())
    }

    async fn reserved(&self, context: &ReservedContext) -> Result<(), HandlerError> {
        let at = context.partition();
        self.handler.reserved(context).await?;
        let PartitionSlot::Still(mut partition) = self.take(at)? else {
            return Err(KafkaRunnerError::NotHeld(at.clone()).into());
        };
        let read =
            while_wanted(context.cancelled(), self.catching_up.read_rest(context, &mut partition)).await;
        self.put(at, PartitionSlot::Still(partition));
        read
    }

    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        let at = context.partition();
        // Without one, an earlier start has lost it: a panic takes the partition along.
        let Ok(PartitionSlot::Still(mut partition)) = self.take(at) else { return Err(Spoiled.into()) };
        let start =
            match while_wanted(context.cancelled(), self.catching_up.replay(context, &mut partition)).await {
                Ok(start) => start,
                Err(error) if error.is::<LogReset>() => return Err(Spoiled.into()),
                Err(error) => {
                    self.put(at, PartitionSlot::Still(partition));
                    return Err(error);
                }
            };
        let is_live = self.begin(context, *partition, start);
        let live = tokio::select! {
            biased;
            // Not wanted any more.
            () = context.cancelled() => false,
            // An error means that processing ended before the first record.
            live = is_live => live.is_ok(),
            // Nobody works on until this one has begun, so nothing has to be proven.
            () = sleep(FIRST_RECORD_WAIT), if context.claim().is_strict() => true,
        };
        if !live {
            // Its claim has ended; what it left behind is dropped with the preparation.
            self.abort(at).await;
            return Err(Spoiled.into());
        }
        Ok(())
    }

    async fn drain(&self, context: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        let at = context.partition();
        let next = self.halt(context).await?;
        if let Err(error) = self.finish(context).await {
            self.go_on(context, next);
            return Err(error);
        }
        self.commits.forget(at);
        Ok(Some(next))
    }

    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        self.drop_partition(partition).await;
        let released = self.handler.release(partition).await;
        self.client.commit_landed().await;
        released
    }

    async fn lost(&self, context: &OwnedContext) {
        self.drop_partition(context.partition()).await;
        self.handler.lost(context).await;
        // The next step may tell others that this member has stopped.
        self.client.commit_landed().await;
    }

    fn is_stuck(&self, bound: Duration) -> bool {
        self.slots().values().any(|slot| slot.is_stuck(bound)) || self.handler.is_stuck(bound)
    }

    fn most_partitions(&self) -> Option<u32> {
        let most = [self.handler.most_partitions(), self.catching_up.most_partitions()];
        most.into_iter().flatten().min()
    }
}

/// Ends a task at its next await, and waits until it has let go of its reader.
async fn cut<S>(running: RunningTask<S>) {
    running.task.abort();
    // Cancelled, or ended just now: either way it is over.
    let _ = running.task.await;
}

#[cfg(test)]
#[path = "runner/recreated_test.rs"]
mod recreated_test;
#[cfg(test)]
#[path = "runner/runner_test.rs"]
mod runner_test;
