//! The words about a session and its stream, whether a consumer's or a router's.

use std::time::Duration;

use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_proto::v1::{Fenced, GoAway, OutOfTouch, SessionInfo};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::Lease;
use kafka_assigner_types::moment::millis;

/// The time that streams have to go elsewhere once the instance stops, as they are told; then their connections are cut.
pub(crate) const FAREWELL: Duration = Duration::from_secs(5);

/// The reason why a session is over, on the wire.
pub(crate) fn fenced(reason: &FenceReason) -> Fenced {
    use kafka_assigner_proto::v1::FenceReason as Wire;
    let wire = match reason {
        FenceReason::Gone => Wire::Expired,
        FenceReason::Superseded => Wire::Superseded,
        FenceReason::NeverReleased | FenceReason::EndedByOperator => Wire::Ended,
        FenceReason::NoProgress => Wire::PollInterval,
        FenceReason::RenewalLate => Wire::RenewalLate,
        FenceReason::Left => Wire::Deregistered,
        FenceReason::Unattached => Wire::Unattached,
        FenceReason::StoreRestored => Wire::StoreRestored,
        FenceReason::Suspected => Wire::Suspected,
        FenceReason::Other(_) => Wire::Unspecified,
    };
    Fenced { reason: wire.into(), message: format!("the session is over: {reason}") }
}

/// The description of its session that a stream is told.
pub(crate) fn session_info(member: &Member, lease: Lease, outage_grace: Duration) -> SessionInfo {
    SessionInfo {
        incarnation: member.incarnation.to_string(),
        lease: lease.id.0,
        ttl_ms: millis(lease.ttl),
        outage_grace_ms: millis(outage_grace),
    }
}

/// The farewell of a stream once the instance stops, with the addresses of others.
pub(crate) fn go_away(endpoints: Vec<String>) -> GoAway {
    let deadline_ms = u64::try_from(FAREWELL.as_millis()).expect("five seconds fit");
    GoAway { endpoints, deadline_ms }
}

/// The word of an instance that may have been out of date for `since`.
pub(crate) fn out_of_touch(since: Duration) -> OutOfTouch {
    OutOfTouch { since_ms: millis(since) }
}
