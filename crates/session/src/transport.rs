//! The transport of calls to an instance.

use std::pin::Pin;

use async_trait::async_trait;
use futures::Stream;
use kafka_assigner_proto::v1;
use tonic::Status;

use crate::invalid_endpoint::InvalidEndpoint;

/// The commands of one Register.
pub type CommandStream = Pin<Box<dyn Stream<Item = Result<v1::AssignmentCommand, Status>> + Send>>;

/// The acks of one call: of each partition the same step of its handoff is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Acks {
    /// The preparations are done.
    Ready(Vec<v1::PartitionAck>),
    /// The preparations failed.
    WarmFailed(Vec<v1::WarmFailure>),
    /// No record of the partitions is in the works.
    Rested(Vec<v1::PartitionAck>),
    /// The partitions were stopped, and their state is kept.
    Drained(Vec<v1::DrainedPartition>),
    /// The fences were taken, and what was left was read.
    CaughtUp(Vec<v1::PartitionAck>),
    /// The partitions are processed.
    Taken(Vec<v1::PartitionAck>),
    /// The partitions were given up.
    Released(Vec<v1::PartitionAck>),
}

/// Carries calls to the instance at an endpoint: over gRPC, or within the process in tests and simulations.
///
/// The callers bound the time of each call and drop it when they don't want it any more, so implementations need
/// no timeouts of their own and must be cancel safe. A call that never got an answer fails with any status that
/// is not a refusal (`UNAVAILABLE`, `UNKNOWN`, …); its outcome counts as unknown.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Checks that an endpoint of the options can be called, without calling it. By default each can.
    ///
    /// # Errors
    ///
    /// It never can.
    fn check(&self, endpoint: &str) -> Result<(), InvalidEndpoint> {
        let _ = endpoint;
        Ok(())
    }

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

    /// Acknowledges steps of handoffs; one result for each, in their order.
    ///
    /// # Errors
    ///
    /// The service's status, or the transport's: then any of them may have taken effect, and all are to be repeated.
    async fn acknowledge(
        &self,
        endpoint: &str,
        caller: v1::Caller,
        acks: Acks,
    ) -> Result<Vec<v1::AckResult>, Status>;

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
