//! The calls of one router to instances.

use std::sync::Arc;

use async_trait::async_trait;
use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::routing_server::Routing;
use kafka_assigner_router::{RouteStream, RoutingTransport};
use tonic::{Request, Status};

use super::Server;
use super::relay::Relay;
use super::transport::{Wire, member};
use crate::history::{What, Word};
use crate::wire::at;

#[async_trait]
impl RoutingTransport for Wire {
    async fn attach(&self, endpoint: &str, mut request: v1::AttachRequest) -> Result<RouteStream, Status> {
        let who = member(&request.router_name, &request.incarnation);
        let seen = request.seen.clone().unwrap_or_default();
        // Routers here stash for less than a move may take, so that this bound is met often.
        request.stash_age_ms = 0;
        let fate = self.network.throw(&self.member);
        let serve = move |server: &Server| {
            let face = Arc::clone(&server.routers);
            async move { face.attach(Request::new(request)).await }
        };
        let (commands, server) = self.call(endpoint, fate, serve).await?;
        Ok(Relay::start(&self.network, (endpoint, &server), who, seen, commands))
    }

    async fn ack(
        &self,
        endpoint: &str,
        request: v1::RouteAckRequest,
    ) -> Result<v1::RouteAckResponse, Status> {
        let caller = request.caller.clone().unwrap_or_default();
        for ack in &request.routes {
            self.network.history.note(What::Said {
                process: self.process,
                by: member(&caller.router_name, &caller.incarnation),
                word: Word::Frozen,
                handoff: ack.handoff_id.clone(),
                of: at(&ack.topic, ack.partition),
            });
        }
        let serve = move |server: &Server| {
            let (face, request) = (Arc::clone(&server.routers), request.clone());
            async move { face.ack(Request::new(request)).await }
        };
        self.deliver(endpoint, serve).await
    }

    async fn heartbeat(
        &self,
        endpoint: &str,
        request: v1::RouterHeartbeatRequest,
    ) -> Result<v1::HeartbeatResponse, Status> {
        let fate = self.network.throw(&self.member);
        let serve = move |server: &Server| {
            let face = Arc::clone(&server.routers);
            async move { face.heartbeat(Request::new(request)).await }
        };
        Ok(self.call(endpoint, fate, serve).await?.0)
    }

    async fn detach(&self, endpoint: &str, request: v1::DetachRequest) -> Result<v1::DetachResponse, Status> {
        let fate = self.network.throw(&self.member);
        let serve = move |server: &Server| {
            let face = Arc::clone(&server.routers);
            async move { face.detach(Request::new(request)).await }
        };
        Ok(self.call(endpoint, fate, serve).await?.0)
    }
}
