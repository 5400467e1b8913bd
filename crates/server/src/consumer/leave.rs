//! Ends sessions on purpose.

use kafka_assigner_core::session::{self, Farewell, Leaving};
use kafka_assigner_core::write::Write;
use kafka_assigner_proto::v1::{DeregisterMode, DeregisterRequest, DeregisterResponse};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::{Lease, LeaseId};
use tonic::Status;

use super::service::ConsumerService;
use crate::access::CallPermit;
use crate::group::ServedGroup;
use crate::refusal;

/// The most times that leaving is tried anew when the registration changed under it (by a progress report, say).
const ATTEMPTS: usize = 5;

impl ConsumerService {
    /// Ends a session, at once or once everything is handed over. Cancel safe: repeating it is harmless.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn deregister(
        &self,
        request: DeregisterRequest,
        permit: &CallPermit,
    ) -> Result<DeregisterResponse, Status> {
        let mode = DeregisterMode::try_from(request.mode)
            .map_err(|_| refusal::field(format!("mode = {} is refused: it must be 0 to 3", request.mode)))?;
        let (group, member) = self.caller(request.caller.as_ref(), permit).await?;
        let leaving = match mode {
            DeregisterMode::Unspecified | DeregisterMode::Drain => Leaving::Drain,
            DeregisterMode::Now => {
                self.mark_lease(&group, &member, false).await?.map_or(Leaving::Now, Leaving::Noted)
            }
            DeregisterMode::Restart => {
                let lease = self.mark_lease(&group, &member, true).await?;
                Leaving::Restart(lease.ok_or_else(|| not_registered(&group, &member))?)
            }
        };
        self.leave(&group, &member, &leaving).await?;
        let drains = leaving == Leaving::Drain;
        let nobody_takes = drains && group.read(|state| session::nobody_takes(state, &member));
        Ok(DeregisterResponse { nobody_takes })
    }

    /// The lease of the mark that a member leaves behind, where it needs one.
    async fn mark_lease(
        &self,
        group: &ServedGroup,
        member: &Member,
        comes_back: bool,
    ) -> Result<Option<Lease>, Status> {
        let Some(kept) = group.read(|state| session::marked_for(state, member, comes_back)) else {
            return Ok(None);
        };
        self.instance.store().grant(kept).await.map(Some).map_err(|e| refusal::store(&e))
    }

    /// Removes the registration of a member that has handed everything over, if that is still so. The lease of one that a
    /// grant has reached meanwhile runs down by itself.
    pub(super) async fn remove(&self, group: &ServedGroup, member: &Member) -> Result<(), Status> {
        for _ in 0..ATTEMPTS {
            let Some(farewell) = group.read(|state| session::dismiss(state, member)) else { return Ok(()) };
            if self.say(group, farewell.write).await? {
                group.hub().note_leaving(member);
                let has_nothing = group.read(|state| session::has_nothing(state, member));
                tracing::info!(group = %group.name(), consumer = %member, has_nothing, "drained: leaves");
                return self.end_lease(group, farewell.ends.filter(|_| has_nothing)).await;
            }
        }
        Err(kept_changing(member))
    }

    async fn leave(&self, group: &ServedGroup, member: &Member, leaving: &Leaving) -> Result<(), Status> {
        if *leaving != Leaving::Drain {
            group.hub().note_leaving(member);
        }
        let wall = self.instance.options().wall.now();
        for _ in 0..ATTEMPTS {
            let farewell = group.read(|state| session::leave(state, member, leaving, wall));
            let Farewell { write, ends } = farewell.ok_or_else(|| not_registered(group, member))?;
            if self.say(group, write).await? {
                self.end_lease(group, ends).await?;
                tracing::info!(group = %group.name(), consumer = %member, ?leaving, "leaving");
                return Ok(());
            }
        }
        Err(kept_changing(member))
    }

    /// Writes what comes first, and waits until the view shows what became of it; false where it met its guard.
    async fn say(&self, group: &ServedGroup, write: Option<Write>) -> Result<bool, Status> {
        let Some(write) = write else { return Ok(true) };
        self.instance.change(group, write.unfenced()).await
    }

    /// Ends the lease of a session whose consumer has stopped, and with it the registration.
    async fn end_lease(&self, group: &ServedGroup, lease: Option<LeaseId>) -> Result<(), Status> {
        let Some(lease) = lease else { return Ok(()) };
        self.instance.store().revoke(lease).await.map_err(|e| refusal::store(&e))?;
        self.instance.catch_up(group).await
    }
}

fn kept_changing(member: &Member) -> Status {
    status(Reason::LostRace, format!("the registration of {member} kept changing; try again"))
}

fn not_registered(group: &ServedGroup, member: &Member) -> Status {
    let message = format!("no session {member} is registered in group {}", group.name());
    status(Reason::ConsumerNotFound, message)
}
