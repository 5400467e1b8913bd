//! How calls reach an instance.

use std::pin::Pin;

use async_trait::async_trait;
use futures::Stream;
use kafka_assigner_proto::v1;
use tonic::Status;

/// The commands of one Register.
pub type CommandStream = Pin<Box<dyn Stream<Item = Result<v1::AssignmentCommand, Status>> + Send>>;

/// Carries calls to the instance at an endpoint: over gRPC, or within the process in tests and simulations.
///
/// The callers bound the time of each call and drop it when they don't want it any more, so implementations need
/// no timeouts of their own and must be cancel safe. A call that never got an answer fails with any status that
/// is not a refusal (`UNAVAILABLE`, `UNKNOWN`, …); its outcome counts as unknown.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Opens a session or attaches to one. Dropping the stream detaches.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn register(&self, endpoint: &str, request: v1::RegisterRequest) -> Result<CommandStream, Status>;

    /// Renews a session.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn heartbeat(
        &self,
        endpoint: &str,
        request: v1::HeartbeatRequest,
    ) -> Result<v1::HeartbeatResponse, Status>;

    /// Acknowledges preparations.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn partition_ready(
        &self,
        endpoint: &str,
        request: v1::PartitionReadyRequest,
    ) -> Result<v1::PartitionReadyResponse, Status>;

    /// Acknowledges that partitions were stopped.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn partition_drained(
        &self,
        endpoint: &str,
        request: v1::PartitionDrainedRequest,
    ) -> Result<v1::PartitionDrainedResponse, Status>;

    /// Acknowledges that partitions were caught up with.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn partition_caught_up(
        &self,
        endpoint: &str,
        request: v1::PartitionCaughtUpRequest,
    ) -> Result<v1::PartitionCaughtUpResponse, Status>;

    /// Acknowledges that partitions are processed.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn partition_taken(
        &self,
        endpoint: &str,
        request: v1::PartitionTakenRequest,
    ) -> Result<v1::PartitionTakenResponse, Status>;

    /// Acknowledges that partitions were given up.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn partition_released(
        &self,
        endpoint: &str,
        request: v1::PartitionReleasedRequest,
    ) -> Result<v1::PartitionReleasedResponse, Status>;

    /// Declines preparations.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn warm_failed(
        &self,
        endpoint: &str,
        request: v1::WarmFailedRequest,
    ) -> Result<v1::WarmFailedResponse, Status>;

    /// Leaves.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's.
    async fn deregister(
        &self,
        endpoint: &str,
        request: v1::DeregisterRequest,
    ) -> Result<v1::DeregisterResponse, Status>;
}
