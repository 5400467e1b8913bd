//! A scripted service: it grants sessions, sends routes, and answers.

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use kafka_assigner_router::proto::v1::route_command::Command;
use kafka_assigner_router::proto::v1::{
    AckOutcome, AckResult, AttachRequest, DetachRequest, DetachResponse, FenceReason, Fenced,
    HeartbeatOutcome, HeartbeatResponse, Route, RouteAck, RouteAckRequest, RouteAckResponse, RouteChange,
    RouteCommand, RouteOwner, RouteState, RouteTable, RouterHeartbeatRequest, SessionInfo,
};
use kafka_assigner_router::{RouteStream, RoutingTransport, TopicPartition};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

pub(crate) const TTL_MS: u64 = 30_000;

/// One of the calls that the service got, which are kept in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    Attach {
        incarnation: String,
        resume_lease: i64,
    },
    /// The partition, the handoff and the sender.
    Ack(i32, String, String),
    Detach,
}

#[derive(Debug)]
struct State {
    revision: u64,
    leases: i64,
    table: Vec<Route>,
    stream: Option<mpsc::UnboundedSender<Result<RouteCommand, Status>>>,
    is_silent: bool,
    lose_acks: u32,
}

/// The service; clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Fake {
    state: Arc<Mutex<State>>,
    asked: watch::Sender<Vec<Asked>>,
}

/// Partition `partition` of the topic "t" belongs to the consumer `owner`.
/// The partition of that number of the topic that all tests use.
pub(crate) fn at(partition: i32) -> TopicPartition {
    TopicPartition::from_kafka("t", partition).expect("a valid name")
}

pub(crate) fn open(partition: i32, owner: &str, epoch: u64) -> Route {
    let owner = RouteOwner { consumer_name: owner.into(), incarnation: "i".into(), endpoint: owner.into() };
    let state = RouteState::Open.into();
    Route { topic: "t".into(), partition, state, owner: Some(owner), epoch, ..Route::default() }
}

/// Requests for the partition are to be held for a handoff.
pub(crate) fn stash(partition: i32, handoff: &str) -> Route {
    let state = RouteState::Stash.into();
    Route { topic: "t".into(), partition, state, handoff_id: handoff.into(), ..Route::default() }
}

impl Fake {
    /// Shows these routes first.
    pub(crate) fn new(table: Vec<Route>) -> Self {
        let state = State { revision: 1, leases: 0, table, stream: None, is_silent: false, lose_acks: 0 };
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

    pub(crate) fn acks(&self) -> Vec<(i32, String)> {
        let acks = self.asked().into_iter().filter_map(|asked| match asked {
            Asked::Ack(partition, handoff, _) => Some((partition, handoff)),
            Asked::Attach { .. } | Asked::Detach => None,
        });
        acks.collect()
    }

    pub(crate) async fn wait_for(&self, wanted: impl Fn(&[Asked]) -> bool) {
        let mut log = self.asked.subscribe();
        log.wait_for(|log| wanted(log)).await.expect("the sender lives");
    }

    pub(crate) async fn wait_for_ack(&self, partition: i32, handoff: &str) {
        let is_it =
            |asked: &Asked| matches!(asked, Asked::Ack(of, id, _) if *of == partition && id == handoff);
        self.wait_for(|log| log.iter().any(is_it)).await;
    }

    /// Changes a route, and tells it where a stream is open.
    pub(crate) fn set(&self, route: Route) {
        let mut state = self.state();
        state.table.retain(|known| known.partition != route.partition);
        state.table.push(route.clone());
        state.revision += 1;
        state.push(Command::Change(RouteChange { routes: vec![route], removed: Vec::new() }));
    }

    pub(crate) fn fence(&self, reason: FenceReason) {
        self.state().push(Command::Fenced(Fenced { reason: reason.into(), message: "told to".into() }));
    }

    pub(crate) fn break_stream(&self) {
        let stream = self.state().stream.take().expect("a stream is open");
        stream.send(Err(Status::unavailable("broken"))).expect("the router listens");
    }

    /// Answers no heartbeat any more, or all again.
    pub(crate) fn be_silent(&self, is_silent: bool) {
        self.state().is_silent = is_silent;
    }

    /// Performs so many acknowledging calls without answering.
    pub(crate) fn lose_acks(&self, calls: u32) {
        self.state().lose_acks = calls;
    }
}

impl State {
    fn push(&self, command: Command) {
        if let Some(stream) = &self.stream {
            stream.send(Ok(command_at(self.revision, command))).expect("the router listens");
        }
    }
}

fn command_at(revision: u64, command: Command) -> RouteCommand {
    RouteCommand { cluster_id: "c".into(), revision, command: Some(command) }
}

fn applied(ack: &RouteAck) -> AckResult {
    let outcome = AckOutcome::Applied.into();
    AckResult { topic: ack.topic.clone(), partition: ack.partition, outcome, message: String::new() }
}

#[async_trait]
impl RoutingTransport for Fake {
    async fn attach(&self, _: &str, request: AttachRequest) -> Result<RouteStream, Status> {
        let (incarnation, resume_lease) = (request.incarnation.clone(), request.resume_lease);
        self.log(Asked::Attach { incarnation, resume_lease });
        let mut state = self.state();
        if request.resume_lease == 0 {
            state.leases += 1;
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        let session = SessionInfo {
            incarnation: request.incarnation,
            lease: state.leases,
            ttl_ms: TTL_MS,
            ..SessionInfo::default()
        };
        // In two parts, which count as one.
        let (first, rest) = state.table.split_at(state.table.len() / 2);
        for (routes, more) in [(first, true), (rest, false)] {
            let part = RouteTable {
                session: Some(session.clone()),
                routes: routes.to_vec(),
                more,
                ..RouteTable::default()
            };
            sender.send(Ok(command_at(state.revision, Command::Table(part)))).expect("just made");
        }
        state.stream = Some(sender);
        Ok(Box::pin(UnboundedReceiverStream::new(receiver)))
    }

    async fn ack(&self, _: &str, request: RouteAckRequest) -> Result<RouteAckResponse, Status> {
        let caller = request.caller.expect("every call names its caller");
        for ack in &request.routes {
            self.log(Asked::Ack(ack.partition, ack.handoff_id.clone(), caller.incarnation.clone()));
        }
        let mut state = self.state();
        if state.lose_acks > 0 {
            state.lose_acks -= 1;
            return Err(Status::unknown("the answer was lost"));
        }
        Ok(RouteAckResponse { results: request.routes.iter().map(applied).collect() })
    }

    async fn heartbeat(&self, _: &str, request: RouterHeartbeatRequest) -> Result<HeartbeatResponse, Status> {
        let is_silent = {
            let state = self.state();
            assert_eq!(request.lease, state.leases, "a heartbeat of another session");
            state.is_silent
        };
        if is_silent {
            std::future::pending::<()>().await;
        }
        let (outcome, cluster_id) = (HeartbeatOutcome::Confirmed.into(), "c".into());
        Ok(HeartbeatResponse { outcome, cluster_id, ..HeartbeatResponse::default() })
    }

    async fn detach(&self, _: &str, _: DetachRequest) -> Result<DetachResponse, Status> {
        self.log(Asked::Detach);
        Ok(DetachResponse {})
    }
}
