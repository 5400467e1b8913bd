//! The ways in which a consumer ends.

/// The ways in which a consumer stops in good order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It deregistered as its options say.
    Left,
    /// It had no session to leave, or lost it while leaving.
    WithoutSession,
}

/// The reasons for which a consumer stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConsumerError {
    /// Another process runs under the same name; taking the name back would start an endless exchange.
    #[error("another consumer registered under the same name: {0}")]
    Superseded(String),
    /// The service refused the registration, and would again.
    #[error("registration refused ({code:?}): {message}")]
    Refused {
        /// The gRPC code.
        code: tonic::Code,
        /// The service's words.
        message: String,
    },
    /// The handler said that this process is of no use any more.
    #[error("fatal: {0}")]
    Fatal(String),
    /// The options let the consumer get more partitions than its handler can own: those beyond would never begin. Nothing has
    /// begun.
    #[error(
        "max_partitions = {max_partitions} is refused: it must be at least 1 and at most {most}, which its handler can own"
    )]
    PartitionLimit {
        /// The option; 0 = no limit.
        max_partitions: u32,
        /// The most that the handler can own.
        most: u32,
    },
    /// The thread of the session could not be started, so nothing has begun.
    #[error("the thread of the session can't be started: {0}")]
    Thread(String),
    /// Handlers did not finish within `close_timeout` and were aborted; the service was told nothing about these
    /// partitions, which others get when the session is over.
    #[error("{partitions} partitions were not given up in time")]
    Unfinished {
        /// Their number.
        partitions: usize,
    },
}
