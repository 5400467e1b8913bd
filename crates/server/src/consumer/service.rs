//! The service for consumers.

use kafka_assigner_core::record::{Consumer, Renewal};
use kafka_assigner_proto::v1::Caller as WireCaller;
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::id::{Incarnation, Member};
use kafka_assigner_types::name::MemberName;
use tonic::Status;

use crate::access::CallPermit;
use crate::group::ServedGroup;
use crate::group_name::group_name;
use crate::instance::Instance;
use crate::refusal;
use crate::session::check_holder;

/// The service for consumers on one instance.
#[derive(Debug, Clone)]
pub struct ConsumerService {
    pub(super) instance: Instance,
}

impl ConsumerService {
    /// The service of `instance`.
    #[must_use]
    pub const fn new(instance: Instance) -> Self {
        Self { instance }
    }

    /// The group and the member that a call names. What it says must not be judged by a view that is older than what
    /// made its client say it, so the group's view is as new as the store was when the call came in.
    ///
    /// # Errors
    /// Also where the session is that of another caller than the one with the `permit`.
    pub(super) async fn caller(
        &self,
        caller: Option<&WireCaller>,
        permit: &CallPermit,
    ) -> Result<(ServedGroup, Member), Status> {
        let caller = caller.ok_or_else(|| refusal::field("caller is missing: it names the session"))?;
        let name = MemberName::new(&caller.consumer_name).map_err(|e| refusal::name(&e))?;
        let group = self.instance.group(&group_name(&caller.group)?).await?;
        self.instance.catch_up(&group).await?;
        let incarnation = if caller.incarnation.is_empty() {
            session_of(&group, &name)?
        } else {
            Incarnation::new(&caller.incarnation).map_err(|e| refusal::name(&e))?
        };
        let member = Member { name, incarnation };
        check_holder::<Consumer>(&group, &member, permit)?;
        Ok((group, member))
    }
}

/// The session under `name` now, for minimal clients that know none. Only the service renews such a session: what an
/// earlier session of another client says late must not count for the one that has its name now.
fn session_of(group: &ServedGroup, name: &MemberName) -> Result<Incarnation, Status> {
    group.read(|state| match state.registration(name) {
        Some(session) if session.renewal == Renewal::Server => Ok(session.incarnation.clone()),
        Some(_) => {
            let message = format!("incarnation is missing: the session of {name} is renewed by its client");
            Err(refusal::field(message))
        }
        None => {
            let message = format!("no consumer {name} is registered in group {}", group.name());
            Err(status(Reason::ConsumerNotFound, message))
        }
    })
}
