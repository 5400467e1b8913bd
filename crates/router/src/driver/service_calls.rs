//! Calls to the service, run beside the loop.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_proto::v1::{
    AttachRequest, DetachRequest, HeartbeatResponse, RouteAckRequest, RouterCaller, RouterHeartbeatRequest,
};
use kafka_assigner_session::{OpenStream, SendHeartbeat, bounded, joined};
use kafka_assigner_types::id::{HandoffId, Incarnation, TopicPartition};
use tokio::task::JoinSet;
use tonic::Status;

use super::acks::{RouteAckReply, to_wire};
use crate::transport::{RouteStream, RoutingTransport};

/// Leaving is tried again after this long.
const DETACH_BOUND: Duration = Duration::from_secs(2);
/// Long against a store transaction, short against a phase's 30 s.
const ACK_BOUND: Duration = Duration::from_secs(5);

/// The way to the service, and the calls that run.
pub(super) struct RouterCalls<T> {
    transport: Arc<T>,
    group: String,
    router_name: String,
    running: JoinSet<RouterReply>,
}

/// A call to the service that ended.
pub(super) enum RouterReply {
    Heartbeat { number: u64, result: Result<HeartbeatResponse, Status> },
    Detach(Result<(), Status>),
    Acks(RouteAckReply),
}

impl<T: RoutingTransport> RouterCalls<T> {
    pub(super) fn new(transport: Arc<T>, group: String, router_name: String) -> Self {
        Self { transport, group, router_name, running: JoinSet::new() }
    }

    /// The next call that ended; `None` = none runs.
    ///
    /// Cancel safe.
    pub(super) async fn next_reply(&mut self) -> Option<RouterReply> {
        joined(self.running.join_next().await?)
    }

    /// Opens the stream that the session asks for, once the future is polled.
    pub(super) fn attach(
        &self,
        open: OpenStream,
        request: AttachRequest,
    ) -> impl Future<Output = Result<RouteStream, Status>> + Send + 'static {
        let OpenStream { endpoint, incarnation, resume_lease, seen, .. } = open;
        let (incarnation, resume_lease) = (incarnation.to_string(), resume_lease.0);
        let request = AttachRequest { incarnation, resume_lease, seen: Some(seen), ..request };
        let transport = self.transport.clone();
        async move { transport.attach(&endpoint, request).await }
    }

    pub(super) fn heartbeat(&mut self, heartbeat: SendHeartbeat) {
        let SendHeartbeat { number, endpoint, incarnation, lease, seen, stream, bound } = heartbeat;
        let (caller, seen) = (Some(self.caller(&incarnation)), Some(seen));
        let request = RouterHeartbeatRequest { caller, lease: lease.0, seen, stream: Some(stream) };
        let transport = self.transport.clone();
        self.running.spawn(async move {
            let result = bounded(bound, transport.heartbeat(&endpoint, request)).await;
            RouterReply::Heartbeat { number, result }
        });
    }

    pub(super) fn detach(&mut self, endpoint: String, incarnation: &Incarnation) {
        let request = DetachRequest { caller: Some(self.caller(incarnation)) };
        let transport = self.transport.clone();
        self.running.spawn(async move {
            let result = bounded(DETACH_BOUND, transport.detach(&endpoint, request)).await;
            RouterReply::Detach(result.map(|_| ()))
        });
    }

    pub(super) fn acknowledge(
        &mut self,
        endpoint: String,
        incarnation: &Incarnation,
        sent: Vec<(TopicPartition, HandoffId)>,
    ) {
        let (caller, routes) = (Some(self.caller(incarnation)), sent.iter().map(to_wire).collect());
        let (transport, request) = (self.transport.clone(), RouteAckRequest { caller, routes });
        self.running.spawn(async move {
            let result = bounded(ACK_BOUND, transport.ack(&endpoint, request)).await;
            RouterReply::Acks(RouteAckReply { sent, result: result.map(|response| response.results) })
        });
    }

    fn caller(&self, incarnation: &Incarnation) -> RouterCaller {
        let (group, router_name) = (self.group.clone(), self.router_name.clone());
        RouterCaller { group, router_name, incarnation: incarnation.to_string() }
    }
}
