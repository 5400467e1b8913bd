//! `kafka_assigner.v1.Admin`.

use kafka_assigner_access::Right;
use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::admin_server::Admin;
use tonic::{Request, Response, Status};

use super::audit::{AuditLine, panicked};
use crate::access::{Access, Allowed, StreamKind};
use crate::admin::{AdminService, Events};

/// The gRPC face of the service for operators.
#[derive(Debug, Clone)]
pub struct Operators {
    service: AdminService,
    access: Access,
}

impl Operators {
    /// The face of `service`, for those who have `access`.
    #[must_use]
    pub const fn new(service: AdminService, access: Access) -> Self {
        Self { service, access }
    }
}

/// One method for each call about one group that only looks, and one for each that changes something.
macro_rules! calls {
    (
        look { $($look:ident($look_request:ident) -> $look_response:ident;)+ }
        change { $($change:ident($change_request:ident) -> $change_response:ident;)+ }
    ) => {
        #[tonic::async_trait]
        impl Admin for Operators {
            type WatchStream = Allowed<Events>;

            /// Leaves out the groups that the caller may not look at.
            async fn list_groups(
                &self,
                request: Request<v1::ListGroupsRequest>,
            ) -> Result<Response<v1::ListGroupsResponse>, Status> {
                let caller = self.access.admit(&request)?;
                let request = request.into_inner();
                self.service.list_groups(request, |group| caller.may_see(group)).await.map(Response::new)
            }

            async fn watch(
                &self,
                request: Request<v1::WatchRequest>,
            ) -> Result<Response<Allowed<Events>>, Status> {
                let permit = self.access.admit(&request)?.permit(Right::Read, &request.get_ref().group)?;
                let permit = permit.stream(StreamKind::Watch)?;
                let events = self.service.watch(request.into_inner()).await?;
                Ok(Response::new(Allowed::new(events, permit)))
            }

            $(async fn $look(
                &self,
                request: Request<v1::$look_request>,
            ) -> Result<Response<v1::$look_response>, Status> {
                self.access.admit(&request)?.permit(Right::Read, &request.get_ref().group)?;
                self.service.$look(request.into_inner()).await.map(Response::new)
            })+

            $(async fn $change(
                &self,
                request: Request<v1::$change_request>,
            ) -> Result<Response<v1::$change_response>, Status> {
                let caller = self.access.admit(&request)?;
                let (service, asked) = (self.service.clone(), request.into_inner());
                let line = AuditLine::new(caller.in_words(), stringify!($change), asked.clone());
                // A task of its own: a caller that goes away can't keep the line from being written.
                let change = tokio::spawn(async move {
                    let permit = caller.permit(Right::Operate, &asked.group);
                    line.audit(&service, async { permit?; service.$change(asked).await }).await
                });
                change.await.unwrap_or_else(|_| Err(panicked())).map(Response::new)
            })+
        }
    };
}

calls! {
    look {
        describe_group(DescribeGroupRequest) -> DescribeGroupResponse;
        list_topics(ListTopicsRequest) -> ListTopicsResponse;
        list_consumers(ListConsumersRequest) -> ListConsumersResponse;
        list_assignments(ListAssignmentsRequest) -> ListAssignmentsResponse;
        list_handoffs(ListHandoffsRequest) -> ListHandoffsResponse;
        get_leader(GetLeaderRequest) -> GetLeaderResponse;
        plan(PlanRequest) -> PlanResponse;
        explain(ExplainRequest) -> ExplainResponse;
    }
    change {
        set_group_config(SetGroupConfigRequest) -> SetGroupConfigResponse;
        delete_group(DeleteGroupRequest) -> DeleteGroupResponse;
        set_topic(SetTopicRequest) -> SetTopicResponse;
        delete_topic(DeleteTopicRequest) -> DeleteTopicResponse;
        abort_handoff(AbortHandoffRequest) -> AbortHandoffResponse;
        resume_partition(ResumePartitionRequest) -> ResumePartitionResponse;
        end_consumer(EndConsumerRequest) -> EndConsumerResponse;
    }
}
