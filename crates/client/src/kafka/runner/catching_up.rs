//! Up to where an owner starts: what is read into the state only.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_handler::{
    OpenedState, PartitionContext, Preparation, PreparationProgress, Record, RecordError, RecordHandler,
    Remedy, guarded,
};
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use crate::claim::Claim;
use crate::context::{OwnedContext, ReservedContext, WarmContext};
use crate::handler::HandlerError;
use crate::kafka::cursor::{Ahead, LogReset};
use crate::kafka::error::KafkaRunnerError;
use crate::kafka::ownership::{context_of, context_of_reserved};
use crate::kafka::partition::Partition;
use crate::kafka::processing::FETCH_WAIT;
use crate::kafka::reader::PartitionReader;
use crate::kafka::runner_parts::{RunnerParts, can_spoil};
use crate::kafka::runner_watch::Counted;
use crate::status::StoppedPartition;

/// The time after which other tasks get their turn, however many records that takes.
const SLICE: Duration = Duration::from_millis(5);
/// The clock is read once in so many records.
const RECORDS_A_LOOK: u32 = 8;
/// The wait of a preparation for a direct grant for its first record, or for the word that there is none, before it
/// gives its place to another one. It loses nothing by that, and is tried again. A fetch is answered within 20 ms.
const FIRST_FETCH_WAIT: Duration = Duration::from_secs(10);
/// The same for a handoff, which is declined then: there the present owner works meanwhile, and other members are asked.
const FIRST_FETCH_WAIT_OF_A_HANDOFF: Duration = Duration::from_secs(30);
/// The wait for each further one. All that was read so far is lost then, so this is as long as the service waits by
/// default for a preparation without progress: long against the restart of a broker.
const NEXT_FETCH_WAIT: Duration = Duration::from_secs(5 * 60);

/// Brings partitions forward to where their owner starts.
pub(super) struct CatchingUp<'a, H: RecordHandler> {
    pub(super) parts: &'a RunnerParts<H>,
}

/// A partition could not be brought forward.
#[derive(Debug)]
pub(super) enum Interrupted {
    /// Its state is of no use any more.
    Spoiled(String),
    /// It can go on where it is.
    Failed(HandlerError),
}

impl From<LogReset> for Interrupted {
    fn from(reset: LogReset) -> Self {
        Self::Spoiled(reset.to_string())
    }
}

impl From<KafkaRunnerError> for Interrupted {
    fn from(error: KafkaRunnerError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Interrupted> for HandlerError {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Spoiled(reason) => KafkaRunnerError::Spoiled(reason).into(),
            Interrupted::Failed(error) => error,
        }
    }
}

impl Interrupted {
    /// The error of a call for a handler whose state is of type `S`.
    fn of<S>(error: &RecordError) -> Self {
        if error.is_spoiled() && can_spoil::<S>() {
            Self::Spoiled(error.text())
        } else {
            Self::Failed(KafkaRunnerError::Handler(error.text()).into())
        }
    }
}

