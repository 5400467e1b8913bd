//! The meaning of failed calls to etcd.

use std::error::Error as StdError;
use std::fmt;

use tonic::{Code, ConnectError, Status};

use crate::error::Error;

/// The reasons for which one attempt of a call gave no answer, by what may be done next.
#[derive(Debug)]
pub(super) enum AttemptError {
    /// Nothing happened: the request did not leave, or the server turned it away unread.
    Unsent(Status),
    /// The outcome is unknown.
    Lost(Option<Status>),
    /// Nothing happened: the server does not know our token (any more).
    StaleToken(Status),
    /// Nothing happened: the user or the password is wrong, so no call can be made at all.
    WrongPassword(Status),
    /// Nothing happened: the named lease is over.
    NoLease,
    /// Nothing happened: the revision is no longer in the history.
    Compacted,
    /// The server's final refusal.
    Refused(Error),
}

impl AttemptError {
    /// Returns true if another endpoint may answer.
    pub(super) const fn blames_the_endpoint(&self) -> bool {
        matches!(self, Self::Unsent(_) | Self::Lost(_))
    }

    /// Returns true if a retry can't help; an expired token can be renewed with a password.
    pub(super) const fn is_final(&self, can_log_in: bool) -> bool {
        match self {
            Self::Unsent(_) | Self::Lost(_) => false,
            Self::StaleToken(_) => !can_log_in,
            Self::WrongPassword(_) | Self::NoLease | Self::Compacted | Self::Refused(_) => true,
        }
    }

    /// The same fault of what goes before a call: the call itself was not sent.
    pub(super) fn before_the_call(self) -> Self {
        match self {
            Self::Lost(status) => {
                Self::Unsent(status.unwrap_or_else(|| Status::deadline_exceeded("no answer to the log-in")))
            }
            other => other,
        }
    }

    /// The error of a call that changes something.
    pub(super) fn of_write(self, operation: &'static str) -> Error {
        match self {
            Self::Lost(status) => Error::Unknown { operation, source: status.map(cause) },
            other => other.of_read(operation),
        }
    }

    /// The error of a call that changes nothing, or nothing that the same call made again would not.
    pub(super) fn of_read(self, operation: &'static str) -> Error {
        match self {
            Self::Unsent(status) => Error::Unavailable { operation, source: Some(cause(status)) },
            Self::Lost(status) => Error::Unavailable { operation, source: status.map(cause) },
            Self::StaleToken(status) | Self::WrongPassword(status) => denied(&status),
            Self::NoLease => Error::Invalid("the lease does not exist".to_owned()),
            Self::Compacted => Error::Invalid("the revision is compacted".to_owned()),
            Self::Refused(error) => error,
        }
    }
}

impl From<Status> for AttemptError {
    fn from(status: Status) -> Self {
        if never_connected(&status) {
            return Self::Unsent(status);
        }
        let says = |words: &str| status.message().contains(words);
        match status.code() {
            Code::Unauthenticated => Self::StaleToken(status),
            Code::InvalidArgument if says("revision of auth store is old") || says("user name is empty") => {
                Self::StaleToken(status)
            }
            Code::InvalidArgument if says("authentication failed") => Self::WrongPassword(status),
            Code::PermissionDenied => Self::Refused(denied(&status)),
            Code::ResourceExhausted if says("space exceeded") => Self::Refused(Error::NoSpace),
            Code::ResourceExhausted if says("too many requests") => Self::Unsent(status),
            Code::NotFound if says("lease not found") => Self::NoLease,
            Code::OutOfRange if says("has been compacted") => Self::Compacted,
            Code::InvalidArgument
            | Code::NotFound
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::ResourceExhausted => Self::Refused(Error::Invalid(status.message().to_owned())),
            _ => Self::Lost(Some(status)),
        }
    }
}

fn denied(status: &Status) -> Error {
    Error::Denied(status.message().to_owned())
}

/// The message of etcd, or of the connection to it, as a cause in words: a status shows its own causes as a program
/// would.
#[derive(Debug)]
struct StatusCause(Status);

fn cause(status: Status) -> Box<dyn StdError + Send + Sync> {
    Box::new(StatusCause(status))
}

impl fmt::Display for StatusCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.message() {
            "" => f.write_str(self.0.code().description()),
            message => f.write_str(message),
        }
    }
}

impl StdError for StatusCause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}

/// The same error for somebody else: one that is final, for everyone who waits.
pub(super) fn for_each(error: &Error) -> Error {
    match error {
        Error::Denied(why) => Error::Denied(why.clone()),
        Error::Invalid(why) => Error::Invalid(why.clone()),
        Error::Unsupported(why) => Error::Unsupported(why.clone()),
        Error::NoSpace => Error::NoSpace,
        other => Error::Invalid(other.to_string()),
    }
}

/// The code alone does not tell: a connection that broke later is `Unavailable` as well.
fn never_connected(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<ConnectError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_error(code: Code, message: &str) -> Error {
        AttemptError::from(Status::new(code, message)).of_write("txn")
    }

    #[test]
    fn a_lost_answer_leaves_a_write_unknown_and_a_read_undone() {
        for (code, message) in [
            (Code::Unavailable, "etcdserver: request timed out"),
            (Code::Unavailable, "error reading a body from connection"),
            (Code::Unknown, "transport error"),
            (Code::Cancelled, "operation was canceled"),
        ] {
            assert!(matches!(write_error(code, message), Error::Unknown { .. }), "{code:?} {message}");
            let read = AttemptError::from(Status::new(code, message)).of_read("range");
            assert!(matches!(read, Error::Unavailable { .. }), "{read:?}");
        }
    }

    #[test]
    fn a_server_that_turns_a_request_away_did_nothing() {
        let busy = write_error(Code::ResourceExhausted, "etcdserver: too many requests");
        assert!(matches!(busy, Error::Unavailable { .. }), "{busy:?}");
    }

    #[test]
    fn refusals_are_final() {
        let full = write_error(Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded");
        assert!(matches!(full, Error::NoSpace));
        let denied = write_error(Code::PermissionDenied, "etcdserver: permission denied");
        assert!(matches!(denied, Error::Denied(_)));
        let twice = write_error(Code::InvalidArgument, "etcdserver: duplicate key given in txn request");
        assert!(matches!(twice, Error::Invalid(_)));
    }

    #[test]
    fn a_token_that_aged_is_told_from_a_wrong_password() {
        let aged = Status::new(Code::Unauthenticated, "etcdserver: invalid auth token");
        assert!(matches!(AttemptError::from(aged), AttemptError::StaleToken(_)));
        let wrong = Status::new(Code::InvalidArgument, "etcdserver: authentication failed, invalid user ID");
        let wrong = AttemptError::from(wrong);
        assert!(matches!(wrong, AttemptError::WrongPassword(_)) && wrong.is_final(true));
        assert!(matches!(wrong.of_read("get"), Error::Denied(_)));
    }
}
