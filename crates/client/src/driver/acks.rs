//! Acknowledgements: sent in batches, repeated until a definite answer came.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_proto::MAX_ACKS;
use kafka_assigner_proto::v1::{AckOutcome, AckResult, Caller, DrainedPartition, PartitionAck, WarmFailure};
use tonic::Status;
use tracing::{debug, warn};

use super::Driver;
use super::service::Reply;
use crate::backoff::{Dice, RetryDelay};
use crate::handler::PartitionHandler;
use crate::roles::{AckKind, RoleAck, RoleEvent};
use crate::session::Event;
use crate::session_io::bounded;
use crate::transport::{Acks, Transport};
use kafka_assigner_types::id::{HandoffId, Offset, TopicPartition};
use kafka_assigner_types::moment::Moment;

/// An acknowledgement lies on the path of a switch, so a lost one is repeated soon.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// Long against a store transaction, short against a phase's 30 s.
const ACK_BOUND: Duration = Duration::from_secs(5);

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

/// Acknowledgements that the service can't decide just now. They wait by themselves, and keeps nothing else waiting.
#[derive(Debug)]
struct Undecided {
    /// Their kinds, partitions and handoffs.
    items: BTreeSet<(AckKind, TopicPartition, HandoffId)>,
    until: Option<Moment>,
    retry: RetryDelay,
}

/// One call that ended.
pub(super) struct AckReply {
    kind: AckKind,
    sent: Vec<(TopicPartition, RoleAck)>,
    result: Result<Vec<AckResult>, Status>,
}

impl PendingAcks {
    pub(super) fn new(dice: Dice) -> Self {
        let retry = RetryDelay::new(FIRST_RETRY, LONGEST_RETRY);
        let undecided = Undecided { items: BTreeSet::new(), until: None, retry: retry.clone() };
        Self { under_way: BTreeSet::new(), retry_at: None, retry, undecided, dice }
    }

    pub(super) fn next_wake(&self) -> Option<Moment> {
        self.retry_at.into_iter().chain(self.undecided.until).min()
    }

    fn may_send(&mut self, now: Moment) -> bool {
        if self.undecided.until.take_if(|at| *at <= now).is_some() {
            self.undecided.items.clear();
        }
        self.retry_at.take_if(|at| *at <= now);
        self.retry_at.is_none()
    }

    fn waits(&self, partition: &TopicPartition, ack: &RoleAck) -> bool {
        let is_it = |(kind, at, id): &(AckKind, TopicPartition, HandoffId)| {
            *kind == ack.kind && at == partition && *id == ack.handoff
        };
        self.undecided.items.iter().any(is_it)
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
}

impl<T: Transport, H: PartitionHandler> Driver<T, H> {
    pub(super) fn send_acks(&mut self) {
        if !self.acks.may_send(self.consumer.clock.now()) {
            return;
        }
        let Some(incarnation) = self.session.incarnation().map(str::to_owned) else { return };
        for kind in AckKind::ALL {
            let due = self.roles.due_acks().filter(|(_, ack)| ack.kind == kind);
            let due = due.filter(|(at, ack)| !self.acks.waits(at, ack) && !self.is_early(at, ack));
            let due: Vec<_> = due.take(MAX_ACKS).map(|(at, ack)| (at.clone(), ack)).collect();
            if !due.is_empty() && self.acks.under_way.insert(kind) {
                self.send(kind, due, self.caller(incarnation.clone()));
            }
        }
    }

    /// True if it would prove the end of work that may still have effects: a request outlives the loss of its
    /// partition. If one never ends, the service cancels, or the session's own end is the proof.
    fn is_early(&self, partition: &TopicPartition, ack: &RoleAck) -> bool {
        ack.kind == AckKind::Drained && self.is_occupied(partition)
    }

