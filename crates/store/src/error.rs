//! The errors of stores.

use kafka_assigner_types::kv::{LeaseId, Revision};

/// A call that the store did not carry out, or whose outcome is unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No answer came in time, or the connection broke after the request had left: the change may or
    /// may not have happened. Read again before acting.
    #[error("the outcome of {operation} is unknown")]
    Unknown {
        /// The call.
        operation: &'static str,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The request certainly did not reach the store; nothing changed, and it may be repeated.
    #[error("the store can't be reached for {operation}")]
    Unavailable {
        /// The call.
        operation: &'static str,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The watched or read revision is gone from the history: list again, then watch from there.
    #[error("revision {asked} was compacted, the oldest that is left is {oldest}")]
    Compacted {
        /// The revision that was asked for.
        asked: Revision,
        /// The oldest one that can still be watched.
        oldest: Revision,
    },
    /// The lease does not exist, or no longer does. Final for this lease.
    #[error("lease {0} does not exist")]
    LeaseNotFound(LeaseId),
    /// A transaction is larger than the store takes; splitting it may help.
    #[error("transaction refused: {size} {what}, the store's limit is {limit}")]
    TooLarge {
        /// The exceeded limit (`operations`, `compares`, `bytes`).
        what: &'static str,
        /// The size of the transaction.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The store is out of space and takes no writes until an operator acts.
    #[error("the store is out of space and refuses writes: compact and defragment it, then disarm the alarm")]
    NoSpace,
    /// The store refuses us: wrong credentials, or no permission for the key.
    #[error("the store denied access: {0}")]
    Denied(String),
    /// The store itself breaks a promise that we rely on: it must be replaced by a newer one.
    #[error("the store can't be used: {0}")]
    Unsupported(String),
    /// The request itself is wrong; repeating it can't help.
    #[error("the store refused the request: {0}")]
    Invalid(String),
    /// The embedded store's file can't be opened or used.
    #[error("{0}")]
    File(String),
}

impl Error {
    /// Returns true if the same call may succeed when it is made again (after a re-read where the outcome is unknown).
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Unavailable { .. })
    }
}
