//! A service of a few lines: it grants sessions, shows roles, and answers as it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{
    AckOutcome, AckResult, AssignmentCommand, BusyPartition, Caller, DeregisterMode, DeregisterRequest,
    DeregisterResponse, FailingPartitions, FenceReason, Fenced, HeartbeatOutcome, HeartbeatRequest,
    HeartbeatResponse, PartitionAck, RegisterRequest, SessionInfo, Snapshot, StoppedPartition,
};
use kafka_assigner_session::{Acks, CommandStream, Transport};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

const TTL: Duration = Duration::from_secs(30);

/// What the service was asked, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    Register { endpoint: String, incarnation: String, resume_lease: i64 },
    Ready(String),
    Rested(String),
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
    nobody_takes: bool,
    heartbeats: u64,
    progress: Vec<u64>,
    busy: Vec<Vec<BusyPartition>>,
    stopped: Vec<Vec<StoppedPartition>>,
    failing: Vec<Option<FailingPartitions>>,
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
        Self::granting(TTL)
    }

    /// A service that grants sessions this time to live.
    pub(crate) fn granting(ttl: Duration) -> Self {
        let state = State {
            ttl,
            revision: 1,
            leases: 0,
            snapshot: Snapshot::default(),
            stream: None,
            pulse: Pulse::Confirm,
            down: BTreeSet::new(),
            lose_acks: 0,
            undecided: BTreeMap::new(),
            accept_deregister: true,
            nobody_takes: false,
            heartbeats: 0,
            progress: Vec::new(),
            busy: Vec::new(),
            stopped: Vec::new(),
            failing: Vec::new(),
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

    /// From now on nobody is there who may take what the member has.
    pub(crate) fn leave_alone(&self) {
        self.state().nobody_takes = true;
    }

    pub(crate) fn ignore_deregister(&self) {
        self.state().accept_deregister = false;
    }

    /// The counter of processing that each heartbeat carried.
    pub(crate) fn progress(&self) -> Vec<u64> {
        self.state().progress.clone()
    }

    /// The partitions that each heartbeat named as standing.
    pub(crate) fn stopped(&self) -> Vec<Vec<StoppedPartition>> {
        self.state().stopped.clone()
    }

    /// The partitions that each heartbeat named as ones whose next record fails.
    pub(crate) fn failing(&self) -> Vec<Option<FailingPartitions>> {
        self.state().failing.clone()
    }

    /// The partitions that each heartbeat named as busy.
    pub(crate) fn busy(&self) -> Vec<Vec<BusyPartition>> {
        self.state().busy.clone()
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

    /// Performs acks of `items`, and answers them unless that is to be lost.
    fn answer(&self, items: impl Iterator<Item = (String, i32)>) -> Result<Vec<AckResult>, Status> {
        let mut state = self.state();
        if state.lose_acks > 0 {
            state.lose_acks -= 1;
            return Err(Status::unknown("the answer was lost"));
        }
        Ok(items.map(|(topic, partition)| state.answer(topic, partition)).collect())
    }

    fn done(&self, items: Vec<PartitionAck>, asked: fn(String) -> Asked) -> Result<Vec<AckResult>, Status> {
        items.iter().for_each(|ack| self.log(asked(ack.handoff_id.clone())));
        self.answer(items.into_iter().map(|ack| (ack.topic, ack.partition)))
    }
}

impl State {
    fn answer(&mut self, topic: String, partition: i32) -> AckResult {
        let left = self.undecided.get_mut(&partition).filter(|times| **times > 0);
        let outcome = left.map_or(AckOutcome::Applied, |times| {
            *times -= 1;
            AckOutcome::Undecided
        });
        AckResult { topic, partition, outcome: outcome.into(), message: String::new() }
    }
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
        let session = SessionInfo {
            incarnation: request.incarnation,
            lease: state.leases,
            ttl_ms,
            outage_grace_ms: request.outage_grace_ms.unwrap_or_default(),
        };
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
            state.busy.push(request.busy);
            state.stopped.push(request.stopped);
            state.failing.push(request.failing);
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

    async fn acknowledge(&self, _: &str, _: Caller, acks: Acks) -> Result<Vec<AckResult>, Status> {
        match acks {
            Acks::Ready(items) => self.done(items, Asked::Ready),
            Acks::Rested(items) => self.done(items, Asked::Rested),
            Acks::CaughtUp(items) => self.done(items, Asked::CaughtUp),
            Acks::Taken(items) => self.done(items, Asked::Taken),
            Acks::Released(items) => self.done(items, Asked::Released),
            Acks::Drained(items) => {
                for drained in &items {
                    self.log(Asked::Drained(drained.handoff_id.clone(), drained.next_offset));
                }
                self.answer(items.into_iter().map(|drained| (drained.topic, drained.partition)))
            }
            Acks::WarmFailed(items) => {
                for failure in &items {
                    self.log(Asked::WarmFailed(failure.handoff_id.clone(), failure.message.clone()));
                }
                self.answer(items.into_iter().map(|failure| (failure.topic, failure.partition)))
            }
        }
    }

    async fn deregister(&self, _: &str, request: DeregisterRequest) -> Result<DeregisterResponse, Status> {
        let mode = request.mode();
        self.state().deregistered.extend(request.caller.map(|caller| caller.incarnation));
        self.log(Asked::Deregister(mode));
        let (is_accepted, nobody_takes) = {
            let state = self.state();
            (state.accept_deregister, state.nobody_takes)
        };
        if is_accepted { Ok(DeregisterResponse { nobody_takes }) } else { std::future::pending().await }
    }
}
