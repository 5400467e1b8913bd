//! The partitions that handlers hold something of: their gates, and the contexts that the handlers were given.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kafka_assigner_proto::v1::WarmProgress;
use kafka_assigner_session::Clock;
use kafka_assigner_types::id::{Epoch, HandoffId, Offset, TopicPartition};
use kafka_assigner_types::moment::{Moment, millis};
use kafka_assigner_types::topic_id::TopicId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::warm_up_estimate::WarmUpEstimate;
use crate::claim::Claim;
use crate::context::{Alarm, Edges, OwnedContext, ReservedContext, WarmContext, WarmUpProgress};
use crate::gate::Gate;
use crate::record_gate::RecordGate;
use crate::roles::{Call, CallResult, Provenance};
use crate::skipped_offset::SkippedOffset;

/// The partitions that are held.
#[derive(Debug)]
pub(super) struct HeldPartitions {
    partitions: BTreeMap<TopicPartition, PartitionContexts>,
    group: Arc<str>,
    clock: Clock,
    /// Notified when a handler has raised its alarm, or a gate is empty, of requests or of records.
    alarms: Arc<Notify>,
}

/// The gate of one partition, and the contexts of its handler.
#[derive(Debug)]
struct PartitionContexts {
    /// One for all grants: whoever gives the partition up answers for the requests of every earlier one.
    gate: Arc<Gate>,
    /// The records of every grant, and whether more may be begun.
    records: Arc<RecordGate>,
    /// The id of the topic for which its calls are made; `None` = not known.
    topic_id: Option<TopicId>,
    /// The record that is passed over, for all grants.
    skipped: SkippedOffset,
    /// The number of calls that have failed in a row before the last one.
    failures: u32,
    /// True if an offset is known to have been committed before the grant.
    was_committed: bool,
    /// The running preparation's.
    warm: Option<WarmContext>,
    estimate: WarmUpEstimate,
    reserved: Option<ReservedContext>,
    owned: Option<OwnedContext>,
    /// Outlives `owned`, since the last acknowledgement comes after everything was dropped.
    edges: Option<Arc<Edges>>,
    /// Of the running call.
    cancelled: CancellationToken,
    /// Of the running drain: ends its wait at the gate.
    recalled: CancellationToken,
}

impl HeldPartitions {
    pub(super) fn new(group: Arc<str>, clock: Clock) -> Self {
        Self { partitions: BTreeMap::new(), group, clock, alarms: Arc::default() }
    }

    /// Notified when [`take_spoiled`](Self::take_spoiled) or [`has_requests`](Self::has_requests) may have changed.
    pub(super) fn alarms(&self) -> Arc<Notify> {
        self.alarms.clone()
    }

    /// The contexts of `partition` that follow are for a topic with this id.
    pub(super) fn name_topic(&mut self, partition: &TopicPartition, topic_id: Option<TopicId>) {
        self.contexts(partition).topic_id = topic_id;
    }

    /// The record at `offset` is to be passed over from now on.
    pub(super) fn skip(&mut self, partition: &TopicPartition, offset: Option<Offset>) {
        self.contexts(partition).skipped.set(offset);
    }

    /// The contexts of `partition` that follow are for a call before which so many have failed in a row.
    pub(super) fn count_failures(&mut self, partition: &TopicPartition, failures: u32) {
        self.contexts(partition).failures = failures;
    }

    /// The contexts of `partition` that follow are of a grant before which an offset is known to have been committed, or is not.
    pub(super) fn note_commit(&mut self, partition: &TopicPartition, was_committed: bool) {
        self.contexts(partition).was_committed = was_committed;
    }

