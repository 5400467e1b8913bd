//! The contexts that a handler is given with each call.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kafka_assigner_proto::v1::HandledRecord;
use kafka_assigner_session::Clock;
use kafka_assigner_types::id::{Epoch, HandoffId, Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::claim::{Claim, ClaimEnded};
use crate::committed_offset::CommittedOffset;
use crate::gate::{Gate, Permit, Refusal};
use crate::record_gate::{RecordGate, RecordPermit};
use crate::skipped_offset::SkippedOffset;

/// The context of a preparation.
#[derive(Debug, Clone)]
pub struct WarmContext {
    pub(crate) group: Arc<str>,
    pub(crate) partition: TopicPartition,
    pub(crate) handoff: Option<HandoffId>,
    pub(crate) current_owner: Option<String>,
    pub(crate) start_offset: Option<Offset>,
    /// The number of preparations for the same role that have failed in a row before.
    pub(crate) failures: u32,
    pub(crate) topic_id: Option<TopicId>,
    pub(crate) progress: Arc<WarmUpProgress>,
    pub(crate) cancelled: CancellationToken,
}

impl WarmContext {
    /// The group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The partition to prepare for.
    #[must_use]
    pub const fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// The consumer that processes it meanwhile; `None` = nobody, so that every second counts.
    #[must_use]
    pub fn current_owner(&self) -> Option<&str> {
        self.current_owner.as_deref()
    }

    /// The offset at which this member will start, where it is granted the partition already and was told one; `None` =
    /// it is not known yet, or the group's committed offset.
    #[must_use]
    pub const fn start_offset(&self) -> Option<Offset> {
        self.start_offset
    }

    /// Kafka's id of the topic, by which a state that was kept for a topic that was deleted and created again since is told
    /// apart; `None` = not known: brokers before 2.8 tell none.
    #[must_use]
    pub const fn topic_id(&self) -> Option<TopicId> {
        self.topic_id
    }

    /// The number of preparations for the same role that have failed in a row before this one.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Reports how much is done and how much there is to do, in any unit that rises; `None` = unknown. Cheap: the
    /// next heartbeat carries the last report.
    pub fn report(&self, done: u64, total: Option<u64>) {
        self.progress.done.store(done, Ordering::Relaxed);
        // 0 stands for unknown: a preparation with nothing to do is done before anybody asks.
        self.progress.total.store(total.unwrap_or_default(), Ordering::Relaxed);
    }

    /// Ends when the preparation is not wanted any more: stop and return anything.
    ///
    /// Cancel safe.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }
}

/// The progress of a preparation.
#[derive(Debug, Default)]
pub(crate) struct WarmUpProgress {
    pub(crate) done: AtomicU64,
    pub(crate) total: AtomicU64,
}

/// The context of a partition that is about to be owned.
///
/// Nobody acts for the partition just now: the old owner has stopped, and this member begins when it has caught up.
#[derive(Debug, Clone)]
pub struct ReservedContext {
    pub(crate) group: Arc<str>,
    pub(crate) partition: TopicPartition,
    pub(crate) claim: Claim,
    pub(crate) until_offset: Option<Offset>,
    pub(crate) topic_id: Option<TopicId>,
    pub(crate) cancelled: CancellationToken,
}

impl ReservedContext {
    /// The group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The partition.
    #[must_use]
    pub const fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// The epoch that is reserved: take every fence with it, and only then read. The grant that follows has it, unless
    /// the handoff is cancelled.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.claim.epoch()
    }

    /// Not yet the right to act, only that of the session: ask it before a fence is taken, and again afterwards, before
    /// anything is written under it. A fence that is taken too late shuts out the rightful owner.
    #[must_use]
    pub const fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Kafka's id of the topic; `None` = not known.
    #[must_use]
    pub const fn topic_id(&self) -> Option<TopicId> {
        self.topic_id
    }

    /// The offset at which the old owner stopped, and this member starts; `None` = it did not say, and the group's
    /// committed offset counts.
    #[must_use]
    pub const fn until_offset(&self) -> Option<Offset> {
        self.until_offset
    }

    /// Ends when the result is not wanted any more: stop and return anything.
    ///
    /// Cancel safe.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }
}

/// The context of an owned partition; cheap to clone, and to be kept for as long as it is owned.
#[derive(Debug, Clone)]
pub struct OwnedContext {
    pub(crate) group: Arc<str>,
    pub(crate) partition: TopicPartition,
    pub(crate) claim: Claim,
    pub(crate) start_offset: Option<Offset>,
    pub(crate) was_committed: bool,
    pub(crate) topic_id: Option<TopicId>,
    pub(crate) resumed: bool,
    pub(crate) skipped: SkippedOffset,
    pub(crate) gate: Arc<Gate>,
    pub(crate) records: Arc<RecordGate>,
    pub(crate) edges: Arc<Edges>,
    pub(crate) alarm: Alarm,
    pub(crate) cancelled: CancellationToken,
}

