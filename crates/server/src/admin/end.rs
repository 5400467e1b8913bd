//! Ends sessions of consumers.

use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::session;
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_proto::v1::{EndConsumerRequest, EndConsumerResponse};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::name::MemberName;
use tonic::Status;

use super::service::{ATTEMPTS, AdminService, kept, lost_race};
use crate::refusal;

impl AdminService {
    /// Ends a consumer's session by force. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn end_consumer(&self, request: EndConsumerRequest) -> Result<EndConsumerResponse, Status> {
        let name = MemberName::new(&request.consumer).map_err(|error| refusal::name(&error))?;
        let mut incarnation = request.incarnation;
        for _ in 0..ATTEMPTS {
            let group = self.current(&request.group).await?;
            let (member, write) = group.read(|state| {
                let member = registered(state, &name, &incarnation)?;
                let write = session::end(state, &member, FenceReason::EndedByOperator);
                Ok::<_, Status>((member, write))
            })?;
            let applied = match write {
                Some(write) => self.instance.change(&group, write.unfenced()).await?,
                // It is ending already.
                None => true,
            };
            if applied {
                let reason = kept(&request.reason);
                tracing::warn!(group = %group.name(), consumer = %member, reason, "session ended by an operator");
                return Ok(EndConsumerResponse { incarnation: member.incarnation.to_string() });
            }
            // The session that was meant may be over, and the next one under the name is another.
            incarnation = member.incarnation.to_string();
        }
        Err(lost_race(&format!("the registration of {name}")))
    }
}

/// The session under `name`, which has to be `incarnation` where one is given.
fn registered(state: &GroupState, name: &MemberName, incarnation: &str) -> Result<Member, Status> {
    if let Some(error) = state.consumers().get(name).and_then(Entry::error) {
        let message = format!("consumer {name} is left alone: its record can't be read: {error}");
        return Err(status(Reason::RecordUnreadable, message));
    }
    let found = state.registration(name).map(|consumer| consumer.incarnation.clone());
    let found = found.filter(|found| incarnation.is_empty() || found.as_str() == incarnation);
    found.map(|incarnation| Member { name: name.clone(), incarnation }).ok_or_else(|| {
        let which = if incarnation.is_empty() { String::new() } else { format!(" in session {incarnation}") };
        let message = format!("no consumer {name} is registered{which} in group {}", state.layout().group());
        status(Reason::ConsumerNotFound, message)
    })
}