    /// The context of a preparation.
    pub(super) fn warm(
        &mut self,
        partition: &TopicPartition,
        provenance: &Provenance,
        current_owner: Option<String>,
        start_offset: Option<Offset>,
    ) -> WarmContext {
        let (group, held) = (self.group.clone(), self.begin(partition));
        let context = WarmContext {
            group,
            partition: partition.clone(),
            handoff: handoff_of(provenance),
            current_owner,
            start_offset,
            failures: held.failures,
            topic_id: held.topic_id,
            progress: Arc::new(WarmUpProgress::default()),
            cancelled: held.cancelled.clone(),
        };
        held.warm = Some(context.clone());
        held.estimate = WarmUpEstimate::default();
        // The records of an earlier life of the partition are of no interest any more.
        held.edges = None;
        context
    }

    /// The context of the last step before the partition is owned.
    pub(super) fn reserve(
        &mut self,
        partition: &TopicPartition,
        claim: Claim,
        until_offset: Option<Offset>,
    ) -> ReservedContext {
        let (group, held) = (self.group.clone(), self.begin(partition));
        let (partition, topic_id, cancelled) = (partition.clone(), held.topic_id, held.cancelled.clone());
        let context = ReservedContext { group, partition, claim, until_offset, topic_id, cancelled };
        held.reserved = Some(context.clone());
        context
    }

    /// The context of a grant; the gates open.
    pub(super) fn grant(
        &mut self,
        partition: &TopicPartition,
        claim: Claim,
        start_offset: Option<Offset>,
        resumed: bool,
    ) -> OwnedContext {
        let (group, edges) = (self.group.clone(), Arc::new(Edges::new(self.clock.clone())));
        let alarm = Alarm::new(self.alarms.clone());
        let held = self.begin(partition);
        held.edges = Some(edges.clone());
        held.gate.open();
        let context = OwnedContext {
            group,
            partition: partition.clone(),
            claim,
            start_offset,
            was_committed: held.was_committed,
            topic_id: held.topic_id,
            resumed,
            skipped: held.skipped.clone(),
            gate: held.gate.clone(),
            records: held.records.clone(),
            edges,
            alarm,
            cancelled: held.cancelled.clone(),
        };
        held.end_claims();
        // Not before: nobody who waited under an earlier grant begins a record under this one.
        held.records.open();
        held.owned = Some(context.clone());
        context
    }

    /// The context of a drain, and the token that ends its wait at the gate, which closes.
    pub(super) fn drain(&mut self, partition: &TopicPartition) -> (OwnedContext, CancellationToken) {
        let (held, recalled) = (self.begin(partition), CancellationToken::new());
        held.recalled = recalled.clone();
        let context = held.owned_context();
        context.gate.close();
        (context, recalled)
    }

    /// The context of a release, which is no more than the token of its call.
    pub(super) fn release(&mut self, partition: &TopicPartition) {
        self.begin(partition);
    }

    /// The context of a loss; the claim ends and the gate closes.
    pub(super) fn lose(&mut self, partition: &TopicPartition) -> OwnedContext {
        let context = self.begin(partition).owned_context();
        context.claim.end();
        context.gate.close();
        context
    }

    /// The contexts of a partition for which a call begins, with a token of its own.
    fn begin(&mut self, partition: &TopicPartition) -> &mut PartitionContexts {
        let held = self.contexts(partition);
        held.cancelled = CancellationToken::new();
        held
    }

    fn contexts(&mut self, partition: &TopicPartition) -> &mut PartitionContexts {
        let (alarms, clock) = (&self.alarms, &self.clock);
        let held = self.partitions.entry(partition.clone());
        held.or_insert_with(|| {
            PartitionContexts::new(Gate::new(alarms.clone()).into(), records(clock, alarms))
        })
    }

    /// No record is begun until those in the works have ended, and where they take long, none before
    /// [`end_rest`](Self::end_rest).
    pub(super) fn rest(&mut self, partition: &TopicPartition) {
        self.contexts(partition).records.rest();
    }

    /// Records are begun as always.
    pub(super) fn end_rest(&self, partition: &TopicPartition) {
        if let Some(held) = self.partitions.get(partition) {
            held.records.end_rest();
        }
    }

