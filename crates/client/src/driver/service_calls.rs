//! Calls to the service, run beside the loop.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_proto::v1::{
    Caller, DeregisterMode, DeregisterRequest, DeregisterResponse, HeartbeatRequest, HeartbeatResponse,
    RegisterRequest,
};
use kafka_assigner_session::{
    Acks, CommandStream, OpenStream, SendHeartbeat, Transport, bounded, is_definite, joined,
};
use kafka_assigner_types::id::Incarnation;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tonic::Status;

use super::acks::{AckBatch, AckReply};
use super::reports::HeartbeatReport;

/// Leaving is tried again after this long: half of what an orchestrator's last grace would allow.
const DEREGISTER_BOUND: Duration = Duration::from_secs(2);
/// Long against a store transaction, short against a phase's 30 s.
const ACK_BOUND: Duration = Duration::from_secs(5);
/// The service is told that a lost session has stopped for this long, and no longer: a process that was superseded
/// ends then.
const FAREWELL_BOUND: Duration = Duration::from_secs(3);
/// Lets each of three instances be asked.
const FAREWELL_ATTEMPT_BOUND: Duration = Duration::from_secs(1);
const FAREWELL_RETRY: Duration = Duration::from_millis(100);

/// The way to the service, and the calls that run.
pub(super) struct ServiceCalls<T> {
    transport: Arc<T>,
    group: String,
    consumer_name: String,
    running: JoinSet<Reply>,
}

/// A call to the service that ended.
pub(super) enum Reply {
    Heartbeat { number: u64, result: Result<HeartbeatResponse, Status> },
    Deregister { mode: DeregisterMode, result: Result<DeregisterResponse, Status> },
    Acks(AckReply),
    Farewell { incarnation: Incarnation },
}

impl<T: Transport> ServiceCalls<T> {
    pub(super) fn new(transport: Arc<T>, group: String, consumer_name: String) -> Self {
        Self { transport, group, consumer_name, running: JoinSet::new() }
    }

    /// The next call that ended; `None` = none runs.
    ///
    /// Cancel safe.
    pub(super) async fn next_reply(&mut self) -> Option<Reply> {
        joined(self.running.join_next().await?)
    }

    /// Opens the stream that the session asks for, once the future is polled.
    pub(super) fn register(
        &self,
        open: OpenStream,
        request: RegisterRequest,
    ) -> impl Future<Output = Result<CommandStream, Status>> + Send + 'static {
        let OpenStream { endpoint, incarnation, resume_lease, seen, .. } = open;
        let (incarnation, resume_lease) = (incarnation.to_string(), resume_lease.0);
        let request = RegisterRequest { incarnation, resume_lease, seen: Some(seen), ..request };
        let transport = self.transport.clone();
        async move { transport.register(&endpoint, request).await }
    }

    pub(super) fn heartbeat(
        &mut self,
        heartbeat: SendHeartbeat,
        poll_progress: u64,
        report: HeartbeatReport,
    ) {
        let SendHeartbeat { number, endpoint, incarnation, lease, seen, stream, bound } = heartbeat;
        let request = HeartbeatRequest {
            group: self.group.clone(),
            consumer_name: self.consumer_name.clone(),
            incarnation: incarnation.to_string(),
            lease: lease.0,
            seen: Some(seen),
            poll_progress,
            warming: report.warming,
            busy: report.busy,
            stopped: report.stopped,
            unbegun: Some(report.unbegun),
            dropped: report.dropped,
            uncommitted: report.uncommitted,
            failing: Some(report.failing),
            stream: Some(stream),
        };
        let transport = self.transport.clone();
        self.running.spawn(async move {
            let result = bounded(bound, transport.heartbeat(&endpoint, request)).await;
            Reply::Heartbeat { number, result }
        });
    }

    pub(super) fn deregister(&mut self, endpoint: String, incarnation: &Incarnation, mode: DeregisterMode) {
        let request = self.deregister_request(incarnation, mode);
        let transport = self.transport.clone();
        self.running.spawn(async move {
            let result = bounded(DEREGISTER_BOUND, transport.deregister(&endpoint, request)).await;
            Reply::Deregister { mode, result }
        });
    }

    /// Sends a batch of acknowledgements, which are `acks` on the wire.
    pub(super) fn acknowledge(
        &mut self,
        endpoint: String,
        incarnation: &Incarnation,
        batch: AckBatch,
        acks: Acks,
    ) {
        let (transport, caller) = (self.transport.clone(), self.caller(incarnation));
        self.running.spawn(async move {
            let result = bounded(ACK_BOUND, transport.acknowledge(&endpoint, caller, acks)).await;
            Reply::Acks(AckReply { batch, result })
        });
    }

    /// Tells one of `instances` that nothing of a session that was lost acts any more.
    pub(super) fn say_stopped(&mut self, instances: Vec<String>, incarnation: Incarnation) {
        let request = self.deregister_request(&incarnation, DeregisterMode::Now);
        let saying = say(self.transport.clone(), instances, request);
        self.running.spawn(async move {
            // Without a definite answer nobody knows more than before.
            let _ = timeout(FAREWELL_BOUND, saying).await;
            Reply::Farewell { incarnation }
        });
    }

    fn deregister_request(&self, incarnation: &Incarnation, mode: DeregisterMode) -> DeregisterRequest {
        DeregisterRequest { caller: Some(self.caller(incarnation)), mode: mode.into() }
    }

    fn caller(&self, incarnation: &Incarnation) -> Caller {
        let (group, consumer_name) = (self.group.clone(), self.consumer_name.clone());
        Caller { group, consumer_name, incarnation: incarnation.to_string() }
    }
}

/// Asks one instance after the other until there is a definite answer.
async fn say<T: Transport>(transport: Arc<T>, instances: Vec<String>, request: DeregisterRequest) {
    for instance in instances.iter().cycle() {
        let told = bounded(FAREWELL_ATTEMPT_BOUND, transport.deregister(instance, request.clone())).await;
        // Not found: nobody waits for it. Whatever else the service refuses would be refused again.
        if told.map_or_else(|status| is_definite(&status), |_| true) {
            return;
        }
        sleep(FAREWELL_RETRY).await;
    }
}
