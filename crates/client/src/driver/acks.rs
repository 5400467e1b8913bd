//! Acknowledgements: sent in batches, repeated until a definite answer came.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_proto::MAX_ACKS;
use kafka_assigner_proto::v1::{AckOutcome, AckResult, DrainedPartition, PartitionAck, WarmFailure};
use kafka_assigner_session::{Acks, Dice, RetryDelay, causes::of_status};
use tonic::Status;
use tracing::{debug, warn};

use super::contexts::HeldPartitions;
use crate::context::Edges;
use crate::roles::{AckKind, RoleAck, RoleEvent, Roles};
use kafka_assigner_types::id::{HandoffId, Offset, TopicPartition};
use kafka_assigner_types::moment::Moment;

/// An acknowledgement lies on the path of a switch, so a lost one is repeated soon.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// The acknowledgements under way. One call of each kind at a time: what comes up meanwhile goes together
/// with the next one.
#[derive(Debug)]
pub(super) struct PendingAcks {
    under_way: BTreeSet<AckKind>,
    retry_at: Option<Moment>,
    retry: RetryDelay,
    undecided: Undecided,
    dice: Dice,
}

/// Acknowledgements that the service can't decide just now. They wait by themselves, and keep nothing else waiting.
#[derive(Debug)]
struct Undecided {
    /// Their kinds, partitions and handoffs.
    items: BTreeSet<(AckKind, TopicPartition, HandoffId)>,
    until: Option<Moment>,
    retry: RetryDelay,
}

/// The acknowledgements of one call, all of one kind.
#[derive(Debug)]
pub(super) struct AckBatch {
    kind: AckKind,
    items: Vec<(TopicPartition, RoleAck)>,
}

/// The answer to a batch.
#[derive(Debug)]
pub(super) struct AckReply {
    pub(super) batch: AckBatch,
    pub(super) result: Result<Vec<AckResult>, Status>,
}

/// The call had no answer that counts: all of its acknowledgements are repeated.
#[derive(Debug)]
pub(super) struct AckCallFailed;

impl PendingAcks {
    pub(super) fn new(dice: Dice) -> Self {
        let retry = RetryDelay::new(FIRST_RETRY, LONGEST_RETRY);
        let undecided = Undecided { items: BTreeSet::new(), until: None, retry: retry.clone() };
        Self { under_way: BTreeSet::new(), retry_at: None, retry, undecided, dice }
    }

    pub(super) fn next_wake(&self) -> Option<Moment> {
        self.retry_at.into_iter().chain(self.undecided.until).min()
    }

    /// True if no call has to wait. Ends the waits that are over by `now`.
    pub(super) fn may_send(&mut self, now: Moment) -> bool {
        if self.undecided.until.take_if(|at| *at <= now).is_some() {
            self.undecided.items.clear();
        }
        self.retry_at.take_if(|at| *at <= now);
        self.retry_at.is_none()
    }

    /// The batches to send now, each of a kind of which none is under way.
    pub(super) fn take_due(&mut self, roles: &Roles, held: &HeldPartitions) -> Vec<AckBatch> {
        AckKind::ALL.into_iter().filter_map(|kind| self.take_batch(kind, roles, held)).collect()
    }

    fn take_batch(&mut self, kind: AckKind, roles: &Roles, held: &HeldPartitions) -> Option<AckBatch> {
        if self.under_way.contains(&kind) {
            return None;
        }
        let due = roles.due_acks().filter(|(_, ack)| ack.kind == kind);
        let due = due.filter(|(at, ack)| !self.waits(at, ack) && !is_early(held, at, ack));
        let items: Vec<_> = due.take(MAX_ACKS).map(|(at, ack)| (at.clone(), ack)).collect();
        (!items.is_empty() && self.under_way.insert(kind)).then_some(AckBatch { kind, items })
    }

    fn waits(&self, partition: &TopicPartition, ack: &RoleAck) -> bool {
        let is_it = |(kind, at, id): &(AckKind, TopicPartition, HandoffId)| {
            *kind == ack.kind && at == partition && *id == ack.handoff
        };
        self.undecided.items.iter().any(is_it)
    }

    /// Takes the answer to a batch in; returns the definite ones of its results.
    pub(super) fn answered(&mut self, now: Moment, reply: AckReply) -> Result<Vec<RoleEvent>, AckCallFailed> {
        let AckReply { batch, result } = reply;
        self.under_way.remove(&batch.kind);
        match result {
            Ok(results) if results.len() == batch.items.len() => Ok(self.sort(now, batch, results)),
            Ok(results) => Err(self.repeat(now, &Status::unknown(format!("{} results", results.len())))),
            Err(status) => Err(self.repeat(now, &status)),
        }
    }

