//! A router by hand: it says only what a test tells it to.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use kafka_assigner_proto::v1::route_command::Command;
use kafka_assigner_proto::v1::routing_server::Routing as _;
use kafka_assigner_proto::v1::{
    AckOutcome, AttachRequest, DetachRequest, Fenced, GoAway, HeartbeatResponse, Route, RouteAck,
    RouteAckRequest, RouteState, RouterCaller, RouterHeartbeatRequest, Seen, StreamState,
};
use kafka_assigner_server::grpc::Routers;
use kafka_assigner_server::{Access, RouterService, Routes};
use tokio::time::timeout;
use tonic::{Request, Status};

use crate::cluster::{GROUP, Node, PATIENCE};
use crate::member::{At, outcomes};

/// Everything that a router was told and that still holds.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) routes: BTreeMap<At, Route>,
    pub(crate) fenced: Option<Fenced>,
    pub(crate) go_away: Option<GoAway>,
    /// The number of times that its instance said that it is out of touch.
    pub(crate) out_of_touch: u32,
    pub(crate) lease: i64,
    has_more: bool,
    revision: u64,
    cluster_id: String,
}

/// A session of a router and its stream.
pub(crate) struct Router {
    api: Routers,
    pub(crate) request: AttachRequest,
    pub(crate) known: Known,
    /// The stream as its heartbeats tell it.
    pub(crate) stream: Option<StreamState>,
    routes: Routes,
}

impl Router {
    /// Attaches on `node`, and reads the table.
    pub(crate) async fn join(node: &Node, name: &str) -> Self {
        Self::lasting(node, name, 0).await
    }

    /// Attaches with a time to live of its own, and reads the table.
    pub(crate) async fn lasting(node: &Node, name: &str, session_timeout_ms: u64) -> Self {
        let request = AttachRequest {
            session_timeout_ms,
            router_name: name.to_owned(),
            group: GROUP.to_owned(),
            incarnation: format!("{name}-1"),
            ..AttachRequest::default()
        };
        Self::attach(node, request).await.expect("it attaches")
    }

    pub(crate) async fn attach(node: &Node, request: AttachRequest) -> Result<Self, Status> {
        let api = Routers::new(RouterService::new(node.instance.clone()), Access::open(&node.instance));
        let routes = api.attach(Request::new(request.clone())).await?.into_inner();
        let mut router = Self { api, request, known: Known::default(), stream: None, routes };
        router.next().await;
        while router.known.has_more {
            router.next().await;
        }
        Ok(router)
    }

    /// Calls `node` from now on; its stream stays where it is.
    pub(crate) fn move_to(&mut self, node: &Node) {
        self.api = Routers::new(RouterService::new(node.instance.clone()), Access::open(&node.instance));
    }

    /// Attaches as another session of the same name.
    pub(crate) async fn again(&self, node: &Node, incarnation: &str) -> Self {
        let request = AttachRequest { incarnation: incarnation.to_owned(), ..self.request.clone() };
        Self::attach(node, request).await.expect("it attaches")
    }

    /// Attaches to the same session on another instance.
    pub(crate) async fn resume(&self, node: &Node) -> Self {
        let seen = Seen { cluster_id: self.known.cluster_id.clone(), revision: self.known.revision };
        let request =
            AttachRequest { resume_lease: self.known.lease, seen: Some(seen), ..self.request.clone() };
        Self::attach(node, request).await.expect("it attaches")
    }

    /// Reads the next command; false at the end of the stream.
    pub(crate) async fn next(&mut self) -> bool {
        let next = timeout(PATIENCE, self.routes.next()).await.expect("a command comes, or the end");
        let Some(command) = next else { return false };
        let command = command.expect("streams end without an error");
        assert!(command.revision >= self.known.revision, "a revision never goes back");
        (self.known.revision, self.known.cluster_id) = (command.revision, command.cluster_id);
        command.command.into_iter().for_each(|command| self.known.take(command));
        true
    }

    /// Reads until what it knows is as it must become.
    pub(crate) async fn until(&mut self, what: &str, holds: impl Fn(&Known) -> bool) {
        while !holds(&self.known) {
            assert!(self.next().await, "the stream ended before: {what}; {:?}", self.known);
        }
    }

    /// Reads until some partition is to be held back.
    pub(crate) async fn stashes(&mut self) {
        self.until("something to hold back", |known| !known.stashed().is_empty()).await;
    }

    /// Says of all that it holds back that nothing is on its way any more.
    pub(crate) async fn freeze(&self) -> Vec<AckOutcome> {
        self.say(self.known.stashed()).await
    }

    pub(crate) async fn say(&self, routes: Vec<RouteAck>) -> Vec<AckOutcome> {
        let request = RouteAckRequest { caller: Some(self.caller()), routes };
        let answer = self.api.ack(Request::new(request)).await.expect("a definite answer");
        outcomes(&answer.into_inner().results)
    }

    pub(crate) async fn heartbeat(&self) -> HeartbeatResponse {
        let (caller, lease) = (Some(self.caller()), self.known.lease);
        let request = RouterHeartbeatRequest { caller, lease, seen: None, stream: self.stream };
        self.api.heartbeat(Request::new(request)).await.expect("an answer").into_inner()
    }

    pub(crate) async fn detach(&self) -> Result<(), Status> {
        let request = DetachRequest { caller: Some(self.caller()) };
        self.api.detach(Request::new(request)).await.map(drop)
    }

    fn caller(&self) -> RouterCaller {
        RouterCaller {
            group: self.request.group.clone(),
            router_name: self.request.router_name.clone(),
            incarnation: self.request.incarnation.clone(),
        }
    }
}

impl Known {
    fn take(&mut self, command: Command) {
        match command {
            Command::Table(table) => {
                self.lease = table.session.expect("it describes the session").lease;
                if !std::mem::replace(&mut self.has_more, table.more) {
                    self.routes.clear();
                }
                self.put(table.routes);
            }
            Command::Change(change) => {
                for gone in change.removed {
                    self.routes.remove(&(gone.topic, gone.partition));
                }
                self.put(change.routes);
            }
            Command::GoAway(go_away) => self.go_away = Some(go_away),
            Command::Fenced(fenced) => self.fenced = Some(fenced),
            Command::OutOfTouch(_) => self.out_of_touch += 1,
        }
    }

    fn put(&mut self, routes: Vec<Route>) {
        self.routes.extend(routes.into_iter().map(|route| ((route.topic.clone(), route.partition), route)));
    }

    /// The acks of what is to be held back, one for each partition.
    pub(crate) fn stashed(&self) -> Vec<RouteAck> {
        let stashed = self.routes.values().filter(|route| route.state() == RouteState::Stash);
        let ack = |route: &Route| RouteAck {
            topic: route.topic.clone(),
            partition: route.partition,
            handoff_id: route.handoff_id.clone(),
        };
        stashed.map(ack).collect()
    }

    /// The number of partitions that are open to each owner.
    pub(crate) fn open(&self) -> BTreeMap<String, usize> {
        let mut open = BTreeMap::new();
        for route in self.routes.values().filter(|route| route.state() == RouteState::Open) {
            let owner = route.owner.as_ref().expect("an open route names its owner");
            *open.entry(owner.consumer_name.clone()).or_default() += 1;
        }
        open
    }
}