    fn send(&mut self, kind: AckKind, sent: Vec<(TopicPartition, RoleAck)>, caller: Caller) {
        let transport = self.consumer.transport.clone();
        let endpoint = self.session.endpoint().to_owned();
        let acks = self.acks_of(kind, &sent);
        self.replies.spawn(async move {
            let result = bounded(ACK_BOUND, transport.acknowledge(&endpoint, caller, acks)).await;
            Reply::Acks(AckReply { kind, sent, result })
        });
    }

    fn acks_of(&self, kind: AckKind, sent: &[(TopicPartition, RoleAck)]) -> Acks {
        let done = || sent.iter().map(|(partition, ack)| self.done(partition, ack)).collect();
        match kind {
            AckKind::Ready => Acks::Ready(done()),
            AckKind::WarmFailed => Acks::WarmFailed(sent.iter().map(failure).collect()),
            AckKind::Drained => {
                Acks::Drained(sent.iter().map(|(partition, ack)| self.drained(partition, ack)).collect())
            }
            AckKind::CaughtUp => Acks::CaughtUp(done()),
            AckKind::Taken => Acks::Taken(done()),
            AckKind::Released => Acks::Released(done()),
        }
    }

    fn done(&self, partition: &TopicPartition, ack: &RoleAck) -> PartitionAck {
        let edges = self.held.get(partition).and_then(|held| held.edges.as_ref());
        let handled = match ack.kind {
            AckKind::Taken => edges.and_then(|edges| edges.first()),
            AckKind::Drained | AckKind::Released => edges.and_then(|edges| edges.last()),
            AckKind::Ready | AckKind::CaughtUp | AckKind::WarmFailed => None,
        };
        let (topic, partition) = (partition.topic.to_string(), partition.kafka_number());
        PartitionAck { topic, partition, handoff_id: ack.handoff.to_string(), handled }
    }

    fn drained(&self, partition: &TopicPartition, ack: &RoleAck) -> DrainedPartition {
        let PartitionAck { topic, partition, handoff_id, handled } = self.done(partition, ack);
        DrainedPartition {
            topic,
            partition,
            handoff_id,
            next_offset: ack.next_offset.map(Offset::get),
            handled,
        }
    }

    pub(super) fn acks_answered(&mut self, reply: AckReply) {
        self.acks.under_way.remove(&reply.kind);
        match reply.result {
            Ok(results) if results.len() == reply.sent.len() => {
                self.answered(reply.kind, reply.sent, results);
            }
            Ok(results) => self.repeat_acks(&Status::unknown(format!("{} results", results.len()))),
            Err(status) => self.repeat_acks(&status),
        }
    }

    fn answered(&mut self, kind: AckKind, sent: Vec<(TopicPartition, RoleAck)>, results: Vec<AckResult>) {
        self.acks.retry.reset();
        let mut undecided = BTreeSet::new();
        for ((partition, ack), result) in sent.into_iter().zip(results) {
            let (outcome, handoff) = (result.outcome(), ack.handoff);
            if outcome == AckOutcome::Undecided {
                debug!(%partition, ?kind, %handoff, message = result.message, "acknowledgement undecided");
                undecided.insert((kind, partition, handoff));
                continue;
            }
            if outcome == AckOutcome::Refused {
                warn!(%partition, ?kind, %handoff, message = result.message, "acknowledgement refused");
            }
            self.role_event(RoleEvent::Acked { partition, kind, handoff });
        }
        let now = self.now();
        self.acks.put_off(undecided, now);
    }

    fn repeat_acks(&mut self, status: &Status) {
        debug!(code = ?status.code(), message = status.message(), "acknowledgement failed");
        let wait = self.acks.retry.next(&mut self.acks.dice);
        self.acks.retry_at = Some(self.now() + wait);
        self.session_event(Event::CallFailed);
    }
}

fn failure((partition, ack): &(TopicPartition, RoleAck)) -> WarmFailure {
    WarmFailure {
        topic: partition.topic.to_string(),
        partition: partition.kafka_number(),
        handoff_id: ack.handoff.to_string(),
        message: ack.message.clone(),
    }
}
