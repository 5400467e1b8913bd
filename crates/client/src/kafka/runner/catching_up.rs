//! Up to where an owner starts: what is read into the state only.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_types::id::{Offset, TopicPartition};
use tokio::time::timeout;
use tracing::warn;

use crate::claim::Claim;
use crate::context::{OwnedContext, ReservedContext, WarmContext};
use crate::handler::HandlerError;
use crate::kafka::client::Client;
use crate::kafka::cursor::Ahead;
use crate::kafka::error::KafkaRunnerError;
use crate::kafka::handler::{RecordHandler, Restored};
use crate::kafka::processing::{FETCH_WAIT, Partition};
use crate::kafka::producers::FencedProducers;
use crate::kafka::reader::PartitionReader;

/// The number of records to catch up with before other tasks get their turn.
const CATCH_UP_BATCH: usize = 256;
/// The wait of a preparation for a direct grant for its first record, or for the word that there is none, before it
/// gives its place to another one. It loses nothing by that, and is tried again. A fetch is answered within 20 ms.
const FIRST_FETCH_WAIT: Duration = Duration::from_secs(10);
/// The same for a handoff, which is declined then: there the present owner works meanwhile, and other members are asked.
const FIRST_FETCH_WAIT_OF_A_HANDOFF: Duration = Duration::from_secs(30);
/// The wait for each further one. All that was read so far is lost then, so this is as long as the service waits by
/// default for a preparation without progress: long against the restart of a broker.
const NEXT_FETCH_WAIT: Duration = Duration::from_secs(5 * 60);

/// Brings partitions forward to where their owner starts.
pub(super) struct CatchingUp<H> {
    handler: Arc<H>,
    client: Client,
    /// The producers whose fences are taken before the rest of a log is read; `None` = there is none to take.
    producers: Option<FencedProducers>,
}

impl<H: RecordHandler> CatchingUp<H> {
    pub(super) const fn new(handler: Arc<H>, client: Client) -> Self {
        Self { handler, client, producers: None }
    }

    pub(super) fn with_producers(self, producers: FencedProducers) -> Self {
        Self { producers: Some(producers), ..self }
    }

    /// The most partitions for which there can be fences; `None` = none is taken.
    pub(super) fn most_partitions(&self) -> Option<u32> {
        self.producers.as_ref().map(|_| FencedProducers::MOST)
    }

    /// Forgets the fence of a partition that is given up.
    pub(super) fn forget_fence(&self, at: &TopicPartition) {
        if let Some(producers) = &self.producers {
            producers.forget(at);
        }
    }

    pub(super) async fn prepare(&self, context: &WarmContext) -> Result<Partition<H::State>, HandlerError> {
        let (state, begin, committed) = while_wanted(context.cancelled(), self.restore(context)).await?;
        // Not given up halfway, or nobody would know that it is read.
        let reader = self.client.read(context.partition(), begin).await?;
        let mut partition = Partition { reader, state };
        while_wanted(context.cancelled(), self.follow(context, &mut partition, committed)).await?;
        Ok(partition)
    }

    /// The state to begin with, where to read on, and what is committed.
    async fn restore(&self, context: &WarmContext) -> Result<(H::State, Offset, Offset), HandlerError> {
        let at = context.partition();
        self.handler.warm(context).await?;
        let restored = of_this_topic(context, self.handler.restore(at).await?);
        let committed = self.start_of(context).await?;
        let begin = self.within_log(at, restored.next_offset.unwrap_or(committed)).await?;
        Ok((restored.state, begin, committed))
    }

    /// The offset up to which the state is brought forward: where this member will start, as far as it is known.
    async fn start_of(&self, context: &WarmContext) -> Result<Offset, KafkaRunnerError> {
        match context.start_offset() {
            Some(start) => Ok(start),
            None => self.client.committed(context.partition(), context.topic_id()).await,
        }
    }

