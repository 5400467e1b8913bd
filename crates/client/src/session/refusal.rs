//! The refusals of the service.

use tonic::Code;

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
