//! `kafka_assigner.v1.Routing`.

use kafka_assigner_access::Right;
use kafka_assigner_proto::v1::routing_server::Routing;
use kafka_assigner_proto::v1::{
    AttachRequest, DetachRequest, DetachResponse, HeartbeatResponse, RouteAckRequest, RouteAckResponse,
    RouterCaller, RouterHeartbeatRequest,
};
use tonic::{Request, Response, Status};

use super::acks;
use crate::access::{Access, CallPermit, StreamKind};
use crate::refusal;
use crate::router::{RouterService, Routes};

/// The gRPC face of the service for routers.
#[derive(Debug, Clone)]
pub struct Routers {
    service: RouterService,
    access: Access,
}

impl Routers {
    /// The face of `service`, for those who have `access`.
    #[must_use]
    pub const fn new(service: RouterService, access: Access) -> Self {
        Self { service, access }
    }

    /// The permission to act as the router that a call names.
    fn permit<T>(&self, request: &Request<T>, caller: Option<&RouterCaller>) -> Result<CallPermit, Status> {
        let caller = caller.ok_or_else(|| refusal::field("caller is missing: it names the session"))?;
        self.access.admit(request)?.permit_as(Right::Route, &caller.group, &caller.router_name)
    }
}

#[tonic::async_trait]
impl Routing for Routers {
    type AttachStream = Routes;

    async fn attach(&self, request: Request<AttachRequest>) -> Result<Response<Routes>, Status> {
        let AttachRequest { group, router_name, .. } = request.get_ref();
        let permit = self.access.admit(&request)?.permit_as(Right::Route, group, router_name)?;
        let permit = permit.stream(StreamKind::Member)?;
        self.service.attach(request.into_inner(), permit).await.map(Response::new)
    }

    async fn ack(&self, request: Request<RouteAckRequest>) -> Result<Response<RouteAckResponse>, Status> {
        let permit = self.permit(&request, request.get_ref().caller.as_ref())?;
        let RouteAckRequest { caller, routes } = request.into_inner();
        let acks = acks::all(&routes, acks::frozen)?;
        let results = self.service.acknowledge(caller, &acks, &permit).await?;
        Ok(Response::new(RouteAckResponse { results }))
    }

    async fn heartbeat(
        &self,
        request: Request<RouterHeartbeatRequest>,
    ) -> Result<Response<HeartbeatResponse>, Status> {
        let permit = self.permit(&request, request.get_ref().caller.as_ref())?;
        self.service.heartbeat(request.into_inner(), &permit).await.map(Response::new)
    }

    async fn detach(&self, request: Request<DetachRequest>) -> Result<Response<DetachResponse>, Status> {
        let permit = self.permit(&request, request.get_ref().caller.as_ref())?;
        self.service.detach(request.into_inner(), &permit).await?;
        Ok(Response::new(DetachResponse {}))
    }
}
