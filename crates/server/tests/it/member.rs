//! A consumer by hand: it says only what a test tells it to.

use std::collections::BTreeMap;

use futures::{FutureExt as _, StreamExt as _};
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssigner;
use kafka_assigner_proto::v1::{
    AckOutcome, AckResult, AssignedPartition, AssignmentCommand, BusyPartition, Caller, Capability,
    CatchUpPartition, DeregisterMode, DeregisterRequest, DrainPartition, DrainedPartition, FailingPartition,
    FailingPartitions, Fenced, FencedPartition, GoAway, HeartbeatRequest, HeartbeatResponse, PartitionAck,
    PartitionCaughtUpRequest, PartitionDrainedRequest, PartitionReadyRequest, PartitionReleasedRequest,
    PartitionRestedRequest, PartitionTakenRequest, RegisterRequest, ReleasePartition, Renewal, Seen,
    StoppedPartition, StreamState, UnbegunPartition, UnbegunPartitions, WarmFailedRequest, WarmFailure,
    WarmPartition, WarmProgress,
};
use kafka_assigner_server::Commands;
use tokio::time::timeout;
use tonic::{Request, Status};

use crate::cluster::{GROUP, Node, PATIENCE};

/// A topic and a partition of it.
pub(crate) type At = (String, i32);

/// Everything that a member was told and that still holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Roles {
    pub(crate) assigned: BTreeMap<At, AssignedPartition>,
    pub(crate) warming: BTreeMap<At, WarmPartition>,
    pub(crate) draining: BTreeMap<At, DrainPartition>,
    pub(crate) catching_up: BTreeMap<At, CatchUpPartition>,
    pub(crate) releasing: BTreeMap<At, ReleasePartition>,
    /// True if more of a snapshot is to come.
    pub(crate) has_more: bool,
    pub(crate) fenced: Option<Fenced>,
    pub(crate) go_away: Option<GoAway>,
    /// The number of times that its instance said that it is out of touch.
    pub(crate) out_of_touch: u32,
    pub(crate) revision: u64,
    pub(crate) cluster_id: String,
    pub(crate) lease: i64,
    pub(crate) ttl_ms: u64,
}

/// A session and its stream.
pub(crate) struct Member {
    pub(crate) node: Node,
    pub(crate) request: RegisterRequest,
    pub(crate) roles: Roles,
    /// The state that its heartbeats claim to have seen.
    pub(crate) seen: Option<Seen>,
    /// The stream as its heartbeats tell it.
    pub(crate) stream: Option<StreamState>,
    /// `None` once it has closed its stream.
    commands: Option<Commands>,
}

/// The capabilities of a client that can do everything.
const ALL_CAPABILITIES: [Capability; 4] =
    [Capability::Snapshot, Capability::Taken, Capability::Drain, Capability::CatchUp];

/// The request of a client that can do everything.
pub(crate) fn full(name: &str, incarnation: &str) -> RegisterRequest {
    RegisterRequest {
        consumer_name: name.to_owned(),
        group: GROUP.to_owned(),
        incarnation: incarnation.to_owned(),
        renewal: Renewal::Client.into(),
        capabilities: ALL_CAPABILITIES.map(Into::into).to_vec(),
        ..RegisterRequest::default()
    }
}

impl Member {
    /// Registers on `node`, and reads the first command.
    pub(crate) async fn join(node: &Node, name: &str) -> Self {
        Self::register(node, full(name, &format!("{name}-1"))).await.expect("it registers")
    }

    /// Registers as told, and reads the first command with all its parts.
    pub(crate) async fn register(node: &Node, request: RegisterRequest) -> Result<Self, Status> {
        let commands = Some(node.api.register(Request::new(request.clone())).await?.into_inner());
        let (roles, seen, stream) = (Roles::default(), None, None);
        let mut member = Self { node: node.clone(), request, roles, seen, stream, commands };
        member.next().await;
        while member.roles.has_more {
            member.next().await;
        }
        Ok(member)
    }

    /// Closes its stream, and lives on.
    pub(crate) fn close(&mut self) {
        self.commands = None;
    }

    /// Attaches to the same session on another instance, from what it has seen so far.
    pub(crate) async fn resume(&self, node: &Node) -> Result<Self, Status> {
        Self::register(node, self.resumption()).await
    }

    /// The request of a client that comes back to its session.
    pub(crate) fn resumption(&self) -> RegisterRequest {
        let seen = Seen { cluster_id: self.roles.cluster_id.clone(), revision: self.roles.revision };
        RegisterRequest { resume_lease: self.roles.lease, seen: Some(seen), ..self.request.clone() }
    }