impl<H: RecordHandler> CatchingUp<'_, H> {
    /// Forgets the fence of a partition that is given up.
    pub(super) fn forget_fence(&self, at: &TopicPartition) {
        if let Some(producers) = &self.parts.rules.producers {
            producers.forget(at);
        }
    }

    pub(super) async fn prepare(&self, context: &WarmContext) -> Result<Partition<H::State>, Interrupted> {
        let at = context.partition();
        let (state, begin, committed) = while_wanted(context.cancelled(), self.open(context)).await?;
        // Not given up halfway, or nobody would know that it is read.
        let reader = self.parts.client.read(at, begin).await?;
        let mut partition = Partition::new(reader, state, self.parts.watch.failures_of(at));
        while_wanted(context.cancelled(), self.follow(context, &mut partition, committed)).await?;
        self.parts.watch.end_stop_of_preparation(at);
        Ok(partition)
    }

    /// The state to begin with, where to read on, and what is committed.
    async fn open(&self, context: &WarmContext) -> Result<(H::State, Offset, Offset), Interrupted> {
        let opened = self.opened(context).await?;
        let committed = self.start_of(context).await?;
        let begin = self.within_log(context.partition(), opened.next_offset.unwrap_or(committed)).await?;
        Ok((opened.state, begin, committed))
    }

    /// The state that the handler opens. One that is of an earlier topic of this name is opened anew.
    async fn opened(&self, context: &WarmContext) -> Result<OpenedState<H::State>, Interrupted> {
        let mut preparation = preparation(context);
        let opened = self.call_open(&preparation).await?;
        if !is_of_another_topic(context, &opened) {
            return Ok(opened);
        }
        warn!(partition = %context.partition(), offset = ?opened.next_offset, "the state is of an earlier topic of this name");
        preparation.is_anew = true;
        let anew = self.call_open(&preparation).await?;
        // A state that needs history begins at the beginning, whatever its handler says.
        let next_offset = anew.next_offset.map(|_| Offset::ZERO);
        Ok(OpenedState { next_offset, topic_id: context.topic_id(), ..anew })
    }

    async fn call_open(&self, preparation: &Preparation) -> Result<OpenedState<H::State>, Interrupted> {
        let opened = guarded(self.parts.handler.open(preparation, None)).await;
        opened.map_err(|error| Interrupted::Failed(KafkaRunnerError::Handler(error.text()).into()))
    }

    /// The offset up to which the state is brought forward: where this member will start, as far as it is known.
    async fn start_of(&self, context: &WarmContext) -> Result<Offset, KafkaRunnerError> {
        match context.start_offset() {
            Some(start) => Ok(start),
            None => self.parts.client.committed(context.partition(), context.topic_id()).await,
        }
    }

    /// `offset`, or the end of the log where that comes first: what will be written there has been read by nobody,
    /// whatever is committed. An unclean election leaves such offsets behind, and a topic that was created again.
    async fn within_log(&self, at: &TopicPartition, offset: Offset) -> Result<Offset, KafkaRunnerError> {
        if offset == Offset::ZERO {
            return Ok(offset);
        }
        let end = self.parts.client.end(at).await?;
        if end < offset {
            warn!(partition = %at, %offset, %end, "the offset is beyond the end of the log, which comes first");
        }
        Ok(offset.min(end))
    }

    /// Catches up until the reader is as far as what is committed, or has nothing more to read.
    async fn follow(
        &self,
        context: &WarmContext,
        partition: &mut Partition<H::State>,
        mut committed: Offset,
    ) -> Result<(), Interrupted> {
        let mut watch = WarmUpWatch { context, first: None };
        loop {
            self.warm_up(&mut watch, partition, committed).await?;
            if watch.ahead(&mut partition.reader).await? == Ahead::End {
                return Ok(());
            }
            let now = self.start_of(context).await?;
            if now <= partition.reader.next() || now == committed {
                return Ok(());
            }
            committed = now;
        }
    }

    /// Brings the state forward up to `bound`, or to the end, and reports after each record: a batch of slow ones may take
    /// longer than the service waits for progress.
    async fn warm_up(
        &self,
        watch: &mut WarmUpWatch<'_>,
        partition: &mut Partition<H::State>,
        bound: Offset,
    ) -> Result<(), Interrupted> {
        let mut slice = Slice::default();
        loop {
            let ahead = watch.ahead(&mut partition.reader).await?;
            watch.report(partition.reader.next(), bound);
            match ahead {
                Ahead::Record(offset) if offset < bound => {}
                Ahead::Record(_) | Ahead::End => return Ok(()),
            }
            self.apply(watch.context.partition(), partition).await?;
            watch.report(partition.reader.next(), bound);
            slice.yield_when_over().await;
        }
    }

    /// Brings the state forward up to `bound`, or to the end.
    async fn catch_up(
        &self,
        at: &TopicPartition,
        partition: &mut Partition<H::State>,
        bound: Offset,
    ) -> Result<(), Interrupted> {
        let mut slice = Slice::default();
        loop {
            match partition.reader.ahead().await? {
                Ahead::Record(offset) if offset < bound => {}
                Ahead::Record(_) | Ahead::End => return Ok(()),
            }
            self.apply(at, partition).await?;
            slice.yield_when_over().await;
        }
    }

    /// Brings the state forward by the record that is ahead. Where that fails, the record stays ahead: whoever tries again
    /// begins with it.
    async fn apply(
        &self,
        at: &TopicPartition,
        partition: &mut Partition<H::State>,
    ) -> Result<(), Interrupted> {
        let Some(record) = partition.take() else { return Ok(()) };
        if partition.failures.passes_over(record.offset()) {
            self.parts.watch.count(Counted::Skip);
            partition.settle();
            return Ok(());
        }
        loop {
            let call = self.parts.handler.catch_up(at, &mut partition.state, &record);
            let Err(error) = guarded(call).await else { break };
            match self.after_failure(at, &record, &error).await {
                AfterFailure::Again => {}
                AfterFailure::PassOver => break,
                AfterFailure::End(interrupted) => {
                    if matches!(interrupted, Interrupted::Failed(_)) {
                        partition.put_back(record);
                    }
                    return Err(interrupted);
                }
            }
        }
        partition.settle();
        Ok(())
    }

    /// Decides about a record whose `catch_up` failed, and waits where it comes again.
    async fn after_failure(&self, at: &TopicPartition, record: &Record, error: &RecordError) -> AfterFailure {
        let RunnerParts { rules, watch, .. } = self.parts;
        let (offset, spoils) = (record.offset(), error.is_spoiled() && can_spoil::<H::State>());
        let (remedy, attempts) = watch.decide(at, offset, error, &rules.policy);
        warn!(partition = %at, %offset, attempts, ?remedy, error = error.text(), "catching up failed");
        match remedy {
            // Without a bound the place of the preparation may be of better use to another partition; it is tried again.
            Remedy::Retry { .. } if spoils || rules.policy.attempts.is_none() => {}
            Remedy::Retry { after } => {
                watch.count(Counted::Retry);
                sleep(after.unwrap_or_default()).await;
                return AfterFailure::Again;
            }
            Remedy::Skip | Remedy::DeadLetter if spoils => _ = watch.pass_over(at, offset),
            Remedy::Skip | Remedy::DeadLetter => {
                watch.count(Counted::Skip);
                return AfterFailure::PassOver;
            }
            Remedy::Stop => watch.stop(StoppedPartition {
                partition: at.clone(),
                epoch: Epoch::default(),
                offset,
                reason: error.text(),
            }),
            Remedy::Fatal => watch.set_fatal(error.text()),
        }
        AfterFailure::End(Interrupted::of::<H::State>(error))
    }

    /// Catches up to where this member will start: where the old owner stopped, or what is committed. Never beyond, even
    /// where nobody knows where the old owner stopped: what it has not finished is processed again, with its effects.
    pub(super) async fn read_rest(
        &self,
        context: &ReservedContext,
        partition: &mut Partition<H::State>,
    ) -> Result<(), Interrupted> {
        let at = context.partition();
        self.fence(at, context.claim()).await?;
        self.fence_by_handler(&context_of_reserved(context)).await?;
        let until = match context.until_offset() {
            Some(offset) => offset,
            None => self.parts.client.committed(at, context.topic_id()).await?,
        };
        if !self.catch_up_to(at, partition, until).await? {
            warn!(partition = %at, %until, next = %partition.reader.next(), "the rest is not there to be read");
        }
        Ok(())
    }

    /// Brings the state forward up to `until`, and waits for records that are on their way: a reader may have reached the
    /// end before the last of them were written. False = what is missing does not come: it is no record, or not there.
    async fn catch_up_to(
        &self,
        at: &TopicPartition,
        partition: &mut Partition<H::State>,
        until: Offset,
    ) -> Result<bool, Interrupted> {
        loop {
            self.catch_up(at, partition, until).await?;
            let is_beyond = matches!(partition.reader.ahead_now()?, Some(Ahead::Record(_)));
            if is_beyond || partition.reader.next() >= until {
                return Ok(true);
            }
            if timeout(FETCH_WAIT, partition.reader.record()).await.is_err() {
                return Ok(false);
            }
        }
    }

    /// From the warm position to the start, into the state only, once the fence is taken. Returns the start.
    pub(super) async fn replay(
        &self,
        context: &OwnedContext,
        partition: &mut Partition<H::State>,
    ) -> Result<Offset, Interrupted> {
        self.fence(context.partition(), context.claim()).await?;
        let owned = context_of(context);
        self.fence_by_handler(&owned).await?;
        let start = match context.start_offset() {
            _ if context.is_resumed() => partition.reader.next(),
            Some(offset) => offset,
            None => self.parts.client.committed(context.partition(), context.topic_id()).await?,
        };
        let is_there = if context.claim().is_strict() {
            // The old owner has just read what is missing, so it comes sooner than an answer of the broker.
            self.catch_up_to(context.partition(), partition, start).await?
        } else {
            self.catch_up(context.partition(), partition, start).await?;
            partition.reader.next() >= start
        };
        let start = if is_there { start } else { self.within_log(context.partition(), start).await? };
        let begun = guarded(self.parts.handler.begin(&owned, &mut partition.state)).await;
        begun.map_err(|error| Interrupted::of::<H::State>(&error))?;
        Ok(start)
    }

    async fn fence(&self, at: &TopicPartition, claim: &Claim) -> Result<(), Interrupted> {
        match &self.parts.rules.producers {
            Some(producers) => {
                producers.fence(at, claim).await.map_err(|error| Interrupted::Failed(error.into()))
            }
            None => Ok(()),
        }
    }

    /// The handler has no state at hand, so there is none that it could spoil.
    async fn fence_by_handler(&self, context: &PartitionContext) -> Result<(), Interrupted> {
        let fenced = guarded(self.parts.handler.fence(context)).await;
        fenced.map_err(|error| Interrupted::Failed(KafkaRunnerError::Handler(error.text()).into()))
    }
}

