//! The preparation of a partition: a state, brought forward to what is committed.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_handler::{
    Gap, OpenedState, Preparation, PreparationProgress, RecordHandler, StateSnapshot, guarded,
};
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::applying::Slice;
use super::asking::Patience;
use super::hooks::Hook;
use super::interrupted::{Interrupted, while_wanted};
use super::warm_up_watch::{WarmUpWatch, first_wait};
use crate::committed_offset::CommittedOffset;
use crate::context::WarmContext;
use crate::kafka::cursor::Ahead;
use crate::kafka::error::KafkaRunnerError;
use crate::kafka::partition::Partition;
use crate::kafka::runner_parts::RunnerParts;
use crate::status::StoppedPartition;

/// The time between two looks at what the owner of a partition that is warm here has committed. One request asks for all
/// partitions, and what comes in between is read within the gap of the switch.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

/// Brings partitions forward to where their owner starts.
pub(super) struct CatchingUp<'a, H: RecordHandler> {
    pub(super) parts: &'a RunnerParts<H>,
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
        let (state, begin, committed, is_own_place) =
            while_wanted(context.cancelled(), self.open(context)).await?;
        // Not given up halfway, or nobody would know that it is read.
        let reader = self.parts.client.read(at, begin).await?;
        let mut partition =
            Partition::new(reader, state, self.parts.watch.failures_of(at, context.topic_id()));
        partition.is_own_place = is_own_place;
        // One who was told a start is granted the partition already, so nobody else commits any more.
        partition.least_start = context.start_offset().map_or(Offset::ZERO, |_| committed);
        let followed =
            while_wanted(context.cancelled(), self.follow(context, &mut partition, committed)).await;
        if let Some(damage) = partition.reader.damage() {
            let (epoch, offset) = (Epoch::default(), partition.reader.next());
            let stopped = StoppedPartition {
                partition: at.clone(),
                epoch,
                offset,
                reason: damage.to_string(),
                is_of_drain: false,
            };
            self.parts.watch.stops.note(stopped);
        }
        followed?;
        // The start that follows a direct grant ends it, or it would end and come again where that is what fails.
        if context.handoff.is_some() {
            self.parts.watch.stops.end_before_grant(at);
        }
        Ok(partition)
    }

    /// The state to begin with, where to read on, where this member will start, and true if the state says itself how far it is.
    async fn open(&self, context: &WarmContext) -> Result<(H::State, Offset, Offset, bool), Interrupted> {
        let (at, mut patience) = (context.partition(), Patience::of(first_wait(context)));
        let start = self.start_of(context, &mut patience).await?;
        let opening = Instant::now();
        let (OpenedState { mut state, next_offset, .. }, is_of_snapshot) =
            self.opened(context, start).await?;
        patience.extend_to(opening.elapsed());
        let Some(next) = next_offset else {
            return Ok((state, self.within_log(at, start, &mut patience).await?, start, false));
        };
        // Everything that there is: nothing is missing, wherever the log begins.
        if next == Offset::ZERO {
            return Ok((state, next, start, false));
        }
        let begin = self.within_log(at, next, &mut patience).await?;
        // If processing starts before it as well, that start tells the gap.
        if begin > next && begin <= start {
            let gap = Gap { from: next, to: begin };
            self.pass_gap(at, &mut state, gap).await?;
        }
        Ok((state, begin, start, !is_of_snapshot))
    }

    /// The state that the handler opens, and true if it was given a snapshot for it. One that is of an earlier topic of this name
    /// is opened anew.
    async fn opened(
        &self,
        context: &WarmContext,
        start: Offset,
    ) -> Result<(OpenedState<H::State>, bool), Interrupted> {
        let mut preparation = preparation(context);
        let snapshot = match &self.parts.rules.snapshots {
            Some(snapshots) => snapshots.load(context.partition(), context.topic_id(), start).await,
            None => None,
        };
        let is_of_snapshot = snapshot.is_some();
        let opened = self.call_open(&preparation, snapshot, start).await?;
        if !is_of_another_topic(context, &opened) {
            return Ok((opened, is_of_snapshot));
        }
        warn!(partition = %context.partition(), offset = ?opened.next_offset, "the state is of an earlier topic of this name");
        preparation.is_anew = true;
        let anew = self.call_open(&preparation, None, start).await?;
        // A state that needs history begins at the beginning, whatever its handler says.
        let next_offset = anew.next_offset.map(|_| Offset::ZERO);
        Ok((OpenedState { next_offset, topic_id: context.topic_id(), ..anew }, false))
    }

    async fn call_open(
        &self,
        preparation: &Preparation,
        snapshot: Option<StateSnapshot>,
        start: Offset,
    ) -> Result<OpenedState<H::State>, Interrupted> {
        let opened = guarded(self.parts.handler.open(preparation, snapshot)).await;
        opened.map_err(|error| self.not_begun(Hook::Open, (&preparation.partition, start), &error))
    }

    /// Brings the state of a partition that is warm forward with what its owner commits, until `stop`, which is heard between
    /// two records.
    pub(super) async fn keep_following(
        &self,
        context: &WarmContext,
        partition: &mut Partition<H::State>,
        stop: &CancellationToken,
    ) -> Result<(), Interrupted> {
        let at = context.partition();
        loop {
            partition.reader.keep();
            if stop.run_until_cancelled(sleep(FOLLOW_EVERY)).await.is_none() {
                return Ok(());
            }
            let asked = self.parts.client.committed(at);
            // Whoever starts asks again, so one answer that does not come costs nothing.
            let Some(Ok(committed)) = stop.run_until_cancelled(asked).await else { continue };
            let Some(bound) = CommittedOffset::start(committed, None, context.topic_id()) else { continue };
            while let Some(ahead) = stop.run_until_cancelled(partition.reader.ahead()).await {
                match ahead? {
                    Ahead::Record(offset) if offset < bound => self.apply(at, partition).await?,
                    Ahead::Record(_) | Ahead::End => break,
                }
                tokio::task::consume_budget().await;
            }
        }
    }

    /// The offset up to which the state is brought forward: where this member will start, as far as it is known.
    async fn start_of(
        &self,
        context: &WarmContext,
        patience: &mut Patience,
    ) -> Result<Offset, KafkaRunnerError> {
        let of = (context.partition(), context.topic_id());
        self.committed_or_start(of, context.start_offset(), patience).await
    }

    /// The start beside `told` and what the group has committed; where neither is there, the start position of the topic.
    pub(super) async fn committed_or_start(
        &self,
        (at, topic_id): (&TopicPartition, Option<TopicId>),
        told: Option<Offset>,
        patience: &mut Patience,
    ) -> Result<Offset, KafkaRunnerError> {
        let RunnerParts { client, rules, .. } = self.parts;
        let committed = patience.ask(at, || client.committed(at)).await?;
        if let Some(start) = CommittedOffset::start(committed, told, topic_id) {
            warn_of_another(at, (committed, told), start);
            return Ok(start);
        }
        // Kafka does not tell a group that has begun nowhere from one whose offsets it has dropped.
        let position = rules.starts.of(&at.topic);
        let start = patience.ask(at, || client.start(at, position)).await?;
        warn!(partition = %at, ?position, %start, "the group has committed nothing here");
        Ok(start)
    }

    /// `offset`, or the nearest one that the log has: its first record where `offset` was removed, its end where that comes
    /// first. What will be written there has been read by nobody, whatever is committed: an unclean election leaves such
    /// offsets behind, and a topic that was created again.
    pub(super) async fn within_log(
        &self,
        at: &TopicPartition,
        offset: Offset,
        patience: &mut Patience,
    ) -> Result<Offset, KafkaRunnerError> {
        let client = &self.parts.client;
        let ends = || async { tokio::try_join!(client.beginning(at), client.end(at)) };
        let (first, end) = patience.ask(at, ends).await?;
        if end < offset {
            warn!(partition = %at, %offset, %end, "the offset is beyond the end of the log, which comes first");
        }
        Ok(offset.max(first).min(end))
    }

    /// Catches up until the reader is as far as what is committed, or has nothing more to read.
    async fn follow(
        &self,
        context: &WarmContext,
        partition: &mut Partition<H::State>,
        mut committed: Offset,
    ) -> Result<(), Interrupted> {
        let mut watch = WarmUpWatch::new(context);
        loop {
            self.warm_up((context, &mut watch), partition, committed).await?;
            if watch.ahead(&mut partition.reader).await? == Ahead::End {
                return Ok(());
            }
            // All that was read would be lost.
            let now = self.start_of(context, &mut Patience::of_a_preparation()).await?;
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
        (context, watch): (&WarmContext, &mut WarmUpWatch<'_>),
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
            self.apply(context.partition(), partition).await?;
            watch.report(partition.reader.next(), bound);
            slice.yield_when_over().await;
        }
    }
}

/// Says that the start is another one than was told, or is committed.
fn warn_of_another(
    at: &TopicPartition,
    (committed, told): (Option<CommittedOffset>, Option<Offset>),
    start: Offset,
) {
    let Some(CommittedOffset { offset: committed, topic_id }) = committed else { return };
    match told {
        None if committed != start => {
            warn!(partition = %at, %committed, ?topic_id, "committed in an earlier topic of this name");
        }
        Some(told) if told < start => {
            warn!(partition = %at, %told, %start, "more is committed in this topic than the service knows of");
        }
        _ => {}
    }
}

fn preparation(context: &WarmContext) -> Preparation {
    Preparation {
        partition: context.partition().clone(),
        topic_id: context.topic_id(),
        current_owner: context.current_owner().map(str::to_owned),
        is_anew: false,
        progress: Arc::new(ReportedProgress(context.clone())),
    }
}

/// Passes the reports of a handler on.
struct ReportedProgress(WarmContext);

impl PreparationProgress for ReportedProgress {
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
