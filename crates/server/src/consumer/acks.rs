//! Records the acks of consumers.

use kafka_assigner_core::ack::MemberAck;
use kafka_assigner_proto::v1::{AckResult, Caller};
use kafka_assigner_types::id::Member;
use tonic::Status;

use super::service::ConsumerService;
use crate::access::CallPermit;
use crate::group::ServedGroup;
use crate::recording::AckRecorder;

impl ConsumerService {
    /// Records the acks of a consumer about handoffs, and what follows from them; one result for each, in their order.
    /// Cancel safe: what was not answered is repeated.
    ///
    /// # Errors
    /// See the definitions of the calls that carry acks.
    pub async fn acknowledge(
        &self,
        caller: Option<Caller>,
        acks: &[MemberAck],
        permit: &CallPermit,
    ) -> Result<Vec<AckResult>, Status> {
        let (group, member) = self.caller(caller.as_ref(), permit).await?;
        self.record(&group, &member, acks).await
    }

    /// Records the acks of `member`.
    pub(super) async fn record(
        &self,
        group: &ServedGroup,
        member: &Member,
        acks: &[MemberAck],
    ) -> Result<Vec<AckResult>, Status> {
        AckRecorder { instance: &self.instance, group, member }.record(acks).await
    }
}