/// What follows a `catch_up` that failed.
enum AfterFailure {
    Again,
    PassOver,
    End(Interrupted),
}

/// A slice of the thread's time.
#[derive(Default)]
struct Slice {
    records: u32,
    begun: Option<Instant>,
}

impl Slice {
    /// Gives other tasks their turn once the slice is over. Called after each record.
    async fn yield_when_over(&mut self) {
        self.records = self.records.wrapping_add(1);
        if !self.records.is_multiple_of(RECORDS_A_LOOK) {
            return;
        }
        let now = Instant::now();
        if now.duration_since(*self.begun.get_or_insert(now)) >= SLICE {
            tokio::task::yield_now().await;
            self.begun = None;
        }
    }
}

fn preparation(context: &WarmContext) -> Preparation {
    Preparation {
        partition: context.partition().clone(),
        topic_id: context.topic_id(),
        current_owner: context.current_owner().map(str::to_owned),
        is_anew: false,
        progress: Arc::new(Progress(context.clone())),
    }
}

/// Passes the reports of a handler on.
struct Progress(WarmContext);

impl PreparationProgress for Progress {
    fn report(&self, done: u64, total: Option<u64>) {
        self.0.report(done, total);
    }
}

/// True if what was opened is of an earlier topic of this name. It is of one where its id says so, and, where an id is not
/// known, where the partition starts at offset 0: then nobody has handled anything of this topic.
fn is_of_another_topic<S>(context: &WarmContext, opened: &OpenedState<S>) -> bool {
    match (opened.topic_id, context.topic_id()) {
        (Some(of), Some(this)) => of != this,
        _ => context.start_offset() == Some(Offset::ZERO) && opened.next_offset > Some(Offset::ZERO),
    }
}

