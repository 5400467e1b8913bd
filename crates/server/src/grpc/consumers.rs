//! `kafka_assigner.v1.KafkaAssigner`.

use kafka_assigner_core::ack::MemberAck;
use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssigner;
use kafka_assigner_proto::v1::{
    AckResult, Caller, DeregisterRequest, DeregisterResponse, HeartbeatRequest, HeartbeatResponse,
    PartitionCaughtUpRequest, PartitionCaughtUpResponse, PartitionDrainedRequest, PartitionDrainedResponse,
    PartitionReadyRequest, PartitionReadyResponse, PartitionReleasedRequest, PartitionReleasedResponse,
    PartitionRestedRequest, PartitionRestedResponse, PartitionTakenRequest, PartitionTakenResponse,
    RegisterRequest, WarmFailedRequest, WarmFailedResponse,
};
use tonic::{Request, Response, Status};

use super::acks;
use crate::commands::Commands;
use crate::consumer::ConsumerService;

/// The gRPC face of the service for consumers.
#[derive(Debug, Clone)]
pub struct Consumers(ConsumerService);

impl Consumers {
    /// The face of `service`.
    #[must_use]
    pub const fn new(service: ConsumerService) -> Self {
        Self(service)
    }

    /// Records what one of the calls that carry acks says; `read` takes its items apart.
    async fn acknowledge<I>(
        &self,
        caller: Option<Caller>,
        items: &[I],
        read: impl Fn(&I) -> Result<MemberAck, Status>,
    ) -> Result<Vec<AckResult>, Status> {
        let acks = acks::all(items, read)?;
        self.0.acknowledge(caller, &acks).await
    }
}

#[tonic::async_trait]
impl KafkaAssigner for Consumers {
    type RegisterStream = Commands;

    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<Commands>, Status> {
        // There is none where the call came over no connection of ours.
        let connection = request.extensions().get().cloned().unwrap_or_default();
        self.0.register(request.into_inner(), connection).await.map(Response::new)
    }

    async fn heartbeat(
        &self,
        request: Request<HeartbeatRequest>,
    ) -> Result<Response<HeartbeatResponse>, Status> {
        self.0.heartbeat(request.into_inner()).await.map(Response::new)
    }

    async fn partition_ready(
        &self,
        request: Request<PartitionReadyRequest>,
    ) -> Result<Response<PartitionReadyResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, &request.partitions, acks::ready).await?;
        Ok(Response::new(PartitionReadyResponse { results }))
    }

    async fn partition_taken(
        &self,
        request: Request<PartitionTakenRequest>,
    ) -> Result<Response<PartitionTakenResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, &request.partitions, acks::taken).await?;
        Ok(Response::new(PartitionTakenResponse { results }))
    }

    async fn partition_rested(
        &self,
        request: Request<PartitionRestedRequest>,
    ) -> Result<Response<PartitionRestedResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, &request.partitions, acks::rested).await?;
        Ok(Response::new(PartitionRestedResponse { results }))
    }

    async fn partition_drained(
        &self,
        request: Request<PartitionDrainedRequest>,
    ) -> Result<Response<PartitionDrainedResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, &request.partitions, acks::drained).await?;
        Ok(Response::new(PartitionDrainedResponse { results }))
    }

    async fn partition_caught_up(
        &self,
        request: Request<PartitionCaughtUpRequest>,
    ) -> Result<Response<PartitionCaughtUpResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, &request.partitions, acks::caught_up).await?;
        Ok(Response::new(PartitionCaughtUpResponse { results }))
    }

    async fn partition_released(
        &self,
        request: Request<PartitionReleasedRequest>,
    ) -> Result<Response<PartitionReleasedResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, &request.partitions, acks::released).await?;
        Ok(Response::new(PartitionReleasedResponse { results }))
    }

    async fn warm_failed(
        &self,
        request: Request<WarmFailedRequest>,
    ) -> Result<Response<WarmFailedResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, &request.partitions, acks::warm_failed).await?;
        Ok(Response::new(WarmFailedResponse { results }))
    }

    async fn deregister(
        &self,
        request: Request<DeregisterRequest>,
    ) -> Result<Response<DeregisterResponse>, Status> {
        self.0.deregister(request.into_inner()).await.map(Response::new)
    }
}
