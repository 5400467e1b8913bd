//! Reads the records: a [`PartitionHandler`](crate::PartitionHandler) over rdkafka.
//!
//! Implement [`RecordHandler`] and give [`KafkaRunner::new`] to [`Consumer::run`](crate::Consumer::run).
//!
//! ```text
//!  warm ─────────────────────►│ assigned ───────────────────────────────► drain
//!  catch_up(record) …         │ catch_up up to the   process(record) …    finish, commit
//!  never past what the owner  │ start                commit what was
//!  has committed              │                      processed
//!  ───────────────── one reader, which fetches without a break ─────────────────►
//! ```
//!
//! - One rdkafka client for each process, assigned by hand; never a subscription. Every partition has a queue of
//!   its own, bounded in bytes: a partition whose records are not taken stops being fetched, and nothing else does.
//! - The reader that warms a partition is the one that later processes it, so no fetch has to start at a switch.
//! - Records of a partition are handled in order, one at a time; different partitions side by side, within
//!   [`KafkaOptions::concurrency`].
//! - The start is where the old owner stopped in the stricter modes (`exclusive`, `routed`), and what the group has
//!   committed in `overlap`.
//! - Only what was processed is committed, with the epoch beside it: at least once. The claim is asked before each
//!   record and before each commit.

mod client;
mod commits;
mod cursor;
mod handler;
mod lookup;
mod options;
mod processing;
mod producers;
mod reader;
mod runner;

pub use handler::{RecordHandler, Restored};
pub use options::KafkaOptions;
pub use producers::{FencedProducers, WriteError};
/// The record type and everything else of the Kafka client.
pub use rdkafka;
pub use rdkafka::Message;
pub use rdkafka::message::OwnedMessage as Record;
pub use runner::KafkaRunner;

/// Kafka could not be asked, or refused.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum KafkaRunnerError {
    /// The client could not be made: a setting is unknown or out of its bounds.
    #[error("the kafka client can't be made")]
    Client(#[source] rdkafka::error::KafkaError),
    /// Processed offsets can't be committed that often; see [`KafkaOptions::commit_interval`].
    #[error("commit_interval = {0:?} is refused: it must be longer than 0")]
    CommitInterval(std::time::Duration),
    /// A partition could not be read.
    #[error("{partition} can't be read")]
    Read {
        /// The partition.
        partition: crate::TopicPartition,
        /// The error of the Kafka client.
        #[source]
        source: rdkafka::error::KafkaError,
    },
    /// Nothing was fetched of a partition that is prepared: neither a record nor the word that there is none. It may have no
    /// leader, or this member may not read it.
    #[error(
        "nothing of {partition} was fetched within {waited:?}: it may have no leader, or may not be read"
    )]
    Stalled {
        /// The partition.
        partition: crate::TopicPartition,
        /// The time for which nothing came.
        waited: std::time::Duration,
    },
    /// A broker named an offset that is none.
    #[error("{field} of {partition} = {offset}")]
    NegativeOffset {
        /// The meaning of the offset.
        field: &'static str,
        /// The number, with its rule.
        offset: crate::InvalidOffset,
        /// The partition.
        partition: crate::TopicPartition,
    },
    /// The committed offset could not be read.
    #[error("the committed offset of {partition} can't be read")]
    Committed {
        /// The partition.
        partition: crate::TopicPartition,
        /// The error of the Kafka client.
        #[source]
        source: rdkafka::error::KafkaError,
    },
    /// Offsets could not be committed.
    #[error("offsets can't be committed")]
    Commit(#[source] rdkafka::error::KafkaError),
    /// A call is out of order: the partition is not in the state that the call is for.
    #[error("{0} is not prepared here")]
    NotHeld(crate::TopicPartition),
    /// The call was told that its result is not wanted any more.
    #[error("cancelled")]
    Cancelled,
}
