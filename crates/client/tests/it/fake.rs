//! A service of a few lines: it grants sessions, shows roles, and answers as it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_client::proto::v1::assignment_command::Command;
use kafka_assigner_client::proto::v1::{
    AckOutcome, AckResult, AssignmentCommand, DeregisterMode, DeregisterRequest, DeregisterResponse,
    FenceReason, Fenced, HeartbeatOutcome, HeartbeatRequest, HeartbeatResponse, PartitionAck,
    PartitionCaughtUpRequest, PartitionCaughtUpResponse, PartitionDrainedRequest, PartitionDrainedResponse,
    PartitionReadyRequest, PartitionReadyResponse, PartitionReleasedRequest, PartitionReleasedResponse,
    PartitionTakenRequest, PartitionTakenResponse, RegisterRequest, SessionInfo, Snapshot, WarmFailedRequest,
    WarmFailedResponse,
};
use kafka_assigner_client::{CommandStream, Transport};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

const TTL: Duration = Duration::from_secs(30);

/// What the service was asked, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    Register { endpoint: String, incarnation: String, resume_lease: i64 },
    Ready(String),
    Drained(String, Option<i64>),
    CaughtUp(String),
    Taken(String),
    Released(String),
    WarmFailed(String, String),
    Deregister(DeregisterMode),
}

/// How heartbeats are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pulse {
    Confirm,
    StoreUnavailable,
    Silence,
    Panic,
}

#[derive(Debug)]
struct State {
    ttl: Duration,
    revision: u64,
    leases: i64,
    snapshot: Snapshot,
    stream: Option<mpsc::UnboundedSender<Result<AssignmentCommand, Status>>>,
    pulse: Pulse,
    down: BTreeSet<String>,
    lose_acks: u32,
    undecided: BTreeMap<i32, u32>,
    accept_deregister: bool,
    heartbeats: u64,
    progress: Vec<u64>,
    deregistered: Vec<String>,
}

/// The service; clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Fake {
    state: Arc<Mutex<State>>,
    asked: watch::Sender<Vec<Asked>>,
}