/// Does `work`, which is dropped as soon as its result is not wanted any more.
pub(super) async fn while_wanted<T>(
    cancelled: impl Future<Output = ()>,
    work: impl Future<Output = Result<T, Interrupted>>,
) -> Result<T, Interrupted> {
    tokio::select! {
        biased;
        // The call that follows drops all that there is already.
        () = cancelled => Err(KafkaRunnerError::Cancelled.into()),
        // The usual case.
        done = work => done,
    }
}

/// Watches over a preparation: tells how far it is, and ends it when nothing comes.
struct WarmUpWatch<'a> {
    context: &'a WarmContext,
    /// The first offset that was there; `None` = nothing has come yet. Retention may have removed those before it.
    first: Option<Offset>,
}

impl WarmUpWatch<'_> {
    /// Waits until there is a record or the end was reached, for a while.
    async fn ahead(&mut self, reader: &mut PartitionReader) -> Result<Ahead, Interrupted> {
        // Without a timer where nothing has to be waited for.
        let ahead = match reader.ahead_now()? {
            Some(ahead) => ahead,
            None => self.awaited(reader).await?,
        };
        let at = match ahead {
            Ahead::Record(offset) => offset,
            Ahead::End => reader.next(),
        };
        self.first.get_or_insert(at);
        Ok(ahead)
    }

    async fn awaited(&self, reader: &mut PartitionReader) -> Result<Ahead, Interrupted> {
        let waited = self.patience();
        match timeout(waited, reader.ahead()).await {
            Ok(ahead) => Ok(ahead?),
            Err(_) => {
                let partition = self.context.partition().clone();
                Err(KafkaRunnerError::Stalled { partition, waited }.into())
            }
        }
    }

    const fn patience(&self) -> Duration {
        match (&self.first, &self.context.handoff) {
            (Some(_), _) => NEXT_FETCH_WAIT,
            (None, Some(_)) => FIRST_FETCH_WAIT_OF_A_HANDOFF,
            (None, None) => FIRST_FETCH_WAIT,
        }
    }

    /// Reports that everything before `next` is done, of all that is before `bound`.
    fn report(&self, next: Offset, bound: Offset) {
        let Some(first) = self.first else { return };
        let [done, total] = [next, bound.max(next)].map(|to| to.since(first));
        self.context.report(done, Some(total));
    }
}
