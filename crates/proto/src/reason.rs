//! Machine-readable reasons of errors, shared by both ends.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// The `domain` of every `google.rpc.ErrorInfo` that the service sends.
pub const DOMAIN: &str = "kafka-assigner";

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $code:ident;)+) => {
        /// Why a call failed: stable, unlike the text for people beside it.
        ///
        /// Each reason belongs to one gRPC code. A reason that this version does not know reads as none, so
        /// clients decide by the code and refine by the reason.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Reason { $($(#[doc = $doc])+ $variant,)+ }

        impl Reason {
            /// Every reason, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The reason on the wire, in `ErrorInfo.reason`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The gRPC code that it comes with.
            #[must_use]
            pub const fn code(self) -> Code {
                match self { $(Self::$variant => Code::$code,)+ }
            }
        }
    };
}

reasons! {
    /// A name breaks the rule for names.
    InvalidName = "INVALID_NAME", InvalidArgument;
    /// A field is missing, out of its bounds, or contradicts another.
    InvalidField = "INVALID_FIELD", InvalidArgument;
    /// More items in one call than it takes.
    TooManyItems = "TOO_MANY_ITEMS", InvalidArgument;
    /// No group of that name, and groups are not created by their first consumer.
    GroupNotFound = "GROUP_NOT_FOUND", NotFound;
    /// No such topic in the group.
    TopicNotFound = "TOPIC_NOT_FOUND", NotFound;
    /// No such partition of the topic.
    PartitionNotFound = "PARTITION_NOT_FOUND", NotFound;
    /// No consumer is registered under the name, or not with that incarnation.
    ConsumerNotFound = "CONSUMER_NOT_FOUND", NotFound;
    /// No router is registered under the name, or not with that incarnation.
    RouterNotFound = "ROUTER_NOT_FOUND", NotFound;
    /// No handoff of that partition, or not that one.
    HandoffNotFound = "HANDOFF_NOT_FOUND", NotFound;
    /// The group has registered consumers, so it can't be deleted.
    GroupInUse = "GROUP_IN_USE", FailedPrecondition;
    /// The handoff is past the point where it can be cancelled.
    HandoffComplete = "HANDOFF_COMPLETE", FailedPrecondition;
    /// The partition does not stand before a record, so there is nothing to resume.
    PartitionNotStopped = "PARTITION_NOT_STOPPED", FailedPrecondition;
    /// The state can't be built of the record before which the partition stands, so that passing it over helps nobody.
    StateNotBuilt = "STATE_NOT_BUILT", FailedPrecondition;
    /// The partition stands since its owner could not end its work: no record has failed that could be skipped.
    NoFailedRecord = "NO_FAILED_RECORD", FailedPrecondition;
    /// The group's mode needs a capability that the client does not have.
    CapabilityMissing = "CAPABILITY_MISSING", FailedPrecondition;
    /// A consumer demands a stricter mode (`least_mode`) than that of its group or topics.
    ModeTooWeak = "MODE_TOO_WEAK", FailedPrecondition;
    /// The group's mode does not accept sessions that the server renews.
    RenewalNotAllowed = "RENEWAL_NOT_ALLOWED", FailedPrecondition;
    /// A topic can't have fewer partitions than before.
    TopicShrinks = "TOPIC_SHRINKS", FailedPrecondition;
    /// The service does not know Kafka, so it can't look the topic up.
    KafkaNotConfigured = "KAFKA_NOT_CONFIGURED", FailedPrecondition;
    /// Nobody knows who calls: the call has neither a certificate nor a token that the access file knows.
    CallerUnknown = "CALLER_UNKNOWN", Unauthenticated;
    /// The access file does not allow it to the caller.
    NotAllowed = "NOT_ALLOWED", PermissionDenied;
    /// The session under the name was opened by another caller; the name is free once that session is over.
    HeldByAnother = "HELD_BY_ANOTHER", AlreadyExists;
    /// A record can't be read, so what it is about is left alone.
    RecordUnreadable = "RECORD_UNREADABLE", FailedPrecondition;
    /// This version does not have that feature.
    NotSupported = "NOT_SUPPORTED", Unimplemented;
    /// Somebody else changed the same record first; worth trying again.
    LostRace = "LOST_RACE", Aborted;
    /// The store can't be reached; nothing is lost.
    StoreUnavailable = "STORE_UNAVAILABLE", Unavailable;
    /// Kafka can't be asked just now; nothing is lost.
    KafkaUnavailable = "KAFKA_UNAVAILABLE", Unavailable;
    /// The instance has not seen as much as the caller has; another instance may have.
    ViewBehind = "VIEW_BEHIND", Unavailable;
    /// A router keeps requests for less long than a move of the group may hold them back; the group's settings may change.
    StashTooShort = "STASH_TOO_SHORT", Unavailable;
    /// The instance is about to stop.
    ShuttingDown = "SHUTTING_DOWN", Unavailable;
    /// A limit on consumers, streams or records is reached.
    LimitReached = "LIMIT_REACHED", ResourceExhausted;
    /// The reader of a stream did not keep up.
    ReaderTooSlow = "READER_TOO_SLOW", ResourceExhausted;
    /// A fault of the service itself.
    Internal = "INTERNAL", Internal;
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Reason {
    type Err = UnknownReason;

    fn from_str(text: &str) -> Result<Self, UnknownReason> {
        Self::ALL.iter().copied().find(|r| r.as_str() == text).ok_or(UnknownReason)
    }
}

/// The text names no reason of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownReason;

impl fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a reason of this version")
    }
}

