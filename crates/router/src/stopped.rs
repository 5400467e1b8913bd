//! The ways in which a router ends.

use crate::cutover::CutoverError;

/// The ways in which a router stops regularly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouterStopped {
    /// It deregistered, so that no switch waits for it.
    Detached,
    /// It had no session to end, or could not tell: the session runs out by itself.
    WithoutSession,
}

/// The reasons for which a router stopped by itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouterError {
    /// Another process runs under the same name; taking the name back would start an endless exchange.
    #[error("another router attached under the same name: {0}")]
    Superseded(String),
    /// The service refused the session, and would again.
    #[error("session refused ({code:?}): {message}")]
    Refused {
        /// The gRPC code.
        code: tonic::Code,
        /// The service's message.
        message: String,
    },
    /// [`Cutover::work`](crate::Cutover::work) stood still, or ended. The router took itself out of the group; run a new one.
    #[error("forwarding stands still")]
    Stuck,
    /// [`Cutover::drain`](crate::Cutover::drain) failed too often in a row. The router took itself out of the group; run a new one.
    #[error("{failures} drains in a row failed")]
    Drains {
        /// The number of failures in a row.
        failures: u32,
        /// The last failure.
        #[source]
        last: CutoverError,
    },
}
