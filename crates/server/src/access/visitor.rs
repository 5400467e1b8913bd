//! The caller of one call, and its permission for what the call asks.

use std::sync::Arc;

use kafka_assigner_access::{CallerName, Denied, Policy, Right};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::name::{GroupName, MemberName};
use tokio::sync::watch;
use tonic::Status;

use crate::group_name::group_name;
use crate::metrics::Metrics;
use crate::refusal;

/// The caller of a call.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    pub(super) policy: Option<watch::Receiver<Arc<Policy>>>,
    pub(super) name: Option<CallerName>,
    pub(super) metrics: Metrics,
}

/// A permission that was given: it can be asked for again, since the access file may change.
#[derive(Debug, Clone)]
pub struct CallPermit {
    visitor: Visitor,
    right: Right,
    group: GroupName,
    member: Option<MemberName>,
}

impl Visitor {
    /// The permission to use `right` in the group that a request names.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` where it names none, `PERMISSION_DENIED` where the access file does not allow it.
    pub(crate) fn permit(self, right: Right, group: &str) -> Result<CallPermit, Status> {
        CallPermit { visitor: self, right, group: group_name(group)?, member: None }.granted()
    }

    /// The same under the name of a consumer or router.
    ///
    /// # Errors
    /// As for [`permit`](Self::permit).
    pub(crate) fn permit_as(self, right: Right, group: &str, member: &str) -> Result<CallPermit, Status> {
        let member = MemberName::new(member).map_err(|error| refusal::name(&error))?;
        CallPermit { visitor: self, right, group: group_name(group)?, member: Some(member) }.granted()
    }

    /// True if the caller may look at the group: for lists of groups, which leave out the others.
    pub(crate) fn may_see(&self, group: &GroupName) -> bool {
        self.judge(Right::Read, group, None).is_ok()
    }

    /// The caller in words, for the log.
    pub(crate) fn in_words(&self) -> &str {
        self.name.as_ref().map_or("somebody without a name", CallerName::as_str)
    }

    fn judge(&self, right: Right, group: &GroupName, member: Option<&MemberName>) -> Result<(), Denied> {
        let (Some(policy), Some(name)) = (&self.policy, &self.name) else { return Ok(()) };
        let policy = policy.borrow();
        match member {
            Some(member) => policy.check_member(name, right, group, member),
            None => policy.check(name, right, group),
        }
    }
}

impl CallPermit {
    fn granted(self) -> Result<Self, Status> {
        self.judge().map(|()| self)
    }

    fn judge(&self) -> Result<(), Status> {
        self.visitor.judge(self.right, &self.group, self.member.as_ref()).map_err(|denied| {
            self.visitor.metrics.call_denied(Reason::NotAllowed);
            status(Reason::NotAllowed, denied.to_string())
        })
    }

    /// The caller that has the permission.
    pub(crate) const fn visitor(&self) -> &Visitor {
        &self.visitor
    }

    /// The name of the caller, for its registration; `None` where it has none.
    pub(crate) fn caller(&self) -> Option<&str> {
        self.visitor.name.as_ref().map(CallerName::as_str)
    }

    /// Refuses a call about a session that `holder` opened, unless that is the caller. A session of nobody by name is
    /// anybody's who may use its name.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` for another caller's session.
    pub(crate) fn check_holder(&self, holder: &str) -> Result<(), Status> {
        if holder.is_empty() || Some(holder) == self.caller() {
            return Ok(());
        }
        self.visitor.metrics.call_denied(Reason::NotAllowed);
        let (group, who) = (&self.group, self.visitor.in_words());
        let member = self.member.as_ref().map(MemberName::as_str).unwrap_or_default();
        let message = format!(
            "the session of {member} in group {group} is not that of {who}: another caller opened it"
        );
        Err(status(Reason::NotAllowed, message))
    }

    /// Waits until the access file allows it no longer; for ever where it stays allowed. Cancel safe.
    pub(crate) async fn denied(self) -> Status {
        let Some(mut policy) = self.visitor.policy.clone() else { return std::future::pending().await };
        loop {
            if let Err(denied) = self.judge() {
                return denied;
            }
            if policy.changed().await.is_err() {
                // The instance stops: nothing changes any more.
                return std::future::pending().await;
            }
        }
    }
}