    /// Reads the next command; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<AssignmentCommand> {
        let commands = self.commands.as_mut()?;
        let next = timeout(PATIENCE, commands.next()).await.expect("a command comes, or the end");
        let command = next?.expect("streams end without an error");
        self.roles.take(command.clone());
        Some(command)
    }

    /// Reads commands until what it was told is as it must become.
    pub(crate) async fn until(&mut self, what: &str, holds: impl Fn(&Roles) -> bool) {
        while !holds(&self.roles) {
            let goes_on = self.next().await.is_some();
            let name = &self.request.consumer_name;
            assert!(goes_on, "{name}'s stream ended before: {what}; {:?}", self.roles);
        }
    }

    /// Reads until the stream ends; returns the reason for which the session is over, where it is.
    pub(crate) async fn ended(&mut self) -> Option<Fenced> {
        while self.next().await.is_some() {}
        self.roles.fenced.clone()
    }

    /// Waits for the next command for as long as it takes; false at the end of the stream. Cancel safe.
    pub(crate) async fn more(&mut self) -> bool {
        let Some(commands) = &mut self.commands else { return false };
        let Some(Ok(command)) = commands.next().await else { return false };
        self.roles.take(command);
        true
    }

    /// True if nothing waits to be read, and the stream goes on.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.more().now_or_never().is_none()
    }

    pub(crate) fn caller(&self) -> Caller {
        Caller {
            group: self.request.group.clone(),
            consumer_name: self.request.consumer_name.clone(),
            incarnation: self.request.incarnation.clone(),
        }
    }

    /// Says that all that it warms is ready.
    pub(crate) async fn ready(&self) -> Vec<AckOutcome> {
        let acks = self.roles.warming.values().map(|w| ack(&w.topic, w.partition, &w.handoff_id)).collect();
        outcomes(&self.say_ready(acks).await.expect("a definite answer"))
    }

    /// Says so where there is anything to say.
    pub(crate) async fn ready_if_any(&self) {
        if !self.roles.warming.is_empty() {
            self.ready().await;
        }
    }

    pub(crate) async fn say_ready(&self, partitions: Vec<PartitionAck>) -> Result<Vec<AckResult>, Status> {
        let request = PartitionReadyRequest { caller: Some(self.caller()), partitions };
        Ok(self.node.api.partition_ready(Request::new(request)).await?.into_inner().results)
    }

    /// Says that no record is in the works of all that it is to rest for.
    pub(crate) async fn rested(&self) -> Vec<AckOutcome> {
        let resting = self.roles.assigned.values().filter(|a| !a.rest_handoff_id.is_empty());
        let partitions = resting.map(|a| ack(&a.topic, a.partition, &a.rest_handoff_id)).collect();
        let request = PartitionRestedRequest { caller: Some(self.caller()), partitions };
        let answer = self.node.api.partition_rested(Request::new(request)).await.expect("a definite answer");
        outcomes(&answer.into_inner().results)
    }

    /// Says that it has stopped all that it was told to, at `next_offset`.
    pub(crate) async fn drained(&self, next_offset: i64) -> Vec<AckOutcome> {
        let stopped = |d: &DrainPartition| drained(&d.topic, d.partition, &d.handoff_id, next_offset);
        let partitions = self.roles.draining.values().map(stopped).collect();
        outcomes(&self.say_drained(partitions).await.expect("a definite answer"))
    }

    pub(crate) async fn say_drained(
        &self,
        partitions: Vec<DrainedPartition>,
    ) -> Result<Vec<AckResult>, Status> {
        let request = PartitionDrainedRequest { caller: Some(self.caller()), partitions };
        Ok(self.node.api.partition_drained(Request::new(request)).await?.into_inner().results)
    }

    /// Says that it has read all that was left.
    pub(crate) async fn caught_up(&self) -> Vec<AckOutcome> {
        let read = self.roles.catching_up.values();
        let acks = read.map(|c| ack(&c.topic, c.partition, &c.handoff_id)).collect();
        outcomes(&self.say_caught_up(acks).await.expect("a definite answer"))
    }

    pub(crate) async fn say_caught_up(
        &self,
        partitions: Vec<PartitionAck>,
    ) -> Result<Vec<AckResult>, Status> {
        let request = PartitionCaughtUpRequest { caller: Some(self.caller()), partitions };
        Ok(self.node.api.partition_caught_up(Request::new(request)).await?.into_inner().results)
    }

    /// Says that it processes all that it was handed.
    pub(crate) async fn taken(&self) -> Vec<AckOutcome> {
        let handed = self.roles.assigned.values().filter(|a| !a.handoff_id.is_empty());
        let acks = handed.map(|a| ack(&a.topic, a.partition, &a.handoff_id)).collect();
        outcomes(&self.say_taken(acks).await.expect("a definite answer"))
    }

    /// Says so where there is anything to say.
    pub(crate) async fn taken_if_any(&self) {
        if self.roles.assigned.values().any(|a| !a.handoff_id.is_empty()) {
            self.taken().await;
        }
    }

    pub(crate) async fn say_taken(&self, partitions: Vec<PartitionAck>) -> Result<Vec<AckResult>, Status> {
        let request = PartitionTakenRequest { caller: Some(self.caller()), partitions };
        Ok(self.node.api.partition_taken(Request::new(request)).await?.into_inner().results)
    }

    /// Says that it let go of all that it was told to.
    pub(crate) async fn released(&self) -> Vec<AckOutcome> {
        let acks = self.roles.releasing.values().map(|r| ack(&r.topic, r.partition, &r.handoff_id)).collect();
        outcomes(&self.say_released(acks).await.expect("a definite answer"))
    }

    pub(crate) async fn say_released(&self, partitions: Vec<PartitionAck>) -> Result<Vec<AckResult>, Status> {
        let request = PartitionReleasedRequest { caller: Some(self.caller()), partitions };
        Ok(self.node.api.partition_released(Request::new(request)).await?.into_inner().results)
    }

    /// Says that it can't warm what it was told to.
    pub(crate) async fn fail(&self, why: &str) -> Vec<AckOutcome> {
        let failure = |w: &WarmPartition| WarmFailure {
            topic: w.topic.clone(),
            partition: w.partition,
            handoff_id: w.handoff_id.clone(),
            message: why.to_owned(),
        };
        let partitions = self.roles.warming.values().map(failure).collect();
        let request = WarmFailedRequest { caller: Some(self.caller()), partitions };
        let answer = self.node.api.warm_failed(Request::new(request)).await.expect("a definite answer");
        outcomes(&answer.into_inner().results)
    }

    /// Sends a heartbeat without any progress.
    pub(crate) async fn heartbeat(&self) -> HeartbeatResponse {
        self.beat(0, Vec::new()).await.expect("an answer")
    }

    /// Sends a heartbeat of a client that has `seen` so much.
    pub(crate) async fn heartbeat_having(&self, seen: Seen) -> HeartbeatResponse {
        let request = HeartbeatRequest {
            group: self.request.group.clone(),
            consumer_name: self.request.consumer_name.clone(),
            incarnation: self.request.incarnation.clone(),
            lease: self.roles.lease,
            seen: Some(seen),
            ..HeartbeatRequest::default()
        };
        self.node.api.heartbeat(Request::new(request)).await.expect("an answer").into_inner()
    }

    pub(crate) async fn beat(
        &self,
        poll_progress: u64,
        warming: Vec<WarmProgress>,
    ) -> Result<HeartbeatResponse, Status> {
        self.report(HeartbeatRequest { poll_progress, warming, ..HeartbeatRequest::default() }).await
    }

    /// Sends a heartbeat that names partitions with a record in the works.
    pub(crate) async fn busy(&self, busy: Vec<BusyPartition>) -> Result<HeartbeatResponse, Status> {
        self.report(HeartbeatRequest { busy, ..HeartbeatRequest::default() }).await
    }

    /// Sends a heartbeat that names all partitions that stand.
    pub(crate) async fn stopped(&self, stopped: Vec<StoppedPartition>) -> HeartbeatResponse {
        let report = HeartbeatRequest { stopped, ..HeartbeatRequest::default() };
        self.report(report).await.expect("an answer")
    }

    /// Sends a heartbeat that names the grants that have not begun.
    pub(crate) async fn unbegun(&self, partitions: Vec<UnbegunPartition>) -> HeartbeatResponse {
        let unbegun = Some(UnbegunPartitions { partitions, unnamed: 0 });
        self.report(HeartbeatRequest { unbegun, ..HeartbeatRequest::default() }).await.expect("an answer")
    }

    /// Sends a heartbeat that names the partitions whose next record fails.
    pub(crate) async fn failing(&self, partitions: Vec<FailingPartition>) -> HeartbeatResponse {
        let failing = Some(FailingPartitions { partitions, unnamed: 0 });
        self.report(HeartbeatRequest { failing, ..HeartbeatRequest::default() }).await.expect("an answer")
    }

    /// Sends a heartbeat that names the fenced partitions that it has dropped.
    pub(crate) async fn dropped(&self, dropped: Vec<FencedPartition>) -> HeartbeatResponse {
        self.report(HeartbeatRequest { dropped, ..HeartbeatRequest::default() }).await.expect("an answer")
    }

    pub(crate) async fn report(&self, report: HeartbeatRequest) -> Result<HeartbeatResponse, Status> {
        let request = HeartbeatRequest {
            group: self.request.group.clone(),
            consumer_name: self.request.consumer_name.clone(),
            incarnation: self.request.incarnation.clone(),
            lease: self.roles.lease,
            seen: self.seen.clone(),
            stream: self.stream,
            ..report
        };
        Ok(self.node.api.heartbeat(Request::new(request)).await?.into_inner())
    }

    pub(crate) async fn deregister(&self, mode: DeregisterMode) -> Result<(), Status> {
        self.leaves(mode).await.map(drop)
    }

    /// [`deregister`](Self::deregister) with what is answered: whether nobody takes what is left.
    pub(crate) async fn leaves(&self, mode: DeregisterMode) -> Result<bool, Status> {
        let request = DeregisterRequest { caller: Some(self.caller()), mode: mode.into() };
        let answer = self.node.api.deregister(Request::new(request)).await?;
        Ok(answer.into_inner().nobody_takes)
    }
}

