//! The refusals of the service.

use kafka_assigner_proto::ReasonExt as _;
use tonic::{Code, Status};

/// True if the same request would be refused again, everywhere.
pub(crate) const fn is_refusal(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidArgument
            | Code::NotFound
            | Code::FailedPrecondition
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented
            | Code::OutOfRange
    )
}

/// True if the service itself refused for good. A proxy on the way refuses with the same codes, for as long as it has no
/// backend, a wrong route or an expired token. A caller that may not go on is none of these cases either: a token is renewed
/// and an access file is mended, and a typo in it must not end every consumer.
#[must_use]
pub fn is_definite(status: &Status) -> bool {
    let is_of_caller = matches!(status.code(), Code::PermissionDenied | Code::Unauthenticated);
    is_refusal(status.code()) && !is_of_caller && status.is_of_service()
}
