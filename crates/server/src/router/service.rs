//! The service for routers.

use kafka_assigner_core::record::Router;
use kafka_assigner_proto::v1::{HeartbeatResponse, RouterCaller, RouterHeartbeatRequest};
use kafka_assigner_types::id::{Incarnation, Member};
use kafka_assigner_types::name::MemberName;
use tokio::time::Instant;
use tonic::Status;

use crate::access::CallPermit;
use crate::group::ServedGroup;
use crate::group_name::group_name;
use crate::instance::Instance;
use crate::refusal;
use crate::session::{Confirmation, Registered, check_holder, floor};
use crate::stream_state::HeardMember;

/// The service for routers on one instance.
#[derive(Debug, Clone)]
pub struct RouterService {
    pub(super) instance: Instance,
}

impl RouterService {
    /// The service of `instance`.
    #[must_use]
    pub const fn new(instance: Instance) -> Self {
        Self { instance }
    }

    /// Renews a router's session. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn heartbeat(
        &self,
        request: RouterHeartbeatRequest,
        permit: &CallPermit,
    ) -> Result<HeartbeatResponse, Status> {
        let lease = crate::consumer::request::lease(request.lease)?;
        let (group, router) = self.named(request.caller.as_ref()).await?;
        check_holder::<Router>(&group, &router, permit)?;
        let registered = Registered::<Router>::at(&self.instance, &group, &router);
        let deadline = Instant::now() + registered.patience();
        let seen = request.seen.as_ref().map(|seen| floor(&group, seen)).unwrap_or_default();
        let mut confirmation = registered.confirm(lease, seen, &[], deadline).await;
        let metrics = self.instance.metrics();
        metrics.heartbeat(group.name(), confirmation.label());
        if matches!(confirmation, Confirmation::Confirmed { .. }) {
            let (stream, ttl) = (request.stream.as_ref(), registered.ttl());
            let heard = HeardMember { group: &group, member: &router, stream, ttl };
            heard.measure(metrics, group.read(|state| state.route_concern(&router)));
            confirmation = heard.unless_unattached(metrics, group.unattached_routers(), confirmation);
        }
        Ok(confirmation.answer(&self.instance, &group, &router, |state| state.route_concern(&router)))
    }

    /// The group and the router that a call names.
    async fn named(&self, caller: Option<&RouterCaller>) -> Result<(ServedGroup, Member), Status> {
        let caller = caller.ok_or_else(|| refusal::field("caller is missing: it names the session"))?;
        let group = self.instance.group(&group_name(&caller.group)?).await?;
        let name = MemberName::new(&caller.router_name).map_err(|e| refusal::name(&e))?;
        let incarnation = Incarnation::new(&caller.incarnation).map_err(|e| refusal::name(&e))?;
        Ok((group, Member { name, incarnation }))
    }

    /// [`named`](Self::named), with a view that is as new as the store was when the call came in: a word must not be
    /// judged by a view that is older than what made its router say it.
    ///
    /// # Errors
    /// Also where the session is that of another caller than the one with the `permit`.
    pub(super) async fn caller(
        &self,
        caller: Option<&RouterCaller>,
        permit: &CallPermit,
    ) -> Result<(ServedGroup, Member), Status> {
        let (group, router) = self.named(caller).await?;
        self.instance.catch_up(&group).await?;
        check_holder::<Router>(&group, &router, permit)?;
        Ok((group, router))
    }
}
