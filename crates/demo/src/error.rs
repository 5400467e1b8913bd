//! The errors of a run.

use std::io;

use crate::options::InvalidOption;
use crate::{consumers, instances};

/// The reasons for which a run has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option is outside what it may be.
    #[error(transparent)]
    Option(#[from] InvalidOption),
    /// The lines to produce can't be read.
    #[error("--input {path} can't be read")]
    Input {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// None of the brokers answers.
    #[error("no broker answers at {brokers} within {}s", within.as_secs())]
    NoBroker {
        /// The brokers, as they were given.
        brokers: String,
        /// The time that they had.
        within: std::time::Duration,
    },
    /// Kafka did not do what it was asked.
    #[error("Kafka failed")]
    Kafka(#[from] rdkafka::error::KafkaError),
    /// An instance did not start.
    #[error("an instance did not start")]
    Instance(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A consumer did not start, or did not run to its end.
    #[error("a consumer failed")]
    Consumer(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Nobody took the leadership over.
    #[error("no instance leads 10 s after the leader was killed")]
    NobodyLeads,
}

impl From<consumers::ConsumerFailure> for Error {
    fn from(failure: consumers::ConsumerFailure) -> Self {
        Self::Consumer(Box::new(failure))
    }
}

impl From<instances::InstanceFailure> for Error {
    fn from(failure: instances::InstanceFailure) -> Self {
        Self::Instance(Box::new(failure))
    }
}