    /// True if no record was in the works at some time since the partition was to rest.
    pub(super) fn has_rested(&self, partition: &TopicPartition) -> bool {
        self.partitions.get(partition).is_none_or(|held| held.records.has_rested())
    }

    /// Takes in the end of a call.
    pub(super) fn ended(&mut self, partition: &TopicPartition, call: &Call, result: &CallResult) {
        if let Some(held) = self.partitions.get_mut(partition) {
            held.ended(call, result);
        }
    }

    pub(super) fn cancel(&self, partition: &TopicPartition) {
        let Some(held) = self.partitions.get(partition) else { return };
        held.cancelled.cancel();
        held.end_claims();
    }

    /// Ends every claim: whoever waits for the right to act need not wait any longer.
    pub(super) fn end_claims(&self) {
        self.partitions.values().for_each(PartitionContexts::end_claims);
    }

    /// Ends the claims of `partition` under grants up to `epoch`.
    pub(super) fn end_claims_up_to(&self, partition: &TopicPartition, epoch: Epoch) {
        let Some(held) = self.partitions.get(partition) else { return };
        held.claims().filter(|claim| claim.epoch() <= epoch).for_each(Claim::end);
    }

    /// A drain that has not begun need not; its claim stays valid.
    pub(super) fn recall(&self, partition: &TopicPartition) {
        if let Some(held) = self.partitions.get(partition) {
            held.recalled.cancel();
        }
    }

    pub(super) fn raise_epoch(&self, partition: &TopicPartition, epoch: Epoch, strict: bool) {
        if let Some(owned) = self.partitions.get(partition).and_then(|held| held.owned.as_ref()) {
            owned.claim.go_on(epoch, strict);
            owned.gate.open();
            owned.records.open();
        }
    }

    /// Forgets all but the gate, if anything is still in flight: a drain of a later grant waits for it as well.
    pub(super) fn forget(&mut self, partition: TopicPartition) {
        let Some(PartitionContexts { gate, .. }) = self.partitions.remove(&partition) else { return };
        if gate.is_occupied() {
            let records = records(&self.clock, &self.alarms);
            self.partitions.insert(partition, PartitionContexts::new(gate, records));
        }
    }

    /// True if a request that was admitted for `partition` may still act.
    pub(super) fn is_occupied(&self, partition: &TopicPartition) -> bool {
        self.partitions.get(partition).is_some_and(|held| held.gate.is_occupied())
    }

    /// True if a request that was admitted for any partition may still act.
    pub(super) fn has_requests(&self) -> bool {
        self.partitions.values().any(|held| held.gate.is_occupied())
    }

    /// The partitions that their handlers called spoiled since this was asked last.
    pub(super) fn take_spoiled(&self) -> Vec<TopicPartition> {
        let is_spoiled =
            |held: &PartitionContexts| held.owned.as_ref().is_some_and(|owned| owned.alarm.take());
        self.partitions.iter().filter(|(_, held)| is_spoiled(held)).map(|(at, _)| at.clone()).collect()
    }

    /// The first and the last record that were handled under the last grant; `None` = there was none.
    pub(super) fn edges(&self, partition: &TopicPartition) -> Option<&Edges> {
        self.partitions.get(partition).and_then(|held| held.edges.as_deref())
    }

    /// True if a preparation for a handoff is running.
    pub(super) fn is_warming(&self) -> bool {
        let mut contexts = self.partitions.values().filter_map(|held| held.warm.as_ref());
        contexts.any(|context| context.handoff.is_some())
    }

    /// The progress of the running preparation of `partition`, as its handler reported it: what is done, and the whole where it
    /// is known. Nothing where none runs.
    pub(super) fn preparation(&self, partition: &TopicPartition) -> (u64, Option<u64>) {
        let context = self.partitions.get(partition).and_then(|held| held.warm.as_ref());
        context.map(amounts).unwrap_or_default()
    }

