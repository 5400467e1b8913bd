//! The error that a caller gets when a call can't be done.

use kafka_assigner_proto::{Reason, status};
use kafka_assigner_store::Error as StoreError;
use kafka_assigner_store::view;
use kafka_assigner_types::name::InvalidName;
use tonic::Status;

/// The status for a store that could not do what was asked. Nothing is lost by any of them: what may have been
/// written is read again by whoever acts on it.
pub(crate) fn store(error: &StoreError) -> Status {
    let reason = match error {
        StoreError::Unknown { .. } | StoreError::Unavailable { .. } | StoreError::NoSpace => {
            Reason::StoreUnavailable
        }
        StoreError::LeaseNotFound(_) => Reason::LostRace,
        _ => Reason::Internal,
    };
    status(reason, describe(error))
}

/// An error with its causes, in one line; what a cause only repeats is left out.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = next.source();
    }
    text
}

pub(crate) fn behind(error: view::Error) -> Status {
    match error {
        view::Error::Stopped => status(
            Reason::ShuttingDown,
            "this instance stops, or begins to serve the group anew; use another one",
        ),
        _ => status(Reason::ViewBehind, format!("this instance is behind: {error}; use another one")),
    }
}

pub(crate) fn name(error: &InvalidName) -> Status {
    status(Reason::InvalidName, error.to_string())
}

pub(crate) fn field(message: impl Into<String>) -> Status {
    status(Reason::InvalidField, message)
}
