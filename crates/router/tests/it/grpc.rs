//! The transport over a real connection: everything must arrive as it does within the process.

use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_router::proto::v1;
use kafka_assigner_router::proto::v1::routing_server::{Routing, RoutingServer};
use kafka_assigner_router::{
    GrpcTransport, RouteStream, Router, RouterOptions, RouterStopped, RoutingTransport,
};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Request, Response, Status};

use crate::fake::{Asked, Fake, open, stash};
use crate::owners::Owners;

const PATIENCE: Duration = Duration::from_secs(30);

/// Answers over gRPC what the scripted service answers.
struct Served(Fake);

#[tonic::async_trait]
impl Routing for Served {
    type AttachStream = RouteStream;

    async fn attach(&self, request: Request<v1::AttachRequest>) -> Result<Response<RouteStream>, Status> {
        RoutingTransport::attach(&self.0, "served", request.into_inner()).await.map(Response::new)
    }

    async fn ack(
        &self,
        request: Request<v1::RouteAckRequest>,
    ) -> Result<Response<v1::RouteAckResponse>, Status> {
        RoutingTransport::ack(&self.0, "served", request.into_inner()).await.map(Response::new)
    }

    async fn heartbeat(
        &self,
        request: Request<v1::RouterHeartbeatRequest>,
    ) -> Result<Response<v1::HeartbeatResponse>, Status> {
        RoutingTransport::heartbeat(&self.0, "served", request.into_inner()).await.map(Response::new)
    }

    async fn detach(
        &self,
        request: Request<v1::DetachRequest>,
    ) -> Result<Response<v1::DetachResponse>, Status> {
        RoutingTransport::detach(&self.0, "served", request.into_inner()).await.map(Response::new)
    }
}

/// Serves on a free port until the guard is dropped.
async fn serve(service: Fake) -> (String, DropGuard) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let stop = CancellationToken::new();
    let stopped = stop.clone().cancelled_owned();
    let server = tonic::transport::Server::builder().add_service(RoutingServer::new(Served(service)));
    tokio::spawn(server.serve_with_incoming_shutdown(TcpListenerStream::new(listener), stopped));
    (format!("http://{address}"), stop.drop_guard())
}

#[tokio::test]
async fn a_switch_over_grpc_is_the_same() {
    let (service, owners) = (Fake::new(vec![open(0, "old", 1)]), Owners::new());
    let (endpoint, _serving) = serve(service.clone()).await;
    let options = RouterOptions::new("r", [endpoint]);
    let router = Router::forwarding_over(options, owners.clone(), GrpcTransport::new()).expect("valid");
    let (requests, mut status) = (router.cutover(), router.status());
    let shutdown = CancellationToken::new();
    let run = tokio::spawn(router.run(shutdown.clone()));
    let at = crate::fake::at(0);

    timeout(PATIENCE, status.wait_for(|status| status.is_open)).await.expect("in time").expect("it runs");
    assert_eq!(requests.request(&at, Bytes::from("first")).await.expect("answered"), "old");
    service.set(stash(0, "h"));
    timeout(PATIENCE, service.wait_for_ack(0, "h")).await.expect("in time");
    let stashed = requests.request(&at, Bytes::from("stashed"));
    service.set(open(0, "new", 2));
    assert_eq!(timeout(PATIENCE, stashed).await.expect("in time").expect("answered"), "new");

    shutdown.cancel();
    let end = timeout(PATIENCE, run).await.expect("in time").expect("no panic");
    assert_eq!(end.expect("in good order"), RouterStopped::Detached);
    assert_eq!(service.asked().last(), Some(&Asked::Detach));
}