/// An ack of one partition, as a client sends it.
pub(crate) fn ack(topic: &str, partition: i32, handoff_id: &str) -> PartitionAck {
    let (topic, handoff_id) = (topic.to_owned(), handoff_id.to_owned());
    PartitionAck { topic, partition, handoff_id, handled: None }
}

/// The report of a client that has stopped.
pub(crate) fn drained(topic: &str, partition: i32, handoff_id: &str, next_offset: i64) -> DrainedPartition {
    let (topic, handoff_id) = (topic.to_owned(), handoff_id.to_owned());
    DrainedPartition { topic, partition, handoff_id, next_offset: Some(next_offset), handled: None }
}

pub(crate) fn outcomes(results: &[AckResult]) -> Vec<AckOutcome> {
    results.iter().map(AckResult::outcome).collect()
}

impl Roles {
    /// Takes in one command as a client does.
    pub(crate) fn take(&mut self, command: AssignmentCommand) {
        assert!(command.revision >= self.revision, "a revision never goes back: {command:?} after {self:?}");
        self.revision = command.revision;
        self.cluster_id = command.cluster_id;
        let Some(command) = command.command else { return };
        match command {
            Command::Snapshot(snapshot) => {
                let session = snapshot.session.expect("it describes the session");
                (self.lease, self.ttl_ms) = (session.lease, session.ttl_ms);
                if !std::mem::replace(&mut self.has_more, snapshot.more) {
                    self.clear();
                }
                self.assign(snapshot.assigned);
                self.warm(snapshot.warming);
                self.drain(snapshot.draining);
                self.catch_up(snapshot.catching_up);
                self.release(snapshot.releasing);
            }
            Command::Assignment(assignment) => {
                if assignment.full {
                    self.clear();
                }
                for gone in assignment.unassigned {
                    self.forget(&(gone.topic, gone.partition));
                }
                self.assign(assignment.assigned);
            }
            Command::Warm(warm) => self.warm(warm.partitions),
            Command::Release(release) => self.release(release.partitions),
            Command::Drain(drain) => self.drain(drain.partitions),
            Command::CatchUp(catch_up) => self.catch_up(catch_up.partitions),
            Command::GoAway(go_away) => self.go_away = Some(go_away),
            Command::Fenced(fenced) => self.fenced = Some(fenced),
            Command::OutOfTouch(_) => self.out_of_touch += 1,
        }
    }

