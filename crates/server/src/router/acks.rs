//! Records the acks of routers.

use kafka_assigner_core::ack::MemberAck;
use kafka_assigner_proto::v1::{AckResult, RouterCaller};
use tonic::Status;

use super::service::RouterService;
use crate::access::CallPermit;
use crate::recording::AckRecorder;

impl RouterService {
    /// Records that a router sends nothing to old owners any more, and what follows from it; one result for each ack, in
    /// their order. Cancel safe: what was not answered is repeated.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn acknowledge(
        &self,
        caller: Option<RouterCaller>,
        acks: &[MemberAck],
        permit: &CallPermit,
    ) -> Result<Vec<AckResult>, Status> {
        let (group, router) = self.caller(caller.as_ref(), permit).await?;
        AckRecorder { instance: &self.instance, group: &group, member: &router }.record(acks).await
    }
}
