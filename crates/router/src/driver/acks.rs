//! Acknowledgements: sent in batches, repeated until a definite answer came.

use std::time::Duration;

use kafka_assigner_client::session::Event;
use kafka_assigner_client::session_io::bounded;
use kafka_assigner_proto::MAX_ACKS;
use kafka_assigner_proto::v1::{AckOutcome, AckResult, RouteAck, RouteAckRequest};
use kafka_assigner_types::id::{HandoffId, TopicPartition};
use kafka_assigner_types::moment::Moment;
use tonic::Status;
use tracing::{debug, warn};

use super::Driver;
use super::service::RouterReply;
use crate::cutover::Cutover;
use crate::transport::RoutingTransport;

/// Long against a store transaction, short against a phase's 30 s.
const ACK_BOUND: Duration = Duration::from_secs(5);

/// One call that ended.
pub(super) struct RouteAckReply {
    sent: Vec<(TopicPartition, HandoffId)>,
    result: Result<Vec<AckResult>, Status>,
}

impl<C: Cutover, T: RoutingTransport> Driver<C, T> {
    /// One call at a time: acknowledgements that become due meanwhile go together in the next one.
    pub(super) fn send_acks(&mut self) {
        let Some(incarnation) = self.session.incarnation().map(str::to_owned) else { return };
        if self.ack_under_way {
            return;
        }
        let sent = self.drains.take_due(self.now(), MAX_ACKS);
        if sent.is_empty() {
            return;
        }
        self.ack_under_way = true;
        let request = RouteAckRequest {
            caller: Some(self.caller(incarnation)),
            routes: sent.iter().map(|(at, handoff)| item(at, handoff)).collect(),
        };
        let (transport, endpoint) = (self.router.transport.clone(), self.session.endpoint().to_owned());
        self.replies.spawn(async move {
            let result = bounded(ACK_BOUND, transport.ack(&endpoint, request)).await;
            RouterReply::Acks(RouteAckReply { sent, result: result.map(|response| response.results) })
        });
    }

    pub(super) fn acks_answered(&mut self, reply: RouteAckReply) {
        self.ack_under_way = false;
        let retry = self.now() + self.ack_retry.next(&mut self.dice);
        match reply.result {
            Ok(results) if results.len() == reply.sent.len() => {
                self.ack_retry.reset();
                for (item, result) in reply.sent.iter().zip(results) {
                    self.ack_answered(item, &result, retry);
                }
            }
            Ok(results) => {
                warn!(sent = reply.sent.len(), answered = results.len(), "acknowledgements half answered");
                self.repeat(&reply.sent, retry);
            }
            Err(status) => {
                debug!(code = ?status.code(), message = status.message(), "acknowledging failed");
                self.session_event(Event::CallFailed);
                self.repeat(&reply.sent, retry);
            }
        }
    }

    fn ack_answered(
        &mut self,
        (at, handoff): &(TopicPartition, HandoffId),
        result: &AckResult,
        retry: Moment,
    ) {
        let outcome = result.outcome();
        debug!(group = &*self.group, partition = %at, %handoff, ?outcome, "acknowledged");
        if outcome == AckOutcome::Applied {
            self.router.status.send_modify(|status| status.acknowledged += 1);
        }
        self.drains.answered(self.now(), (at, handoff), Some(outcome), retry);
    }

    fn repeat(&mut self, sent: &[(TopicPartition, HandoffId)], retry: Moment) {
        for (at, handoff) in sent {
            self.drains.answered(self.now(), (at, handoff), None, retry);
        }
    }
}

fn item(at: &TopicPartition, handoff: &HandoffId) -> RouteAck {
    RouteAck { topic: at.topic.to_string(), partition: at.kafka_number(), handoff_id: handoff.to_string() }
}
