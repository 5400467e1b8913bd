//! `kafka_assigner.v1.Admin`.

use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::admin_server::Admin;
use tonic::{Request, Response, Status};

use crate::admin::{AdminService, Events};
use crate::caller::{Right, authorize};

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

/// One method for each call: who may make it, and who does it.
macro_rules! calls {
    ($($call:ident($request:ident) -> $response:ident, $right:ident;)+) => {
        #[tonic::async_trait]
        impl Admin for Operators {
            type WatchStream = Events;

            $(async fn $call(
                &self,
                request: Request<v1::$request>,
            ) -> Result<Response<calls!(@ $response)>, Status> {
                authorize(&request, Right::$right)?;
                self.0.$call(request.into_inner()).await.map(Response::new)
            })+
        }
    };
    (@ Events) => { Events };
    (@ $response:ident) => { v1::$response };
}

calls! {
    list_groups(ListGroupsRequest) -> ListGroupsResponse, Read;
    describe_group(DescribeGroupRequest) -> DescribeGroupResponse, Read;
    set_group_config(SetGroupConfigRequest) -> SetGroupConfigResponse, Operate;
    delete_group(DeleteGroupRequest) -> DeleteGroupResponse, Operate;
    list_topics(ListTopicsRequest) -> ListTopicsResponse, Read;
    set_topic(SetTopicRequest) -> SetTopicResponse, Operate;
    delete_topic(DeleteTopicRequest) -> DeleteTopicResponse, Operate;
    list_consumers(ListConsumersRequest) -> ListConsumersResponse, Read;
    list_assignments(ListAssignmentsRequest) -> ListAssignmentsResponse, Read;
    list_handoffs(ListHandoffsRequest) -> ListHandoffsResponse, Read;
    get_leader(GetLeaderRequest) -> GetLeaderResponse, Read;
    plan(PlanRequest) -> PlanResponse, Read;
    explain(ExplainRequest) -> ExplainResponse, Read;
    abort_handoff(AbortHandoffRequest) -> AbortHandoffResponse, Operate;
    watch(WatchRequest) -> Events, Read;
}
