//! The handler that drives Kafka for a [`RecordHandler`].

mod applying;
mod asking;
mod catching_up;
mod following;
mod hooks;
mod interrupted;
mod rules;
mod starting;
mod warm_up_watch;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use catching_up::CatchingUp;
use following::Following;
use hooks::{Hook, HookCall};
use interrupted::{Interrupted, while_wanted};
use kafka_assigner_handler::{Closing, RecordError, RecordHandler, guarded};
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;
use tracing::error;

use super::client::Client;
use super::commits::Commits;
use super::error::KafkaRunnerError;
use super::held::PartitionPhase;
use super::metric_labels::MetricLabels;
use super::options::KafkaOptions;
use super::partition::Partition;
use super::processing::{Busy, Processing};
use super::producers::FencedProducers;
use super::runner_handle::RunnerHandle;
use super::runner_parts::{RunnerParts, RunnerRules};
use super::runner_watch::SharedWatch;
use super::stop_word::StopWord;
use super::survey::Survey;
use super::topic_sizes::TopicSizes;
use crate::context::{OwnedContext, ReservedContext, WarmContext};
use crate::handler::{HandlerError, PartitionHandler, Spoiled};
use crate::status::{FailingPartition, StoppedPartition};

/// The wait of a start in the stricter modes for its first record. It already processes; only the service hears of
/// that record, which tells the gap, with the word that it does. A drain that follows at once waits for it.
const FIRST_RECORD_WAIT: Duration = Duration::from_millis(100);

/// Runs a [`RecordHandler`] over Kafka.
pub struct KafkaRunner<H: RecordHandler> {
    parts: RunnerParts<H>,
    handle: RunnerHandle<H::State>,
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
    /// Warm; it follows its owner.
    Following(Following<S>),
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
            Self::Following(_) | Self::Still(_) => false,
            Self::Running(RunningTask { busy, .. }) | Self::Stopping(busy) => busy.is_longer_than(bound),
        }
    }
}

/// Processing goes on no longer than this lives.
struct RunningTask<S> {
    stop: StopWord,
    busy: Busy,
    task: AbortOnDropHandle<Partition<S>>,
}