impl Fake {
    pub(crate) fn new() -> Self {
        let state = State {
            ttl: TTL,
            revision: 1,
            leases: 0,
            snapshot: Snapshot::default(),
            stream: None,
            pulse: Pulse::Confirm,
            down: BTreeSet::new(),
            lose_acks: 0,
            undecided: BTreeMap::new(),
            accept_deregister: true,
            heartbeats: 0,
            progress: Vec::new(),
            deregistered: Vec::new(),
        };
        Self { state: Arc::new(Mutex::new(state)), asked: watch::Sender::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics while it holds this")
    }

    fn log(&self, asked: Asked) {
        self.asked.send_modify(|log| log.push(asked));
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.borrow().clone()
    }

    pub(crate) async fn wait_for(&self, wanted: impl Fn(&Asked) -> bool) -> Asked {
        let mut log = self.asked.subscribe();
        let log = log.wait_for(|log| log.iter().any(&wanted)).await.expect("the sender lives");
        log.iter().find(|asked| wanted(asked)).expect("just seen").clone()
    }

    /// The time to live of sessions; half a minute unless it is set.
    #[cfg(feature = "kafka")]
    pub(crate) fn grant_ttl(&self, ttl: Duration) {
        self.state().ttl = ttl;
    }

    /// What every new stream shows first.
    pub(crate) fn show(&self, snapshot: Snapshot) {
        self.state().snapshot = snapshot;
    }

    pub(crate) fn push(&self, command: Command) {
        let mut state = self.state();
        state.revision += 1;
        let command = command_at(state.revision, command);
        let stream = state.stream.as_ref().expect("a stream is open");
        stream.send(Ok(command)).expect("the consumer listens");
    }

    pub(crate) fn fence(&self, reason: FenceReason) {
        self.push(Command::Fenced(Fenced { reason: reason.into(), message: "told to".into() }));
    }

    pub(crate) fn pulse(&self, pulse: Pulse) {
        self.state().pulse = pulse;
    }

    pub(crate) fn break_stream(&self) {
        let stream = self.state().stream.take();
        // The consumer may have left already.
        let _ = stream.expect("a stream is open").send(Err(Status::unavailable("broken")));
    }

    pub(crate) fn take_down(&self, endpoint: &str) {
        self.state().down.insert(endpoint.to_owned());
    }

    /// Performs so many acknowledging calls without answering.
    pub(crate) fn lose_acks(&self, calls: u32) {
        self.state().lose_acks = calls;
    }

    /// Can't decide what is said of `partition`, for so many times.
    pub(crate) fn leave_undecided(&self, partition: i32, times: u32) {
        self.state().undecided.insert(partition, times);
    }

    pub(crate) fn ignore_deregister(&self) {
        self.state().accept_deregister = false;
    }

    /// The counter of processing that each heartbeat carried.
    pub(crate) fn progress(&self) -> Vec<u64> {
        self.state().progress.clone()
    }

    /// The incarnations for which Deregister was called.
    pub(crate) fn deregistered(&self) -> Vec<String> {
        self.state().deregistered.clone()
    }

    pub(crate) fn heartbeats(&self) -> u64 {
        self.state().heartbeats
    }

    fn reach(&self, endpoint: &str) -> Result<(), Status> {
        if self.state().down.contains(endpoint) { Err(Status::unavailable("down")) } else { Ok(()) }
    }

    fn ack(&self, partitions: &[PartitionAck], asked: fn(String) -> Asked) -> Result<Vec<AckResult>, Status> {
        for ack in partitions {
            self.log(asked(ack.handoff_id.clone()));
        }
        self.answer(partitions)
    }

    fn answer(&self, partitions: &[PartitionAck]) -> Result<Vec<AckResult>, Status> {
        let mut state = self.state();
        if state.lose_acks > 0 {
            state.lose_acks -= 1;
            return Err(Status::unknown("the answer was lost"));
        }
        Ok(partitions.iter().map(|ack| state.answer(ack)).collect())
    }
}

impl State {
    fn answer(&mut self, ack: &PartitionAck) -> AckResult {
        let mut result = result(&ack.topic, ack.partition);
        if let Some(times) = self.undecided.get_mut(&ack.partition).filter(|times| **times > 0) {
            *times -= 1;
            result.outcome = AckOutcome::Undecided.into();
        }
        result
    }
}

fn result(topic: &str, partition: i32) -> AckResult {
    let outcome = AckOutcome::Applied.into();
    AckResult { topic: topic.to_owned(), partition, outcome, message: String::new() }
}

fn command_at(revision: u64, command: Command) -> AssignmentCommand {
    AssignmentCommand { cluster_id: "c".into(), revision, command: Some(command) }
}

#[async_trait]
impl Transport for Fake {
    async fn register(&self, endpoint: &str, request: RegisterRequest) -> Result<CommandStream, Status> {
        self.log(Asked::Register {
            endpoint: endpoint.to_owned(),
            incarnation: request.incarnation.clone(),
            resume_lease: request.resume_lease,
        });
        self.reach(endpoint)?;
        let mut state = self.state();
        if request.resume_lease == 0 {
            state.leases += 1;
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        let ttl_ms = u64::try_from(state.ttl.as_millis()).expect("small");
        let session = SessionInfo { incarnation: request.incarnation, lease: state.leases, ttl_ms };
        let snapshot = Snapshot { session: Some(session), ..state.snapshot.clone() };
        sender.send(Ok(command_at(state.revision, Command::Snapshot(snapshot)))).expect("just made");
        state.stream = Some(sender);
        Ok(Box::pin(UnboundedReceiverStream::new(receiver)))
    }

    async fn heartbeat(
        &self,
        endpoint: &str,
        request: HeartbeatRequest,
    ) -> Result<HeartbeatResponse, Status> {
        self.reach(endpoint)?;
        let pulse = {
            let mut state = self.state();
            state.heartbeats += 1;
            state.progress.push(request.poll_progress);
            assert_eq!(request.lease, state.leases, "a heartbeat of another session");
            state.pulse
        };
        let outcome = match pulse {
            Pulse::Confirm => HeartbeatOutcome::Confirmed,
            Pulse::StoreUnavailable => HeartbeatOutcome::StoreUnavailable,
            Pulse::Silence => std::future::pending().await,
            Pulse::Panic => panic!("on purpose"),
        };
        let cluster_id = "c".into();
        Ok(HeartbeatResponse { outcome: outcome.into(), cluster_id, ..HeartbeatResponse::default() })
    }

    async fn partition_ready(
        &self,
        _: &str,
        request: PartitionReadyRequest,
    ) -> Result<PartitionReadyResponse, Status> {
        Ok(PartitionReadyResponse { results: self.ack(&request.partitions, Asked::Ready)? })
    }

    async fn partition_drained(
        &self,
        _: &str,
        request: PartitionDrainedRequest,
    ) -> Result<PartitionDrainedResponse, Status> {
        for drained in &request.partitions {
            self.log(Asked::Drained(drained.handoff_id.clone(), drained.next_offset));
        }
        let items = request.partitions.into_iter().map(|drained| PartitionAck {
            topic: drained.topic,
            partition: drained.partition,
            handoff_id: drained.handoff_id,
            handled: drained.handled,
        });
        Ok(PartitionDrainedResponse { results: self.answer(&items.collect::<Vec<_>>())? })
    }

    async fn partition_caught_up(
        &self,
        _: &str,
        request: PartitionCaughtUpRequest,
    ) -> Result<PartitionCaughtUpResponse, Status> {
        Ok(PartitionCaughtUpResponse { results: self.ack(&request.partitions, Asked::CaughtUp)? })
    }

    async fn partition_taken(
        &self,
        _: &str,
        request: PartitionTakenRequest,
    ) -> Result<PartitionTakenResponse, Status> {
        Ok(PartitionTakenResponse { results: self.ack(&request.partitions, Asked::Taken)? })
    }

    async fn partition_released(
        &self,
        _: &str,
        request: PartitionReleasedRequest,
    ) -> Result<PartitionReleasedResponse, Status> {
        Ok(PartitionReleasedResponse { results: self.ack(&request.partitions, Asked::Released)? })
    }

    async fn warm_failed(&self, _: &str, request: WarmFailedRequest) -> Result<WarmFailedResponse, Status> {
        let failures = request.partitions;
        for failure in &failures {
            self.log(Asked::WarmFailed(failure.handoff_id.clone(), failure.message.clone()));
        }
        let results = failures.iter().map(|failure| result(&failure.topic, failure.partition)).collect();
        Ok(WarmFailedResponse { results })
    }

    async fn deregister(&self, _: &str, request: DeregisterRequest) -> Result<DeregisterResponse, Status> {
        let mode = request.mode();
        self.state().deregistered.extend(request.caller.map(|caller| caller.incarnation));
        self.log(Asked::Deregister(mode));
        let accepted = self.state().accept_deregister;
        if accepted { Ok(DeregisterResponse {}) } else { std::future::pending().await }
    }
}