    fn sort(&mut self, now: Moment, batch: AckBatch, results: Vec<AckResult>) -> Vec<RoleEvent> {
        self.retry.reset();
        let (kind, mut definite, mut undecided) = (batch.kind, Vec::new(), BTreeSet::new());
        for ((partition, ack), result) in batch.items.into_iter().zip(results) {
            let (outcome, handoff) = (result.outcome(), ack.handoff);
            if outcome == AckOutcome::Undecided {
                debug!(%partition, ?kind, %handoff, message = result.message, "acknowledgement undecided");
                undecided.insert((kind, partition, handoff));
                continue;
            }
            if outcome == AckOutcome::Refused {
                warn!(%partition, ?kind, %handoff, message = result.message, "acknowledgement refused");
            }
            definite.push(RoleEvent::Acked { partition, kind, handoff });
        }
        self.put_off(undecided, now);
        definite
    }

    /// Lets items wait that the service could not decide.
    fn put_off(&mut self, items: BTreeSet<(AckKind, TopicPartition, HandoffId)>, now: Moment) {
        self.undecided.items.extend(items);
        if self.undecided.items.is_empty() {
            self.undecided.retry.reset();
        } else if self.undecided.until.is_none() {
            self.undecided.until = Some(now + self.undecided.retry.next(&mut self.dice));
        }
    }

    fn repeat(&mut self, now: Moment, status: &Status) -> AckCallFailed {
        debug!(error = of_status(status), "acknowledgement failed");
        self.retry_at = Some(now + self.retry.next(&mut self.dice));
        AckCallFailed
    }
}

/// True if it would prove the end of work that may still have effects: a request outlives the loss of its
/// partition. If one never ends, the service cancels, or the session's own end is the proof. The same with a record that is
/// in the works still.
fn is_early(held: &HeldPartitions, partition: &TopicPartition, ack: &RoleAck) -> bool {
    match ack.kind {
        AckKind::Drained => held.is_occupied(partition),
        AckKind::Rested => !held.has_rested(partition),
        _ => false,
    }
}

impl AckBatch {
    /// The batch as it is sent, with the first and last records that were handled of `held`.
    pub(super) fn to_wire(&self, held: &HeldPartitions) -> Acks {
        let done = || self.items.iter().map(|(partition, ack)| done(held, partition, ack)).collect();
        match self.kind {
            AckKind::Ready => Acks::Ready(done()),
            AckKind::WarmFailed => Acks::WarmFailed(self.items.iter().map(failure).collect()),
            AckKind::Rested => Acks::Rested(done()),
            AckKind::Drained => {
                Acks::Drained(self.items.iter().map(|(at, ack)| drained(held, at, ack)).collect())
            }
            AckKind::CaughtUp => Acks::CaughtUp(done()),
            AckKind::Taken => Acks::Taken(done()),
            AckKind::Released => Acks::Released(done()),
        }
    }
}

fn done(held: &HeldPartitions, partition: &TopicPartition, ack: &RoleAck) -> PartitionAck {
    let edges = held.edges(partition);
    let handled = match ack.kind {
        AckKind::Taken => edges.and_then(Edges::first),
        AckKind::Drained | AckKind::Released => edges.and_then(Edges::last),
        AckKind::Ready | AckKind::Rested | AckKind::CaughtUp | AckKind::WarmFailed => None,
    };
    let (topic, partition) = (partition.topic.to_string(), partition.kafka_number());
    PartitionAck { topic, partition, handoff_id: ack.handoff.to_string(), handled }
}

fn drained(held: &HeldPartitions, partition: &TopicPartition, ack: &RoleAck) -> DrainedPartition {
    let PartitionAck { topic, partition, handoff_id, handled } = done(held, partition, ack);
    DrainedPartition { topic, partition, handoff_id, next_offset: ack.next_offset.map(Offset::get), handled }
}

fn failure((partition, ack): &(TopicPartition, RoleAck)) -> WarmFailure {
    WarmFailure {
        topic: partition.topic.to_string(),
        partition: partition.kafka_number(),
        handoff_id: ack.handoff.to_string(),
        message: ack.message.clone(),
    }
}