impl<H: RecordHandler> KafkaRunner<H> {
    /// A runner that reads with a client of its own.
    ///
    /// # Errors
    ///
    /// - [`KafkaRunnerError::Empty`]: there are no brokers, or no group.
    /// - [`KafkaRunnerError::CommitInterval`], [`KafkaRunnerError::OffsetRefresh`]: it is 0.
    /// - [`KafkaRunnerError::Setting`]: a setting has another value than the runner needs.
    /// - [`KafkaRunnerError::NotBuiltIn`]: a setting needs a feature of cargo.
    /// - [`KafkaRunnerError::Client`]: a setting of librdkafka is unknown or out of its bounds.
    /// - [`KafkaRunnerError::Thread`]: a thread could not be started.
    ///
    /// Brokers that can't be reached are no error; they are tried all the time.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn new(options: &KafkaOptions, handler: H) -> Result<Self, KafkaRunnerError> {
        options.validate()?;
        let client = Client::new(options)?;
        let (commits, committing) = (Commits::new(options.offset_refresh), CancellationToken::new());
        let commit = commits.clone().keep_committing(client.clone(), options.commit_interval);
        tokio::spawn(committing.clone().run_until_cancelled_owned(commit));
        let (handler, permits) = (Arc::new(handler), Arc::new(Semaphore::new(options.permits())));
        let (rules, watch) = (Arc::new(RunnerRules::default()), SharedWatch::<H::State>::default());
        let sizes = TopicSizes::new(client.downgrade());
        let handle = RunnerHandle { watch: watch.clone(), commits: commits.clone(), sizes };
        let survey = Survey::new(client.clone(), handle.clone(), MetricLabels::of(options)).keep_looking();
        tokio::spawn(committing.clone().run_until_cancelled_owned(survey));
        let telling = client.watch().clone().keep_telling(client.clone(), options.group.clone());
        tokio::spawn(committing.clone().run_until_cancelled_owned(telling));
        let parts = RunnerParts { handler, client, commits, permits, rules, watch };
        Ok(Self { parts, handle, slots: Mutex::default(), _committing: committing.drop_guard() })
    }

    /// Watches this runner, and reads the states of its partitions.
    #[must_use]
    pub fn handle(&self) -> RunnerHandle<H::State> {
        self.handle.clone()
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, PartitionSlot<H::State>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, at: &TopicPartition, slot: PartitionSlot<H::State>) {
        self.slots().insert(at.clone(), slot);
    }

    /// Keeps a partition that is not processed for now.
    fn put_still(&self, at: &TopicPartition, mut partition: Box<Partition<H::State>>) {
        partition.reader.keep();
        self.put(at, PartitionSlot::Still(partition));
    }

    fn take(&self, at: &TopicPartition) -> Result<PartitionSlot<H::State>, KafkaRunnerError> {
        self.slots().remove(at).ok_or_else(|| KafkaRunnerError::NotHeld(at.clone()))
    }

    /// A partition that is warm or drained, whose handler was not cut in the middle of a record.
    async fn take_still(&self, at: &TopicPartition) -> Result<Box<Partition<H::State>>, Interrupted> {
        let partition = match self.take(at)? {
            PartitionSlot::Still(partition) => Some(partition),
            PartitionSlot::Following(following) => following.stopped().await,
            PartitionSlot::Running(_) | PartitionSlot::Stopping(_) => None,
        };
        let whole = partition.filter(|partition| !partition.is_cut);
        Ok(whole.ok_or_else(|| KafkaRunnerError::NotHeld(at.clone()))?)
    }

    const fn catching_up(&self) -> CatchingUp<'_, H> {
        CatchingUp { parts: &self.parts }
    }

    /// Begins to process; the receiver is told when the first record was handled, or there is none.
    fn begin(
        &self,
        context: &OwnedContext,
        partition: Partition<H::State>,
        start: Offset,
    ) -> oneshot::Receiver<()> {
        let (at, claim) = (context.partition(), context.claim().clone());
        self.parts.commits.begin(at, claim, context.topic_id(), start, partition.confirmed.clone());
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
        let (stop, busy) = (StopWord::default(), Busy::default());
        let contexts = (context.clone(), partition.context(context));
        let processing =
            Processing::new(self.parts.clone(), contexts, start, (busy.clone(), stop.clone()), live);
        let task = AbortOnDropHandle::new(tokio::spawn(processing.run(partition)));
        self.put(context.partition(), PartitionSlot::Running(RunningTask { stop, busy, task }));
        is_live
    }

    /// Stops processing after the record that is in the works; a claim that ends meanwhile ends both at once.
    async fn halt(&self, context: &OwnedContext) -> Result<Box<Partition<H::State>>, HandlerError> {
        let at = context.partition();
        match self.take(at)? {
            PartitionSlot::Still(partition) => Ok(partition),
            PartitionSlot::Running(running) => Ok(Box::new(self.stopped_task(context, running).await?)),
            PartitionSlot::Following(_) | PartitionSlot::Stopping(_) => {
                Err(KafkaRunnerError::NotHeld(at.clone()).into())
            }
        }
    }

    async fn stopped_task(
        &self,
        context: &OwnedContext,
        mut running: RunningTask<H::State>,
    ) -> Result<Partition<H::State>, HandlerError> {
        let at = context.partition();
        running.stop.give();
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
    async fn finish(
        &self,
        context: &OwnedContext,
        partition: &mut Partition<H::State>,
    ) -> Result<(), HandlerError> {
        let of_partition = partition.context(context);
        let drained = guarded(self.parts.handler.drained(&of_partition, &mut partition.state)).await;
        if let Err(failed) = drained {
            return Err(self.not_drained(context, partition, &failed));
        }
        self.parts.watch.stops.end_after_drain(context.partition());
        Ok(self.parts.commits.commit(&self.parts.client, Some(context.partition())).await?)
    }

    /// Takes in that the handler could not end its work.
    fn not_drained(
        &self,
        context: &OwnedContext,
        partition: &Partition<H::State>,
        error: &RecordError,
    ) -> HandlerError {
        let (at, epoch) = (context.partition(), context.epoch());
        let call = HookCall { hook: Hook::Drained, partition: at, epoch, offset: partition.start() };
        let interrupted = self.parts.hook_failed(&call, error);
        if matches!(interrupted, Interrupted::Spoiled(_)) {
            context.spoil();
        }
        interrupted.into()
    }

    /// Ends processing at the next await, and returns the state if it is still there.
    async fn abort(&self, at: &TopicPartition) -> Option<H::State> {
        let slot = self.slots().remove(at)?;
        match slot {
            PartitionSlot::Still(partition) => Some(partition.state),
            PartitionSlot::Following(following) => Some(following.cut().await?.state),
            PartitionSlot::Running(running) => {
                self.put(at, PartitionSlot::Stopping(running.busy.clone()));
                let left = cut(running).await;
                self.slots().remove(at);
                left
            }
            PartitionSlot::Stopping(_) => None,
        }
    }

    async fn drop_partition(&self, at: &TopicPartition, closing: Closing) {
        self.parts.commits.forget(at);
        self.parts.watch.close(at);
        let state = self.abort(at).await;
        self.parts.watch.held.forget(at);
        self.catching_up().forget_fence(at);
        self.parts.client.forget(at).await;
        self.parts.handler.close(at, closing, state).await;
    }

    /// Keeps a partition whose handler was not cut in the middle of a record.
    fn put_if_whole(&self, at: &TopicPartition, partition: Box<Partition<H::State>>) {
        if !partition.is_cut {
            self.put_still(at, partition);
        }
    }

    /// The start from a partition that is warm.
    async fn start(
        &self,
        context: &OwnedContext,
        mut partition: Box<Partition<H::State>>,
    ) -> Result<oneshot::Receiver<()>, HandlerError> {
        let at = context.partition();
        let catching_up = self.catching_up();
        let replay = catching_up.replay(context, &mut partition);
        match while_wanted(context.cancelled(), replay).await {
            Ok(start) => Ok(self.begin(context, *partition, start)),
            Err(Interrupted::Spoiled(reason)) => {
                error!(partition = %at, reason, "preparing the partition again");
                Err(Spoiled.into())
            }
            Err(Interrupted::Failed(error)) => {
                self.put_if_whole(at, partition);
                Err(error)
            }
        }
    }
}

