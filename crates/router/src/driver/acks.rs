//! Acknowledgements: sent in batches, repeated until a definite answer came.

use std::time::Duration;

use kafka_assigner_proto::MAX_ACKS;
use kafka_assigner_proto::v1::{AckOutcome, AckResult, RouteAck};
use kafka_assigner_session::{Dice, RetryDelay};
use kafka_assigner_types::id::{HandoffId, TopicPartition};
use kafka_assigner_types::moment::Moment;
use tonic::Status;
use tracing::{debug, warn};

use crate::drains::Drains;

/// A switch waits for each acknowledgement, so a lost one is repeated soon.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// The drains, and the acknowledgements of those that ended.
#[derive(Debug)]
pub(super) struct DrainAcks {
    pub(super) drains: Drains,
    under_way: bool,
    retry: RetryDelay,
}

/// The answer to the acknowledgements of one call.
pub(super) struct RouteAckReply {
    pub(super) sent: Vec<(TopicPartition, HandoffId)>,
    pub(super) result: Result<Vec<AckResult>, Status>,
}

/// The call had no answer at all: the instance may be gone.
#[derive(Debug)]
pub(super) struct RouteAckFailed;

impl DrainAcks {
    pub(super) fn new() -> Self {
        Self {
            drains: Drains::default(),
            under_way: false,
            retry: RetryDelay::new(FIRST_RETRY, LONGEST_RETRY),
        }
    }

    pub(super) fn next_wake(&self) -> Option<Moment> {
        self.drains.next_wake().filter(|_| !self.under_way)
    }

    /// The acknowledgements of the next call; none while one is under way. Those that become due meanwhile go together
    /// in the next one.
    pub(super) fn take_due(&mut self, now: Moment) -> Vec<(TopicPartition, HandoffId)> {
        if self.under_way {
            return Vec::new();
        }
        let due = self.drains.take_due(now, MAX_ACKS);
        self.under_way = !due.is_empty();
        due
    }

    /// Takes the answer to a call in; returns the number of acknowledgements that took effect.
    pub(super) fn answered(
        &mut self,
        now: Moment,
        reply: RouteAckReply,
        dice: &mut Dice,
    ) -> Result<u64, RouteAckFailed> {
        let RouteAckReply { sent, result } = reply;
        self.under_way = false;
        let retry = now + self.retry.next(dice);
        match result {
            Ok(results) if results.len() == sent.len() => {
                self.retry.reset();
                let outcomes = results.iter().map(AckResult::outcome);
                Ok(sent
                    .iter()
                    .zip(outcomes)
                    .map(|(item, outcome)| self.settle(now, item, outcome, retry))
                    .sum())
            }
            Ok(results) => {
                warn!(sent = sent.len(), answered = results.len(), "acknowledgements half answered");
                self.repeat(now, &sent, retry);
                Ok(0)
            }
            Err(status) => {
                debug!(code = ?status.code(), message = status.message(), "acknowledging failed");
                self.repeat(now, &sent, retry);
                Err(RouteAckFailed)
            }
        }
    }

    fn settle(
        &mut self,
        now: Moment,
        (at, handoff): &(TopicPartition, HandoffId),
        outcome: AckOutcome,
        retry: Moment,
    ) -> u64 {
        debug!(partition = %at, %handoff, ?outcome, "acknowledged");
        self.drains.answered(now, (at, handoff), Some(outcome), retry);
        u64::from(outcome == AckOutcome::Applied)
    }

    fn repeat(&mut self, now: Moment, sent: &[(TopicPartition, HandoffId)], retry: Moment) {
        for (at, handoff) in sent {
            self.drains.answered(now, (at, handoff), None, retry);
        }
    }
}

/// An acknowledgement as it is sent.
pub(super) fn to_wire((at, handoff): &(TopicPartition, HandoffId)) -> RouteAck {
    RouteAck { topic: at.topic.to_string(), partition: at.kafka_number(), handoff_id: handoff.to_string() }
}