    fn clear(&mut self) {
        self.assigned.clear();
        self.warming.clear();
        self.draining.clear();
        self.catching_up.clear();
        self.releasing.clear();
    }

    fn forget(&mut self, at: &At) {
        self.assigned.remove(at);
        self.warming.remove(at);
        self.draining.remove(at);
        self.catching_up.remove(at);
        self.releasing.remove(at);
    }

    fn assign(&mut self, partitions: Vec<AssignedPartition>) {
        for partition in partitions {
            let at = (partition.topic.clone(), partition.partition);
            self.forget(&at);
            self.assigned.insert(at, partition);
        }
    }

    fn warm(&mut self, partitions: Vec<WarmPartition>) {
        for partition in partitions {
            let at = (partition.topic.clone(), partition.partition);
            self.forget(&at);
            self.warming.insert(at, partition);
        }
    }

    fn drain(&mut self, partitions: Vec<DrainPartition>) {
        for partition in partitions {
            let at = (partition.topic.clone(), partition.partition);
            self.forget(&at);
            self.draining.insert(at, partition);
        }
    }

    fn catch_up(&mut self, partitions: Vec<CatchUpPartition>) {
        for partition in partitions {
            let at = (partition.topic.clone(), partition.partition);
            self.forget(&at);
            self.catching_up.insert(at, partition);
        }
    }

    fn release(&mut self, partitions: Vec<ReleasePartition>) {
        for partition in partitions {
            let at = (partition.topic.clone(), partition.partition);
            self.forget(&at);
            self.releasing.insert(at, partition);
        }
    }
}