#[async_trait]
impl<H: RecordHandler> PartitionHandler for KafkaRunner<H> {
    async fn warm(&self, context: &WarmContext) -> Result<(), HandlerError> {
        let held = &self.parts.watch.held;
        held.begin(context.partition(), context.progress.clone());
        let partition = self.catching_up().prepare(context).await?;
        held.enter(context.partition(), PartitionPhase::Warm);
        if context.handoff.is_some() {
            let following = Following::start(self.parts.clone(), context.clone(), partition);
            self.put(context.partition(), PartitionSlot::Following(following));
        } else {
            // Nobody owns it, so there is nobody to follow.
            self.put_still(context.partition(), Box::new(partition));
        }
        Ok(())
    }

    async fn reserved(&self, context: &ReservedContext) -> Result<(), HandlerError> {
        let at = context.partition();
        let mut partition = while_wanted(context.cancelled(), self.take_still(at)).await?;
        let catching_up = self.catching_up();
        let read = while_wanted(context.cancelled(), catching_up.read_rest(context, &mut partition)).await;
        self.put_if_whole(at, partition);
        Ok(read?)
    }

    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        // Without one, an earlier start has lost it: a panic takes the partition along.
        let taken = while_wanted(context.cancelled(), self.take_still(context.partition())).await;
        let Ok(partition) = taken else { return Err(Spoiled.into()) };
        let is_live = self.start(context, partition).await?;
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
            // Its claim has ended; the handler is told of the end with the release that follows.
            drop(self.abort(context.partition()).await);
            return Err(Spoiled.into());
        }
        Ok(())
    }

    async fn drain(&self, context: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        let at = context.partition();
        let mut partition = self.halt(context).await?;
        if let Err(error) = self.finish(context, &mut partition).await {
            // The partition counts as processed here until a drain succeeds, and it may stay: nobody would say so. Nobody
            // waits for its first record. Where the handler says that it stands, none comes.
            let start = partition.start();
            drop(self.process(context, *partition, start));
            return Err(error);
        }
        // A word that comes from here on is too late.
        let stop = partition.stop();
        self.put_still(at, partition);
        self.parts.commits.forget(at);
        self.parts.watch.close(at);
        self.parts.watch.held.enter(at, PartitionPhase::Drained);
        Ok(Some(stop))
    }

    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        self.drop_partition(partition, Closing::Released).await;
        // A stop is kept: where a preparation failed, the same grant goes on, and `forgotten` ends it.
        self.parts.watch.failing.lose(partition);
        self.parts.watch.pauses.forget(partition);
        self.parts.client.commit_landed().await;
        Ok(())
    }

    async fn lost(&self, context: &OwnedContext) {
        self.drop_partition(context.partition(), Closing::Lost).await;
        self.parts.watch.failing.lose(context.partition());
        // The next step may tell others that this member has stopped.
        self.parts.client.commit_landed().await;
    }

    fn forgotten(&self, partition: &TopicPartition) {
        self.parts.commits.forget_topic(partition);
        self.parts.watch.stops.end(partition);
        self.parts.watch.failing.end(Instant::now(), partition);
    }

    fn is_stuck(&self, bound: Duration) -> bool {
        self.slots().values().any(|slot| slot.is_stuck(bound))
    }

    fn stopped(&self) -> Vec<StoppedPartition> {
        self.parts.watch.stops.all()
    }

    fn committed(&self) -> Option<BTreeMap<TopicPartition, Epoch>> {
        Some(self.parts.commits.acknowledged())
    }

    fn last_error(&self) -> Option<String> {
        self.parts.client.watch().text()
    }

    fn failing(&self) -> Vec<FailingPartition> {
        self.parts.watch.failing.shown(Instant::now())
    }

    fn fatal(&self) -> Option<String> {
        self.parts.watch.fatal()
    }

    fn most_partitions(&self) -> Option<u32> {
        self.parts.rules.producers.as_ref().map(|_| FencedProducers::MOST)
    }
}

