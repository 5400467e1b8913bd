//! The failures of a consumer.

use kafka_assigner_group_member::MemberFailure;
use kafka_assigner_kafka::TlsFileError;
use kafka_assigner_types::id::TopicPartition;

use crate::{InvalidSetting, PartitionEnd};

/// The reason for which a consumer can't go on. Everything that was owned is lost; trying again helps only where the
/// cause is mended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NativeFailure {
    /// The group does not take the member, or brokers don't say who coordinates it.
    #[error(transparent)]
    Member(#[from] MemberFailure),
    /// A part of the consumer panicked, which is a fault of this crate.
    #[error("a part of the consumer panicked")]
    Panicked,
}

/// A consumer that could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartFailure {
    /// An option can't be used.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    /// A file for TLS can't be used.
    #[error(transparent)]
    Files(#[from] TlsFileError),
    /// The system has no thread for it.
    #[error("the consumer's thread can't be started")]
    Thread(#[source] std::io::Error),
}

/// A record that could not be received.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveFailure {
    /// The consumer is over.
    #[error(transparent)]
    Over(#[from] NativeFailure),
    /// A partition can't be read. It is told once; the others go on.
    #[error("{partition} can't be read: {reason:?}")]
    Partition {
        /// The partition.
        partition: TopicPartition,
        /// The reason.
        reason: PartitionEnd,
    },
}
