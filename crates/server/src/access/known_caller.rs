//! The caller of one call, and its permission for what the call asks.

use std::sync::Arc;

use kafka_assigner_access::{CallerName, Identity, Limits, Right};
use kafka_assigner_proto::{Reason, status_after};
use kafka_assigner_types::name::{GroupName, MemberName};
use tonic::Status;

use super::Access;
use super::usage::{LimitReached, StreamKind, StreamPlace};
use crate::group_name::group_name;
use crate::refusal;

/// The caller of a call.
#[derive(Debug, Clone)]
pub(crate) struct KnownCaller {
    pub(super) identity: Option<Identity>,
    pub(super) access: Access,
}

/// A permission that was given: it can be asked for again, since the access file may change.
#[derive(Debug, Clone)]
pub struct CallPermit {
    caller: KnownCaller,
    right: Right,
    group: GroupName,
    member: Option<MemberName>,
}

/// The permission for one stream; dropping the last clone gives the place of the stream back.
#[derive(Debug, Clone)]
pub struct StreamPermit {
    permit: CallPermit,
    _place: Option<Arc<StreamPlace>>,
}

impl StreamPermit {
    /// The permission itself.
    pub(crate) const fn call(&self) -> &CallPermit {
        &self.permit
    }

    /// Waits until the access file allows the stream no longer. Cancel safe.
    pub(crate) async fn denied(&self) -> Status {
        self.permit.clone().denied().await
    }
}

impl KnownCaller {
    /// The permission to use `right` in the group that a request names.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` where it names none, `PERMISSION_DENIED` where the access file does not allow it.
    pub(crate) fn permit(self, right: Right, group: &str) -> Result<CallPermit, Status> {
        CallPermit { caller: self, right, group: group_name(group)?, member: None }.granted()
    }

    /// The same under the name of a consumer or router.
    ///
    /// # Errors
    /// As for [`permit`](Self::permit).
    pub(crate) fn permit_as(self, right: Right, group: &str, member: &str) -> Result<CallPermit, Status> {
        let member = MemberName::new(member).map_err(|error| refusal::name(&error))?;
        CallPermit { caller: self, right, group: group_name(group)?, member: Some(member) }.granted()
    }

    /// True if the caller may look at the group: for lists of groups, which leave out the others.
    pub(crate) fn may_see(&self, group: &GroupName) -> bool {
        self.judge(Right::Read, group, None).is_ok()
    }

    /// The caller in words, for the log.
    pub(crate) fn in_words(&self) -> &str {
        self.name().map_or("somebody without a name", CallerName::as_str)
    }

    /// Counts this call.
    pub(super) fn count_call(&self) -> Result<(), Status> {
        let Some((name, limits)) = self.limits() else { return Ok(()) };
        let now = self.access.instance.clock().now();
        self.access.usage.call(name, limits, now).map_err(|reached| self.limited(reached))
    }

    /// A place for an open stream; `None` where nobody has limits.
    fn stream(&self, kind: StreamKind) -> Result<Option<StreamPlace>, Status> {
        let Some((name, limits)) = self.limits() else { return Ok(None) };
        let place = self.access.usage.stream(name, limits, kind);
        place.map(Some).map_err(|reached| self.limited(reached))
    }

    fn limits(&self) -> Option<(&CallerName, Limits)> {
        let (policy, name) = (self.access.policy.as_ref()?, self.name()?);
        Some((name, policy.borrow().limits(name)))
    }

    fn limited(&self, LimitReached { limit, most, wait }: LimitReached) -> Status {
        let message = format!(
            "caller {} is at its limit on this instance: {limit} = {most} in the access file",
            self.in_words()
        );
        let refusal = self.access.deny(Reason::LimitReached, message);
        match wait {
            Some(wait) => status_after(Reason::LimitReached, refusal.message(), wait),
            None => refusal,
        }
    }

    fn name(&self) -> Option<&CallerName> {
        self.identity.as_ref().map(Identity::name)
    }

    /// The reason why the caller may not do so.
    fn judge(
        &self,
        right: Right,
        group: &GroupName,
        member: Option<&MemberName>,
    ) -> Result<(), (Reason, String)> {
        let (Some(policy), Some(caller)) = (&self.access.policy, &self.identity) else { return Ok(()) };
        let policy = policy.borrow();
        if !policy.knows(caller) {
            let message = format!("the token of caller {} is not in the access file any more", caller.name());
            return Err((Reason::CallerUnknown, message));
        }
        let judged = match member {
            Some(member) => policy.check_member(caller.name(), right, group, member),
            None => policy.check(caller.name(), right, group),
        };
        judged.map_err(|denied| (Reason::NotAllowed, denied.to_string()))
    }
}

impl CallPermit {
    fn granted(self) -> Result<Self, Status> {
        self.judge().map(|()| self)
    }

    fn judge(&self) -> Result<(), Status> {
        let judged = self.caller.judge(self.right, &self.group, self.member.as_ref());
        judged.map_err(|(reason, why)| self.caller.access.deny(reason, why))
    }

    /// The name of the caller, for its registration; `None` where it has none.
    pub(crate) fn caller(&self) -> Option<&str> {
        self.caller.name().map(CallerName::as_str)
    }

    /// Refuses a call about a session that `holder` opened, unless that is the caller. A session of nobody by name is
    /// anybody's who may use its name.
    ///
    /// # Errors
    /// `ALREADY_EXISTS` for another caller's session: the name is free again once that is over.
    pub(crate) fn check_holder(&self, holder: &str) -> Result<(), Status> {
        if holder.is_empty() || Some(holder) == self.caller() {
            return Ok(());
        }
        let (group, who) = (&self.group, self.caller.in_words());
        let member = self.member.as_ref().map(MemberName::as_str).unwrap_or_default();
        let message = format!(
            "the session of {member} in group {group} is not that of {who}: another caller opened it"
        );
        Err(self.caller.access.deny(Reason::HeldByAnother, message))
    }

    /// The permission for a stream, with a place where its caller has limits.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` where the caller has as many as it may.
    pub(crate) fn stream(self, kind: StreamKind) -> Result<StreamPermit, Status> {
        let place = self.caller.stream(kind)?.map(Arc::new);
        Ok(StreamPermit { permit: self, _place: place })
    }

    /// Waits until the access file allows it no longer; for ever where it stays allowed. Cancel safe.
    pub(crate) async fn denied(self) -> Status {
        let Some(mut policy) = self.caller.access.policy.clone() else {
            return std::future::pending().await;
        };
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
