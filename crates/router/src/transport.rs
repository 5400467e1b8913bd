//! The calls of a router to an instance.

use std::pin::Pin;

use async_trait::async_trait;
use futures::Stream;
use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::routing_client::RoutingClient;
use kafka_assigner_session::{GrpcTransport, InvalidEndpoint, Transport};
use tonic::Status;

/// The commands of one Attach.
pub type RouteStream = Pin<Box<dyn Stream<Item = Result<v1::RouteCommand, Status>> + Send>>;

/// Carries a router's calls to the instance at an endpoint: over gRPC, or within the process in tests and simulations.
///
/// The callers bound the time of each call and may drop it at any time, so implementations need
/// no timeouts of their own and must be cancel safe.
#[async_trait]
pub trait RoutingTransport: Send + Sync + 'static {
    /// Checks that an endpoint of the options can be called, without calling it. By default each can.
    ///
    /// # Errors
    ///
    /// It never can.
    fn check(&self, endpoint: &str) -> Result<(), InvalidEndpoint> {
        let _ = endpoint;
        Ok(())
    }

    /// Opens a session or attaches to one. Dropping the stream detaches the stream, not the session.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn attach(&self, endpoint: &str, request: v1::AttachRequest) -> Result<RouteStream, Status>;

    /// Acknowledges handoffs.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn ack(&self, endpoint: &str, request: v1::RouteAckRequest)
    -> Result<v1::RouteAckResponse, Status>;

    /// Renews a session.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn heartbeat(
        &self,
        endpoint: &str,
        request: v1::RouterHeartbeatRequest,
    ) -> Result<v1::HeartbeatResponse, Status>;

    /// Leaves.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn detach(&self, endpoint: &str, request: v1::DetachRequest) -> Result<v1::DetachResponse, Status>;
}

#[async_trait]
impl RoutingTransport for GrpcTransport {
    fn check(&self, endpoint: &str) -> Result<(), InvalidEndpoint> {
        Transport::check(self, endpoint)
    }

    async fn attach(&self, endpoint: &str, request: v1::AttachRequest) -> Result<RouteStream, Status> {
        let mut client = RoutingClient::new(self.channel(endpoint)?);
        Ok(Box::pin(client.attach(request).await?.into_inner()))
    }

    async fn ack(
        &self,
        endpoint: &str,
        request: v1::RouteAckRequest,
    ) -> Result<v1::RouteAckResponse, Status> {
        Ok(RoutingClient::new(self.channel(endpoint)?).ack(request).await?.into_inner())
    }

    async fn heartbeat(
        &self,
        endpoint: &str,
        request: v1::RouterHeartbeatRequest,
    ) -> Result<v1::HeartbeatResponse, Status> {
        Ok(RoutingClient::new(self.channel(endpoint)?).heartbeat(request).await?.into_inner())
    }

    async fn detach(&self, endpoint: &str, request: v1::DetachRequest) -> Result<v1::DetachResponse, Status> {
        Ok(RoutingClient::new(self.channel(endpoint)?).detach(request).await?.into_inner())
    }
}
