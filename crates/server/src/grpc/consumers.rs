//! `kafka_assigner.v1.KafkaAssigner`.

use kafka_assigner_access::Right;
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
use crate::access::{Access, CallPermit, KnownCaller, StreamKind};
use crate::commands::Commands;
use crate::consumer::ConsumerService;
use crate::refusal;

/// The gRPC face of the service for consumers.
#[derive(Debug, Clone)]
pub struct Consumers {
    service: ConsumerService,
    access: Access,
}

impl Consumers {
    /// The face of `service`, for those who have `access`.
    #[must_use]
    pub const fn new(service: ConsumerService, access: Access) -> Self {
        Self { service, access }
    }

    /// The permission to act as the consumer that the call names.
    fn permit(by: KnownCaller, caller: Option<&Caller>) -> Result<CallPermit, Status> {
        let caller = caller.ok_or_else(|| refusal::field("caller is missing: it names the session"))?;
        by.permit_as(Right::Consume, &caller.group, &caller.consumer_name)
    }

    /// Records what one of the calls that carry acks says; `read` takes its items apart.
    async fn acknowledge<I>(
        &self,
        by: KnownCaller,
        (caller, items): (Option<Caller>, &[I]),
        read: impl Fn(&I) -> Result<MemberAck, Status>,
    ) -> Result<Vec<AckResult>, Status> {
        let permit = Self::permit(by, caller.as_ref())?;
        let acks = acks::all(items, read)?;
        self.service.acknowledge(caller, &acks, &permit).await
    }
}

#[tonic::async_trait]
impl KafkaAssigner for Consumers {
    type RegisterStream = Commands;

    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<Commands>, Status> {
        let RegisterRequest { group, consumer_name, .. } = request.get_ref();
        let permit = self.access.admit(&request)?.permit_as(Right::Consume, group, consumer_name)?;
        // There is none where the call came over no connection of ours.
        let connection = request.extensions().get().cloned().unwrap_or_default();
        let permit = permit.stream(StreamKind::Member)?;
        self.service.register(request.into_inner(), connection, permit).await.map(Response::new)
    }

    async fn heartbeat(
        &self,
        request: Request<HeartbeatRequest>,
    ) -> Result<Response<HeartbeatResponse>, Status> {
        let HeartbeatRequest { group, consumer_name, .. } = request.get_ref();
        let permit = self.access.admit(&request)?.permit_as(Right::Consume, group, consumer_name)?;
        self.service.heartbeat(request.into_inner(), &permit).await.map(Response::new)
    }

    async fn partition_ready(
        &self,
        request: Request<PartitionReadyRequest>,
    ) -> Result<Response<PartitionReadyResponse>, Status> {
        let (by, request) = (self.access.admit(&request)?, request.into_inner());
        let said = (request.caller, &*request.partitions);
        let results = self.acknowledge(by, said, acks::ready).await?;
        Ok(Response::new(PartitionReadyResponse { results }))
    }

    async fn partition_taken(
        &self,
        request: Request<PartitionTakenRequest>,
    ) -> Result<Response<PartitionTakenResponse>, Status> {
        let (by, request) = (self.access.admit(&request)?, request.into_inner());
        let said = (request.caller, &*request.partitions);
        let results = self.acknowledge(by, said, acks::taken).await?;
        Ok(Response::new(PartitionTakenResponse { results }))
    }

    async fn partition_rested(
        &self,
        request: Request<PartitionRestedRequest>,
    ) -> Result<Response<PartitionRestedResponse>, Status> {
        let (by, request) = (self.access.admit(&request)?, request.into_inner());
        let said = (request.caller, &*request.partitions);
        let results = self.acknowledge(by, said, acks::rested).await?;
        Ok(Response::new(PartitionRestedResponse { results }))
    }

    async fn partition_drained(
        &self,
        request: Request<PartitionDrainedRequest>,
    ) -> Result<Response<PartitionDrainedResponse>, Status> {
        let (by, request) = (self.access.admit(&request)?, request.into_inner());
        let said = (request.caller, &*request.partitions);
        let results = self.acknowledge(by, said, acks::drained).await?;
        Ok(Response::new(PartitionDrainedResponse { results }))
    }

    async fn partition_caught_up(
        &self,
        request: Request<PartitionCaughtUpRequest>,
    ) -> Result<Response<PartitionCaughtUpResponse>, Status> {
        let (by, request) = (self.access.admit(&request)?, request.into_inner());
        let said = (request.caller, &*request.partitions);
        let results = self.acknowledge(by, said, acks::caught_up).await?;
        Ok(Response::new(PartitionCaughtUpResponse { results }))
    }

    async fn partition_released(
        &self,
        request: Request<PartitionReleasedRequest>,
    ) -> Result<Response<PartitionReleasedResponse>, Status> {
        let (by, request) = (self.access.admit(&request)?, request.into_inner());
        let said = (request.caller, &*request.partitions);
        let results = self.acknowledge(by, said, acks::released).await?;
        Ok(Response::new(PartitionReleasedResponse { results }))
    }

    async fn warm_failed(
        &self,
        request: Request<WarmFailedRequest>,
    ) -> Result<Response<WarmFailedResponse>, Status> {
        let (by, request) = (self.access.admit(&request)?, request.into_inner());
        let said = (request.caller, &*request.partitions);
        let results = self.acknowledge(by, said, acks::warm_failed).await?;
        Ok(Response::new(WarmFailedResponse { results }))
    }

    async fn deregister(
        &self,
        request: Request<DeregisterRequest>,
    ) -> Result<Response<DeregisterResponse>, Status> {
        let permit = Self::permit(self.access.admit(&request)?, request.get_ref().caller.as_ref())?;
        self.service.deregister(request.into_inner(), &permit).await.map(Response::new)
    }
}
