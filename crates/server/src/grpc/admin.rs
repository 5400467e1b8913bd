//! `kafka_assigner.v1.Admin`.

use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::admin_server::Admin;
use tonic::{Request, Response, Status};

use crate::admin::{AdminService, Events};

/// The gRPC face of the service for operators.
#[derive(Debug, Clone)]
pub struct Operators(AdminService);

impl Operators {
    /// The face of `service`.
    #[must_use]
    pub const fn new(service: AdminService) -> Self {
        Self(service)
    }
}

/// One method for each call.
macro_rules! calls {
    ($($call:ident($request:ident) -> $response:ident;)+) => {
        #[tonic::async_trait]
        impl Admin for Operators {
            type WatchStream = Events;

            $(async fn $call(
                &self,
                request: Request<v1::$request>,
            ) -> Result<Response<calls!(@ $response)>, Status> {
                self.0.$call(request.into_inner()).await.map(Response::new)
            })+
        }
    };
    (@ Events) => { Events };
    (@ $response:ident) => { v1::$response };
}

calls! {
    list_groups(ListGroupsRequest) -> ListGroupsResponse;
    describe_group(DescribeGroupRequest) -> DescribeGroupResponse;
    set_group_config(SetGroupConfigRequest) -> SetGroupConfigResponse;
    delete_group(DeleteGroupRequest) -> DeleteGroupResponse;
    list_topics(ListTopicsRequest) -> ListTopicsResponse;
    set_topic(SetTopicRequest) -> SetTopicResponse;
    delete_topic(DeleteTopicRequest) -> DeleteTopicResponse;
    list_consumers(ListConsumersRequest) -> ListConsumersResponse;
    list_assignments(ListAssignmentsRequest) -> ListAssignmentsResponse;
    list_handoffs(ListHandoffsRequest) -> ListHandoffsResponse;
    get_leader(GetLeaderRequest) -> GetLeaderResponse;
    plan(PlanRequest) -> PlanResponse;
    explain(ExplainRequest) -> ExplainResponse;
    abort_handoff(AbortHandoffRequest) -> AbortHandoffResponse;
    resume_partition(ResumePartitionRequest) -> ResumePartitionResponse;
    end_consumer(EndConsumerRequest) -> EndConsumerResponse;
    watch(WatchRequest) -> Events;
}
