//! The rest of a log before its owner starts, and the start.

use kafka_assigner_handler::{
    CommitRule, Confirmations, Gap, GapRule, PartitionContext, RecordError, RecordHandler, guarded,
};
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use tokio::time::timeout;
use tracing::warn;

use super::asking::Patience;
use super::catching_up::CatchingUp;
use super::hooks::{Hook, HookCall};
use super::interrupted::Interrupted;
use crate::claim::Claim;
use crate::context::{OwnedContext, ReservedContext};
use crate::kafka::cursor::Ahead;
use crate::kafka::error::KafkaRunnerError;
use crate::kafka::ownership::{context_of, context_of_reserved};
use crate::kafka::partition::Partition;
use crate::kafka::processing::FETCH_WAIT;
use crate::kafka::runner_watch::CountedRecord;
use crate::status::StoppedPartition;

impl<H: RecordHandler> CatchingUp<'_, H> {
    /// Catches up to where this member will start: where the old owner stopped, or what is committed. Never beyond, even
    /// where nobody knows where the old owner stopped: what it has not finished is processed again, with its effects.
    pub(super) async fn read_rest(
        &self,
        context: &ReservedContext,
        partition: &mut Partition<H::State>,
    ) -> Result<(), Interrupted> {
        let at = context.partition();
        self.fence(at, context.claim()).await?;
        self.fence_by_handler(&context_of_reserved(context), partition.reader.next()).await?;
        let until = match context.until_offset() {
            Some(offset) => offset,
            None => {
                let of = (at, context.topic_id());
                self.committed_or_start(of, None, &mut Patience::of_a_start()).await?
            }
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
            let is_there = || self.parts.client.position(at).is_some_and(|next| next >= until);
            if is_beyond || partition.reader.next() >= until || is_there() {
                return Ok(true);
            }
            let come = tokio::select! {
                biased;
                // The usual case: the old owner has just read it.
                come = timeout(FETCH_WAIT, partition.reader.record()) => come.is_ok(),
                // Retention has removed all of it.
                () = self.is_removed(at, until) => return Ok(true),
            };
            if !come {
                return Ok(false);
            }
        }
    }

    /// Ends if the log begins at `until` or behind it.
    async fn is_removed(&self, at: &TopicPartition, until: Offset) {
        match self.parts.client.beginning(at).await {
            Ok(first) if first >= until => {}
            _ => std::future::pending().await,
        }
    }

    /// From the warm position to the start, into the state only, once the fence is taken. Returns the start.
    pub(super) async fn replay(
        &self,
        context: &OwnedContext,
        partition: &mut Partition<H::State>,
    ) -> Result<Offset, Interrupted> {
        self.fence(context.partition(), context.claim()).await?;
        self.fence_by_handler(&context_of(context), partition.reader.next()).await?;
        let mut patience = Patience::of_a_start();
        let start = match context.start_offset() {
            _ if context.is_resumed() => partition.start(),
            // A start that follows a drain is as new as can be; nobody waits for the broker then.
            Some(told) => told.max(partition.least_start),
            None => self.committed_or_begin(context, partition.own_place(), &mut patience).await?,
        };
        let start = self.replay_to(context, partition, (start, &mut patience)).await?;
        if self.parts.rules.commits == CommitRule::Confirmed {
            // An owner that goes on with its state has records that it may confirm yet.
            let before = partition.confirmed.take().filter(|_| context.is_resumed());
            partition.confirmed = Some(before.unwrap_or_else(|| Confirmations::from(start)));
        }
        let owned = partition.context(context);
        let begun = guarded(self.parts.handler.begin(&owned, &mut partition.state)).await;
        begun.map_err(|error| self.not_begun(Hook::Begin, (context.partition(), start), &error))?;
        self.parts.watch.stops.end_before_grant(context.partition());
        Ok(start)
    }

    /// The offset that the group has committed; where that is nothing, the start position of the topic, if nothing was
    /// committed before either. Where something was, a state that says itself how far it is needs no offset.
    async fn committed_or_begin(
        &self,
        context: &OwnedContext,
        own_place: Option<Offset>,
        patience: &mut Patience,
    ) -> Result<Offset, KafkaRunnerError> {
        let (at, topic_id) = (context.partition(), context.topic_id());
        // Kafka drops the offsets of a topic that is deleted; without ids nobody sees that it was created again.
        let is_of_this_topic = |id| context.was_committed() || self.parts.commits.has_committed_in(at, id);
        if !topic_id.is_some_and(is_of_this_topic) || self.parts.rules.starts.starts_anew() {
            return self.committed_or_start((at, topic_id), None, patience).await;
        }
        let committed = patience.ask(at, || self.parts.client.committed(at)).await?;
        // One of an earlier topic has taken the place of the one that is gone.
        let committed = committed.filter(|committed| committed.is_of(topic_id) != Some(false));
        if let Some(committed) = committed {
            return Ok(committed.offset);
        }
        let start = own_place.ok_or_else(|| self.offset_lost(at))?;
        warn!(partition = %at, %start, "the committed offset is gone; the state says where to go on");
        Ok(start)
    }

    /// The partition stands until an offset is there: what was processed would be processed again, or records left out.
    fn offset_lost(&self, at: &TopicPartition) -> KafkaRunnerError {
        let error = KafkaRunnerError::OffsetLost(at.clone());
        let (partition, epoch, reason) = (at.clone(), Epoch::default(), error.to_string());
        self.parts.watch.stops.note(StoppedPartition {
            partition,
            epoch,
            offset: Offset::ZERO,
            reason,
            is_of_drain: false,
        });
        error
    }

    /// Catches up to `start`. Returns where processing starts in the log as it is.
    async fn replay_to(
        &self,
        context: &OwnedContext,
        partition: &mut Partition<H::State>,
        (start, patience): (Offset, &mut Patience),
    ) -> Result<Offset, Interrupted> {
        let at = context.partition();
        if context.claim().is_strict() {
            // The old owner has just read what is missing, so it comes sooner than an answer of the broker.
            self.catch_up_to(at, partition, start).await?;
        } else {
            self.catch_up(at, partition, start).await?;
        }
        let next = partition.reader.next();
        let is_whole = match partition.reader.ahead_now()? {
            Some(Ahead::Record(offset)) => offset == start,
            _ => next == start,
        };
        if is_whole {
            return Ok(start);
        }
        // Before it, at it or behind it offsets have no record. Those that were removed are a gap; others never had one.
        let within = self.within_log(at, start, patience).await?;
        if within < next && partition.own_place().is_none() {
            // Somebody has committed less than before, and an owner of this state would leave records out.
            return Err(Interrupted::Spoiled(format!("it is up to {next}, and the start is {start}")));
        }
        if within > start {
            self.pass_gap(at, &mut partition.state, Gap { from: start, to: within }).await?;
        }
        Ok(within)
    }

    /// Tells the handler of records that are gone, where processing may go on behind them.
    pub(super) async fn pass_gap(
        &self,
        at: &TopicPartition,
        state: &mut H::State,
        gap: Gap,
    ) -> Result<(), Interrupted> {
        let (Gap { from, to }, partition) = (gap, at.clone());
        warn!(%partition, %from, %to, "records were removed before they were read");
        self.parts.watch.count(CountedRecord::Gap);
        if self.parts.rules.gaps == GapRule::Refuse {
            let error = KafkaRunnerError::Gap { partition: partition.clone(), from, to };
            let (epoch, reason) = (Epoch::default(), error.to_string());
            self.parts.watch.stops.note(StoppedPartition {
                partition,
                epoch,
                offset: from,
                reason,
                is_of_drain: false,
            });
            return Err(error.into());
        }
        let told = guarded(self.parts.handler.gap(at, state, gap)).await;
        told.map_err(|error| self.not_begun(Hook::Gap, (at, from), &error))
    }

    /// Takes in that a call failed without which the partition does not begin.
    pub(super) fn not_begun(
        &self,
        hook: Hook,
        (partition, offset): (&TopicPartition, Offset),
        error: &RecordError,
    ) -> Interrupted {
        self.parts.hook_failed(&HookCall { hook, partition, epoch: Epoch::default(), offset }, error)
    }

    async fn fence(&self, at: &TopicPartition, claim: &Claim) -> Result<(), Interrupted> {
        match &self.parts.rules.producers {
            Some(producers) => {
                producers.fence(at, claim).await.map_err(|error| Interrupted::Failed(error.into()))
            }
            None => Ok(()),
        }
    }

    /// The partition would go on at `next`.
    async fn fence_by_handler(&self, context: &PartitionContext, next: Offset) -> Result<(), Interrupted> {
        let fenced = guarded(self.parts.handler.fence(context)).await;
        fenced.map_err(|error| self.not_begun(Hook::Fence, (context.partition(), next), &error))
    }
}
