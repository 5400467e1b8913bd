//! Calls moves off.

use kafka_assigner_core::ack::{self, Verdict};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::{AbortHandoffRequest, AbortHandoffResponse};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::Txn;
use tonic::Status;

use super::service::{ATTEMPTS, AdminService, kept, lost_race};
use crate::convert;

/// The outcome of a request to call a handoff off.
struct AbortIntent {
    id: String,
    /// `None`: it was recorded before.
    txn: Option<Txn>,
}

impl AdminService {
    /// Asks for the cancellation of a move; the group's leader then cancels it. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn abort_handoff(&self, request: AbortHandoffRequest) -> Result<AbortHandoffResponse, Status> {
        let at = convert::partition(&request.topic, request.partition)?;
        let reason = kept(&request.reason);
        let wall = self.instance.options().wall.now();
        for _ in 0..ATTEMPTS {
            let group = self.current(&request.group).await?;
            let asked = group.read(|state| {
                let id = named(state, &at, &request.handoff_id)?;
                asked(id, &at, ack::abort(state, &at, &reason, wall))
            })?;
            let applied = match asked.txn {
                Some(txn) => self.instance.change(&group, txn).await?,
                None => true,
            };
            if applied {
                tracing::info!(group = %group.name(), unit = %at, reason, "move called off by an operator");
                return Ok(AbortHandoffResponse { handoff_id: asked.id });
            }
        }
        Err(lost_race(&format!("the handoff of {at}")))
    }
}

/// The id of the handoff that is meant: the one under way, which an id given must name.
fn named(state: &GroupState, at: &TopicPartition, given: &str) -> Result<String, Status> {
    let under_way = state.handoff_of(at).map(|handoff| handoff.id.to_string());
    under_way.filter(|id| given.is_empty() || id == given).ok_or_else(|| over(at, given))
}

fn over(at: &TopicPartition, given: &str) -> Status {
    let which = if given.is_empty() { String::new() } else { format!(" {given}") };
    status(Reason::HandoffNotFound, format!("no handoff{which} of partition {at} is under way"))
}

fn asked(id: String, at: &TopicPartition, verdict: Verdict) -> Result<AbortIntent, Status> {
    match verdict {
        Verdict::Record { write, .. } => Ok(AbortIntent { id, txn: Some(write.unfenced()) }),
        Verdict::Already => Ok(AbortIntent { id, txn: None }),
        Verdict::Over => Err(over(at, &id)),
        Verdict::Refused { because } => Err(status(
            Reason::HandoffComplete,
            format!("the handoff of {at} can't be called off: {because}"),
        )),
        Verdict::Unreadable { error } => {
            Err(status(Reason::RecordUnreadable, format!("partition {at} is left alone: {error}")))
        }
    }
}