/// Ends a task at its next await, and waits until it has let go of its reader. Returns the state where it ended just before.
async fn cut<S>(running: RunningTask<S>) -> Option<S> {
    running.task.abort();
    running.task.await.ok().map(|partition| partition.state)
}

#[cfg(test)]
#[path = "runner/asking_test.rs"]
mod asking_test;
#[cfg(test)]
#[path = "runner/confirmed_test.rs"]
mod confirmed_test;
#[cfg(test)]
#[path = "runner/hooks_test.rs"]
mod hooks_test;
#[cfg(test)]
#[path = "runner/lost_offsets_test.rs"]
mod lost_offsets_test;
#[cfg(test)]
#[path = "runner/metrics_test.rs"]
mod metrics_test;
#[cfg(test)]
#[path = "runner/observed_test.rs"]
mod observed_test;
#[cfg(test)]
#[path = "runner/processing_test.rs"]
mod processing_test;
#[cfg(test)]
#[path = "runner/recreated_test.rs"]
mod recreated_test;
#[cfg(test)]
#[path = "runner/runner_test.rs"]
mod runner_test;
#[cfg(test)]
#[path = "runner/snapshots_test.rs"]
mod snapshots_test;
#[cfg(all(test, feature = "sqlite"))]
#[path = "runner/sqlite_test.rs"]
mod sqlite_test;
#[cfg(test)]
#[path = "runner/steering_test.rs"]
mod steering_test;
#[cfg(test)]
#[path = "runner/stuck_test.rs"]
mod stuck_test;
#[cfg(test)]
mod test_broker;
#[cfg(test)]
mod test_handler;
#[cfg(test)]
#[path = "runner/unreachable_test.rs"]
mod unreachable_test;
