//! Ends routers' sessions on purpose.

use kafka_assigner_core::state::Entry;
use kafka_assigner_proto::v1::DetachRequest;
use kafka_assigner_proto::{Reason, status};
use tonic::Status;

use super::service::RouterService;
use crate::access::CallPermit;
use crate::refusal;

impl RouterService {
    /// Ends a router's session: it has stopped, so no move waits for it from then on. Cancel safe: repeating it is
    /// harmless.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn detach(&self, request: DetachRequest, permit: &CallPermit) -> Result<(), Status> {
        let (group, router) = self.caller(request.caller.as_ref(), permit).await?;
        let lease = group.read(|state| {
            let registration = state.routers().get(&router.name).and_then(Entry::readable)?;
            (registration.incarnation == router.incarnation).then_some(registration.lease)
        });
        let lease = lease.ok_or_else(|| {
            let message = format!("no session {router} of a router is registered in group {}", group.name());
            status(Reason::RouterNotFound, message)
        })?;
        group.routers().note_leaving(&router);
        // The registration goes with its lease.
        self.instance.store().revoke(lease).await.map_err(|e| refusal::store(&e))?;
        tracing::info!(group = %group.name(), %router, "router left");
        self.instance.catch_up(&group).await
    }
}
