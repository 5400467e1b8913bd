//! Calls to the service, run beside the loop.

use std::time::Duration;

use kafka_assigner_client::session::{Event, OpenStream, SendHeartbeat};
use kafka_assigner_client::session_io::bounded;
use kafka_assigner_proto::v1::{
    DeregisterMode, DetachRequest, HeartbeatResponse, RouterCaller, RouterHeartbeatRequest,
};
use tonic::Status;
use tracing::debug;

use super::Driver;
use super::acks::RouteAckReply;
use crate::cutover::Cutover;
use crate::transport::RoutingTransport;

/// Leaving is tried again after this long.
const DETACH_BOUND: Duration = Duration::from_secs(2);

/// A call to the service that ended.
pub(super) enum RouterReply {
    Heartbeat { number: u64, result: Result<HeartbeatResponse, Status> },
    Detach(Result<(), Status>),
    Acks(RouteAckReply),
}

impl<C: Cutover, T: RoutingTransport> Driver<C, T> {
    pub(super) fn caller(&self, incarnation: String) -> RouterCaller {
        let options = &self.router.options;
        RouterCaller { group: options.group.clone(), router_name: options.name.clone(), incarnation }
    }

    pub(super) fn open_stream(&mut self, open: OpenStream) {
        let mut request = self.router.options.attach_request();
        request.incarnation = open.incarnation;
        request.resume_lease = open.resume_lease;
        request.seen = Some(open.seen);
        let transport = self.router.transport.clone();
        let stream = async move { transport.attach(&open.endpoint, request).await };
        self.commands.open(open.attempt, stream);
    }

    pub(super) fn send_heartbeat(&mut self, heartbeat: SendHeartbeat) {
        let request = RouterHeartbeatRequest {
            caller: Some(self.caller(heartbeat.incarnation)),
            lease: heartbeat.lease,
            seen: Some(heartbeat.seen),
        };
        let transport = self.router.transport.clone();
        self.replies.spawn(async move {
            let call = transport.heartbeat(&heartbeat.endpoint, request);
            let result = bounded(heartbeat.bound, call).await;
            RouterReply::Heartbeat { number: heartbeat.number, result }
        });
    }

    pub(super) fn send_detach(&mut self, endpoint: String, incarnation: String) {
        let request = DetachRequest { caller: Some(self.caller(incarnation)) };
        let transport = self.router.transport.clone();
        self.replies.spawn(async move {
            let result = bounded(DETACH_BOUND, transport.detach(&endpoint, request)).await;
            RouterReply::Detach(result.map(|_| ()))
        });
    }

    pub(super) fn reply(&mut self, reply: RouterReply) {
        match reply {
            RouterReply::Heartbeat { number, result: Ok(response) } => {
                self.session_event(Event::HeartbeatAnswered { number, response });
            }
            RouterReply::Heartbeat { number, result: Err(status) } => {
                debug!(code = ?status.code(), message = status.message(), "heartbeat failed");
                self.session_event(Event::HeartbeatFailed { number });
            }
            RouterReply::Detach(result) => {
                self.session_event(Event::LeaveAnswered { mode: DeregisterMode::Now, result });
            }
            RouterReply::Acks(reply) => self.acks_answered(reply),
        }
    }
}
