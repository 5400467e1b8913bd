//! The session that a stream belongs to.

use std::time::Duration;

use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::Consumer;
use kafka_assigner_core::session::over;
use kafka_assigner_proto::v1::SessionInfo;
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::Lease;
use tokio::time::Instant;

use crate::access::StreamPermit;
use crate::connection_end::ConnectionEnd;
use crate::convert::session_info;
use crate::group::ServedGroup;

/// A session and what its client can do.
#[derive(Debug, Clone)]
pub(super) struct ConsumerSession {
    pub(super) group: ServedGroup,
    pub(super) member: Member,
    pub(super) lease: Lease,
    /// The time at which the request was sent that granted the lease, or kept it alive.
    pub(super) confirmed: Instant,
    /// True if this instance keeps the lease alive while the stream lives.
    pub(super) renews: bool,
    pub(super) snapshot: bool,
    pub(super) says_taken: bool,
    /// The time for which it may go on in `overlap` while it hears that the store can't be reached.
    pub(super) outage_grace: Duration,
    /// The process that its client is a part of, in the client's words; empty where it names none.
    pub(super) process: String,
    /// The permission of its caller for the stream.
    pub(super) permit: StreamPermit,
}

impl ConsumerSession {
    /// The description of the session for its member; `None` where the client would not understand it.
    pub(super) fn describe(&self) -> Option<SessionInfo> {
        self.snapshot.then(|| session_info(&self.member, self.lease, self.outage_grace))
    }

    /// A word for the process that a stream of the session, read over `connection`, belongs to.
    pub(super) fn process_word(&self, connection: &ConnectionEnd) -> String {
        if self.process.is_empty() { connection.process_word() } else { self.process.clone() }
    }

    /// The reason why the session is over, where the view says so.
    pub(super) fn over(&self) -> Option<FenceReason> {
        self.group.read(|state| over::<Consumer>(state, &self.member))
    }
}
