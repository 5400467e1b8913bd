//! Records what routers say of freezes.

use kafka_assigner_core::ack::{Verdict, judge_router};
use kafka_assigner_core::id::{HandoffId, Member, TopicPartition};
use kafka_assigner_core::moment::WallMillis;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::{AckResult, RouteAck, RouteAckRequest};
use tonic::Status;

use super::RouterService;
use crate::convert;
use crate::recording::{Recorder, Word, bounded};
use crate::refusal;

/// A router's word that nothing of a handoff's partitions is on its way any more.
struct Frozen<'a> {
    router: &'a Member,
    at: TopicPartition,
    id: HandoffId,
}

impl Word for Frozen<'_> {
    fn at(&self) -> &TopicPartition {
        &self.at
    }

    fn names_handoff(&self) -> bool {
        true
    }

    fn judge(&self, state: &GroupState, _wall: WallMillis) -> Verdict {
        judge_router(state, self.router, &self.at, &self.id)
    }
}

impl RouterService {
    /// Records that a router sends nothing to old owners any more, and what follows from it. Cancel safe: what was not
    /// answered is repeated.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn ack(&self, request: RouteAckRequest) -> Result<Vec<AckResult>, Status> {
        bounded(request.routes.len())?;
        let (group, router) = self.caller(request.caller.as_ref()).await?;
        let frozen = request.routes.iter().map(|ack| frozen(&router, ack));
        let words = frozen.collect::<Result<Vec<Frozen<'_>>, Status>>()?;
        Recorder { instance: &self.instance, group: &group }.record(&words).await
    }
}

fn frozen<'a>(router: &'a Member, ack: &RouteAck) -> Result<Frozen<'a>, Status> {
    if ack.handoff_id.is_empty() {
        return Err(refusal::field(
            "handoff_id is missing: an ack counts only for the handoff that it names",
        ));
    }
    let at = convert::partition(&ack.topic, ack.partition)?;
    Ok(Frozen { router, at, id: HandoffId::new(&ack.handoff_id) })
}
