//! `kafka_assigner.v1.Routing`.

use kafka_assigner_proto::v1::routing_server::Routing;
use kafka_assigner_proto::v1::{
    AttachRequest, DetachRequest, DetachResponse, HeartbeatResponse, RouteAckRequest, RouteAckResponse,
    RouterHeartbeatRequest,
};
use tonic::{Request, Response, Status};

use super::acks;
use crate::router::{RouterService, Routes};

/// The gRPC face of the service for routers.
#[derive(Debug, Clone)]
pub struct Routers(RouterService);

impl Routers {
    /// The face of `service`.
    #[must_use]
    pub const fn new(service: RouterService) -> Self {
        Self(service)
    }
}

#[tonic::async_trait]
impl Routing for Routers {
    type AttachStream = Routes;

    async fn attach(&self, request: Request<AttachRequest>) -> Result<Response<Routes>, Status> {
        self.0.attach(request.into_inner()).await.map(Response::new)
    }

    async fn ack(&self, request: Request<RouteAckRequest>) -> Result<Response<RouteAckResponse>, Status> {
        let RouteAckRequest { caller, routes } = request.into_inner();
        let results = self.0.acknowledge(caller, &acks::all(&routes, acks::frozen)?).await?;
        Ok(Response::new(RouteAckResponse { results }))
    }

    async fn heartbeat(
        &self,
        request: Request<RouterHeartbeatRequest>,
    ) -> Result<Response<HeartbeatResponse>, Status> {
        self.0.heartbeat(request.into_inner()).await.map(Response::new)
    }

    async fn detach(&self, request: Request<DetachRequest>) -> Result<Response<DetachResponse>, Status> {
        self.0.detach(request.into_inner()).await?;
        Ok(Response::new(DetachResponse {}))
    }
}