    /// `offset`, or the end of the log where that comes first: what will be written there has been read by nobody,
    /// whatever is committed. An unclean election leaves such offsets behind, and a topic that was created again.
    async fn within_log(&self, at: &TopicPartition, offset: Offset) -> Result<Offset, KafkaRunnerError> {
        if offset == Offset::ZERO {
            return Ok(offset);
        }
        let end = self.client.end(at).await?;
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
    ) -> Result<(), HandlerError> {
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
    ) -> Result<(), HandlerError> {
        loop {
            for _ in 0..CATCH_UP_BATCH {
                let ahead = watch.ahead(&mut partition.reader).await?;
                watch.report(partition.reader.next(), bound);
                match ahead {
                    Ahead::Record(offset) if offset < bound => {}
                    Ahead::Record(_) | Ahead::End => return Ok(()),
                }
                self.apply(watch.context.partition(), partition)?;
                watch.report(partition.reader.next(), bound);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Brings the state forward up to `bound`, or to the end.
    async fn catch_up(
        &self,
        at: &TopicPartition,
        partition: &mut Partition<H::State>,
        bound: Offset,
    ) -> Result<(), HandlerError> {
        loop {
            for _ in 0..CATCH_UP_BATCH {
                match partition.reader.ahead().await? {
                    Ahead::Record(offset) if offset < bound => {}
                    Ahead::Record(_) | Ahead::End => return Ok(()),
                }
                self.apply(at, partition)?;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Brings the state forward by the record that is ahead. Where that fails, the record stays ahead: whoever tries again
    /// begins with it.
    fn apply(&self, at: &TopicPartition, partition: &mut Partition<H::State>) -> Result<(), HandlerError> {
        let Some(record) = partition.reader.take() else { return Ok(()) };
        let applied = self.handler.catch_up(at, &mut partition.state, &record);
        if applied.is_err() {
            partition.reader.put_back(record);
        }
        applied
    }

    /// Catches up to where this member will start: where the old owner stopped, or what is committed. Never beyond, even
    /// where nobody knows where the old owner stopped: what it has not finished is processed again, with its effects.
    pub(super) async fn read_rest(
        &self,
        context: &ReservedContext,
        partition: &mut Partition<H::State>,
    ) -> Result<(), HandlerError> {
        let at = context.partition();
        self.fence(at, context.claim()).await?;
        let until = match context.until_offset() {
            Some(offset) => offset,
            None => self.client.committed(at, context.topic_id()).await?,
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
    ) -> Result<bool, HandlerError> {
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
    ) -> Result<Offset, HandlerError> {
        self.fence(context.partition(), context.claim()).await?;
        let start = match context.start_offset() {
            _ if context.is_resumed() => partition.reader.next(),
            Some(offset) => offset,
            None => self.client.committed(context.partition(), context.topic_id()).await?,
        };
        let is_there = if context.claim().is_strict() {
            // The old owner has just read what is missing, so it comes sooner than an answer of the broker.
            self.catch_up_to(context.partition(), partition, start).await?
        } else {
            self.catch_up(context.partition(), partition, start).await?;
            partition.reader.next() >= start
        };
        let start = if is_there { start } else { self.within_log(context.partition(), start).await? };
        self.handler.assigned(context).await?;
        Ok(start)
    }

    async fn fence(&self, at: &TopicPartition, claim: &Claim) -> Result<(), HandlerError> {
        match &self.producers {
            Some(producers) => Ok(producers.fence(at, claim).await?),
            None => Ok(()),
        }
    }
}

/// The state that was `restored`, or the beginning where that is of an earlier topic of this name. It is of one where its id says so,
/// and, where an id is not known, where the partition starts at offset 0: then nobody has handled anything of this topic.
fn of_this_topic<S: Default>(context: &WarmContext, restored: Restored<S>) -> Restored<S> {
    let begins = context.start_offset() == Some(Offset::ZERO);
    let is_of_another = match (restored.topic_id, context.topic_id()) {
        (Some(of), Some(this)) => of != this,
        _ => begins && restored.next_offset > Some(Offset::ZERO),
    };
    if !is_of_another {
        return restored;
    }
    warn!(partition = %context.partition(), offset = ?restored.next_offset, "the state is of an earlier topic of this name");
    let next_offset = restored.next_offset.map(|_| Offset::ZERO);
    Restored { state: S::default(), next_offset, topic_id: context.topic_id() }
}

/// Does `work`, which is dropped as soon as its result is not wanted any more.
pub(super) async fn while_wanted<T>(
    cancelled: impl Future<Output = ()>,
    work: impl Future<Output = Result<T, HandlerError>>,
) -> Result<T, HandlerError> {
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
    async fn ahead(&mut self, reader: &mut PartitionReader) -> Result<Ahead, HandlerError> {
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

    async fn awaited(&self, reader: &mut PartitionReader) -> Result<Ahead, HandlerError> {
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