impl std::error::Error for UnknownReason {}

/// A status with the reason's own code, the reason in its details, and `message` for people.
///
/// The message says what was wrong, with the offending value, and what to do.
pub fn status(reason: Reason, message: impl Into<String>) -> Status {
    let details = ErrorDetails::with_error_info(reason.as_str(), DOMAIN, []);
    Status::with_error_details(reason.code(), message, details)
}

/// A [`status`] that says when another try makes sense: not before `wait`, unless another instance is asked.
pub fn status_after(reason: Reason, message: impl Into<String>, wait: Duration) -> Status {
    let mut details = ErrorDetails::with_error_info(reason.as_str(), DOMAIN, []);
    details.set_retry_info(Some(wait));
    Status::with_error_details(reason.code(), message, details)
}

/// Reads the reason out of a status.
pub trait ReasonExt {
    /// The time to wait before another try at the same instance; `None` where it does not say.
    fn retry_after(&self) -> Option<Duration>;

    /// The reason, or `None` where there is none, it is of another domain, or this version does not know it.
    fn reason(&self) -> Option<Reason>;

    /// True if the service itself said it, for a reason that this version need not know. A proxy on the way makes statuses of
    /// its own, of HTTP 404 for example, which say nothing of the service.
    fn is_of_service(&self) -> bool;
}

impl ReasonExt for Status {
    fn retry_after(&self) -> Option<Duration> {
        self.get_details_retry_info()?.retry_delay
    }

    fn reason(&self) -> Option<Reason> {
        let info = self.get_details_error_info()?;
        if info.domain == DOMAIN { info.reason.parse().ok() } else { None }
    }

    fn is_of_service(&self) -> bool {
        self.get_details_error_info().is_some_and(|info| info.domain == DOMAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_survives_the_wire_with_its_code() {
        for &reason in Reason::ALL {
            let sent = status(reason, "what was wrong");
            assert_eq!(sent.code(), reason.code());
            assert_eq!(sent.reason(), Some(reason));
        }
    }

    #[test]
    fn a_wait_survives_the_wire_beside_its_reason() {
        let wait = Duration::from_millis(7_500);
        let sent = status_after(Reason::StoreUnavailable, "not now", wait);
        assert_eq!((sent.reason(), sent.retry_after()), (Some(Reason::StoreUnavailable), Some(wait)));
        assert_eq!(status(Reason::StoreUnavailable, "not now").retry_after(), None);
    }

    #[test]
    fn a_foreign_domain_gives_no_reason() {
        let details = ErrorDetails::with_error_info("INTERNAL", "elsewhere.example", []);
        let foreign = Status::with_error_details(Code::Internal, "", details);
        assert_eq!((foreign.reason(), foreign.is_of_service()), (None, false));
    }

    #[test]
    fn a_reason_of_a_later_version_is_of_the_service() {
        let details = ErrorDetails::with_error_info("LATER", DOMAIN, []);
        let later = Status::with_error_details(Code::Internal, "", details);
        assert_eq!((later.reason(), later.is_of_service()), (None, true));
        assert!(!Status::unimplemented("mapped from HTTP status code 404").is_of_service());
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = Reason::ALL.iter().map(|r| r.as_str()).collect();
        assert_eq!(names.len(), Reason::ALL.len());
    }
}