    /// The part that is done of each running preparation, as its handler reported it.
    pub(super) fn done(&self) -> BTreeMap<TopicPartition, u64> {
        let running = self.partitions.iter().filter_map(|(at, held)| Some((at, held.warm.as_ref()?)));
        running.map(|(at, context)| (at.clone(), amounts(context).0)).collect()
    }

    /// The progress of the running preparations for handoffs, as their handlers reported it.
    pub(super) fn warming(&self) -> Vec<WarmProgress> {
        self.partitions.values().filter_map(PartitionContexts::progress).collect()
    }

    /// Sees how far the running preparations are, for what is said of the time that is left.
    pub(super) fn see_progress(&mut self, now: Moment) {
        for held in self.partitions.values_mut() {
            let Some((done, _)) = held.warm.as_ref().map(amounts) else { continue };
            held.estimate.see(now, done);
        }
    }
}

/// The part that is done, and the whole where it is known.
fn amounts(context: &WarmContext) -> (u64, Option<u64>) {
    let total = context.progress.total.load(Ordering::Relaxed);
    (context.progress.done.load(Ordering::Relaxed), (total > 0).then_some(total))
}

impl PartitionContexts {
    /// The progress of the running preparation for a handoff.
    fn progress(&self) -> Option<WarmProgress> {
        let context = self.warm.as_ref()?;
        let (done, total) = amounts(context);
        Some(WarmProgress {
            topic: context.partition.topic.to_string(),
            partition: context.partition.kafka_number(),
            handoff_id: context.handoff.as_ref()?.to_string(),
            done,
            total,
            left_ms: self.estimate.left(done, total).map(millis),
        })
    }

    fn new(gate: Arc<Gate>, records: Arc<RecordGate>) -> Self {
        Self {
            gate,
            records,
            topic_id: None,
            skipped: SkippedOffset::default(),
            failures: 0,
            was_committed: false,
            warm: None,
            estimate: WarmUpEstimate::default(),
            reserved: None,
            owned: None,
            edges: None,
            cancelled: CancellationToken::new(),
            recalled: CancellationToken::new(),
        }
    }

    fn owned_context(&self) -> OwnedContext {
        let owned = self.owned.clone().expect("a partition is drained or lost only after it was assigned");
        OwnedContext { cancelled: self.cancelled.clone(), ..owned }
    }

    /// Nothing may act under the grants that there were; another one brings a claim of its own.
    fn end_claims(&self) {
        self.claims().for_each(Claim::end);
    }

    fn claims(&self) -> impl Iterator<Item = &Claim> {
        let reserved = self.reserved.as_ref().map(|reserved| &reserved.claim);
        let owned = self.owned.as_ref().map(|owned| &owned.claim);
        reserved.into_iter().chain(owned)
    }

    fn ended(&mut self, call: &Call, result: &CallResult) {
        match (call, result) {
            (Call::Warm { .. }, _) => self.warm = None,
            (Call::Drain, Ok(next)) => self.drained(*next),
            (Call::CatchUp { .. } | Call::Assigned { .. }, Err(_)) => self.end_claims(),
            (Call::Release | Call::Lost, Ok(_)) => {
                self.end_claims();
                (self.reserved, self.owned) = (None, None);
            }
            // It is processed here until another drain succeeds.
            (Call::Drain, Err(_)) => self.records.open(),
            (Call::CatchUp { .. } | Call::Assigned { .. }, Ok(_)) | (Call::Release | Call::Lost, Err(_)) => {}
        }
    }

    fn drained(&self, next: Option<Offset>) {
        self.end_claims();
        if let (Some(edges), Some(next)) = (&self.edges, next) {
            edges.drained(next);
        }
    }
}

fn records(clock: &Clock, alarms: &Arc<Notify>) -> Arc<RecordGate> {
    Arc::new(RecordGate::new(clock.clone(), alarms.clone()))
}

fn handoff_of(provenance: &Provenance) -> Option<HandoffId> {
    match provenance {
        Provenance::Handoff(id) => Some(id.clone()),
        Provenance::Run(_) => None,
    }
}