impl OwnedContext {
    /// The group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The partition.
    #[must_use]
    pub const fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// The fencing token to put beside every effect. It rises while the owner goes on under a new grant.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.claim.epoch()
    }

    /// The right to act: ask it before each side effect.
    #[must_use]
    pub const fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Admits a request that was sent to the owner of `epoch`: with a valid claim, for the very epoch that is owned, and
    /// not from the moment on that the partition is drained. A drain waits until every permit is dropped. Takes
    /// constant time.
    ///
    /// # Errors
    ///
    /// [`Refusal`]: nothing was executed, and whoever sent the request keeps it in its order.
    pub fn admit(&self, epoch: Epoch) -> Result<Permit, Refusal> {
        let permit = self.gate.enter();
        let owned = self.epoch();
        if !self.claim.is_valid() {
            return Err(Refusal::NoClaim);
        }
        let permit = permit.ok_or(Refusal::Draining)?;
        if owned == epoch { Ok(permit) } else { Err(Refusal::OtherEpoch { asked: epoch, owned }) }
    }

    /// Waits until a record may be begun; it is in the works until the permit is dropped. Before a move in the mode
    /// `routed` holds requests back, the records in the works are waited for, and where they take long (a second), none
    /// is begun until the move is over. A handler that never asks is taken to have no record in the works: a
    /// record that takes longer than requests may be held back (10 s by default) then keeps its partition from moving.
    ///
    /// It waits for a valid claim as well: one that lapsed while no instance answered may become valid again.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// No record is to be begun under this grant any more: end the loop, and leave the record to the next owner.
    ///
    /// - [`Refusal::Draining`]: [`drain`](crate::PartitionHandler::drain) was called; so it may wait for the loop that asks.
    ///   Where it fails, the partition is still owned, and records may be begun again from its return on.
    /// - [`Refusal::NoClaim`]: the claim has ended. Another grant brings another context.
    pub async fn begin_record(&self) -> Result<RecordPermit, Refusal> {
        tokio::select! {
            biased;
            // The gate may have been opened since, for another grant.
            () = self.claim.ended() => Err(Refusal::NoClaim),
            // Whoever drains waits for whoever waits here.
            () = self.records.closed() => Err(Refusal::Draining),
            // The usual case.
            begun = self.next_record() => begun,
        }
    }

    async fn next_record(&self) -> Result<RecordPermit, Refusal> {
        loop {
            self.records.opened().await;
            self.claim.valid().await.map_err(|ClaimEnded| Refusal::NoClaim)?;
            let Some(permit) = self.records.begin() else { continue };
            // Begun before it looks, as for requests: nothing has come between the last look and the permit.
            if self.records.is_closed() {
                return Err(Refusal::Draining);
            }
            if self.claim.is_valid() {
                return Ok(permit);
            }
        }
    }

    /// The offset to start at; `None` = the group's committed offset, to be read from now on.
    #[must_use]
    pub const fn start_offset(&self) -> Option<Offset> {
        self.start_offset
    }

    /// The offset to start at beside the one that the group has committed; `None` = nothing is committed, and no start was
    /// told. What is committed in a topic with another id does not count; in the topic with this id the start is never below
    /// it, as it could be after the service's store was put back to a backup.
    #[must_use]
    pub fn start_after(&self, committed: Option<CommittedOffset>) -> Option<Offset> {
        CommittedOffset::start(committed, self.start_offset, self.topic_id)
    }

    /// Kafka's id of the topic, to keep beside every offset and every state that is kept outside of this process: under
    /// another id they are of another log. `None` = not known.
    #[must_use]
    pub const fn topic_id(&self) -> Option<TopicId> {
        self.topic_id
    }

    /// True if an owner is known to have committed an offset of this partition before this grant, in this very topic: where
    /// the group has none, it was lost. False = nothing is known.
    #[must_use]
    pub const fn was_committed(&self) -> bool {
        self.was_committed
    }

    /// True = it was told to drain, and goes on where it is, with the state that was kept.
    #[must_use]
    pub const fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// The offset of a record to be passed over: an operator has commanded it after owners stopped before that record. It
    /// may come while the partition is owned, with a higher [`epoch`](Self::epoch). `None` = none is.
    #[must_use]
    pub fn skipped_offset(&self) -> Option<Offset> {
        self.skipped.get()
    }

    /// Tells that the record at `offset` was handled just now. The first and the last one are passed on to the
    /// service, which measures the gap of a move by them; optional, cheap.
    pub fn handled(&self, offset: Offset) {
        self.edges.handled(offset);
    }

    /// Tells that what is held of the partition is of no use any more. The claim ends at once;
    /// [`lost`](crate::PartitionHandler::lost) follows, and then the partition is prepared and assigned again, as
    /// long as it is owned.
    pub fn spoil(&self) {
        self.claim.end();
        self.alarm.raise();
    }

    /// Has the driver look at what its handler tells of itself.
    #[cfg(feature = "kafka")]
    pub(crate) fn wake_driver(&self) {
        self.alarm.wake.notify_one();
    }

    /// Ends when the call is not wanted any more: return as soon as possible.
    ///
    /// Cancel safe.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }
}

/// Tells the driver that a partition is spoiled. Every grant has its own; all wake the same driver.
#[derive(Debug, Clone)]
pub(crate) struct Alarm {
    wake: Arc<Notify>,
    raised: Arc<AtomicBool>,
}

impl Alarm {
    pub(crate) fn new(wake: Arc<Notify>) -> Self {
        Self { wake, raised: Arc::default() }
    }

    fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// True if it was raised since it was asked last.
    pub(crate) fn take(&self) -> bool {
        self.raised.swap(false, Ordering::SeqCst)
    }
}

/// The first and the last record handled under one grant.
#[derive(Debug)]
pub(crate) struct Edges {
    clock: Clock,
    records: Mutex<(Option<HandledRecord>, Option<HandledRecord>)>,
}

impl Edges {
    pub(crate) const fn new(clock: Clock) -> Self {
        Self { clock, records: Mutex::new((None, None)) }
    }

    fn handled(&self, offset: Offset) {
        let record = HandledRecord { offset: offset.get(), time_unix_ms: self.clock.unix_ms() };
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.0.get_or_insert(record);
        records.1 = Some(record);
    }

    pub(crate) fn first(&self) -> Option<HandledRecord> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn last(&self) -> Option<HandledRecord> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// A drain ended before `next`; counts where no record was reported.
    pub(crate) fn drained(&self, next: Offset) {
        if let (None, Some(last)) = (self.last(), next.before()) {
            self.handled(last);
        }
    }
}
