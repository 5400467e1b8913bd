//! An Attach, checked.

use std::time::Duration;

use kafka_assigner_core::record::Renewal;
use kafka_assigner_core::session::Opening;
use kafka_assigner_proto::v1::{AttachRequest, Seen};
use kafka_assigner_types::id::{Incarnation, Member};
use kafka_assigner_types::name::{GroupName, MemberName};
use tonic::Status;

use crate::consumer::request;
use crate::group_name::group_name;
use crate::refusal;

/// An Attach whose values are within their rules.
#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) group: GroupName,
    pub(super) router: Member,
    pub(super) opening: Opening,
    pub(super) timeout: Option<Duration>,
    /// The longest time for which it holds a request back; `None` = it did not say.
    pub(super) stash_age: Option<Duration>,
    pub(super) seen: Seen,
    pub(super) client: String,
}

impl Attachment {
    pub(super) fn check(request: AttachRequest) -> Result<Self, Status> {
        request::check_version(request.protocol_version)?;
        let name = MemberName::new(&request.router_name).map_err(|e| refusal::name(&e))?;
        let incarnation: Incarnation =
            request::incarnation(&request.incarnation, Renewal::Client, String::new)?;
        Ok(Self {
            group: group_name(&request.group)?,
            opening: request::opening(request.resume_lease, &request.incarnation)?,
            router: Member { name, incarnation },
            timeout: request::timeout(request.session_timeout_ms)?,
            stash_age: (request.stash_age_ms > 0).then(|| Duration::from_millis(request.stash_age_ms)),
            seen: request.seen.unwrap_or_default(),
            client: request.client.map(|client| request::describe(&client)).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_named_with_its_rule() {
        let valid = || AttachRequest {
            router_name: "r".to_owned(),
            incarnation: "1".to_owned(),
            ..AttachRequest::default()
        };
        assert_eq!(Attachment::check(valid()).unwrap().group.as_str(), "default");
        for (request, part) in [
            (AttachRequest { router_name: "a/b".to_owned(), ..valid() }, "\"a/b\""),
            (AttachRequest { incarnation: String::new(), ..valid() }, "incarnation is missing"),
            (AttachRequest { session_timeout_ms: 1, ..valid() }, "session_timeout_ms = 1"),
            (AttachRequest { protocol_version: 9, ..valid() }, "protocol_version 9"),
        ] {
            let refused = Attachment::check(request).unwrap_err();
            assert!(refused.message().contains(part), "{}", refused.message());
        }
    }
}
