//! The errors of the Kafka runner.

use std::time::Duration;

use kafka_assigner_types::id::{InvalidOffset, Offset, TopicPartition};
use rdkafka::error::KafkaError;

/// Kafka could not be asked, or refused.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum KafkaRunnerError {
    /// The client could not be made: a setting is unknown or out of its bounds.
    #[error("the kafka client can't be made")]
    Client(#[source] KafkaError),
    /// Processed offsets can't be committed that often; see [`KafkaOptions::commit_interval`](crate::kafka::KafkaOptions::commit_interval).
    #[error("commit_interval = {0:?} is refused: it must be longer than 0")]
    CommitInterval(Duration),
    /// Offsets can't be committed again all the time; see [`KafkaOptions::offset_refresh`](crate::kafka::KafkaOptions::offset_refresh).
    #[error("offset_refresh = {0:?} is refused: it must be longer than 0")]
    OffsetRefresh(Duration),
    /// There is nobody to read from, or no name to commit under.
    #[error("{option} = {text:?} is refused: it must not be empty")]
    Empty {
        /// The option.
        option: &'static str,
        /// The text, which is empty or blank.
        text: String,
    },
    /// A setting has another value than the runner needs.
    #[error("{setting} = {value:?} is refused: it must be {needed:?}")]
    Setting {
        /// The name.
        setting: String,
        /// The value that was given.
        value: String,
        /// The only value that it may have.
        needed: String,
    },
    /// librdkafka was built without what a setting asks for.
    #[error(
        "{setting} is refused: it needs the feature {feature:?} of {package}, which is not in this build"
    )]
    NotBuiltIn {
        /// The name of the setting.
        setting: String,
        /// The feature of cargo that builds it in.
        feature: &'static str,
        /// The package that has the feature.
        package: &'static str,
    },
    /// A partition could not be read.
    #[error("{partition} can't be read")]
    Read {
        /// The partition.
        partition: TopicPartition,
        /// The error of the Kafka client.
        #[source]
        source: KafkaError,
    },
    /// Nothing was fetched of a partition that is prepared: neither a record nor the word that there is none. It may have no
    /// leader, or this member may not read it.
    #[error(
        "nothing of {partition} was fetched within {waited:?}: it may have no leader, or may not be read"
    )]
    Stalled {
        /// The partition.
        partition: TopicPartition,
        /// The time for which nothing came.
        waited: Duration,
    },
    /// A broker named an offset that is none.
    #[error("{field} of {partition} = {offset}")]
    NegativeOffset {
        /// The meaning of the offset.
        field: &'static str,
        /// The number, with its rule.
        offset: InvalidOffset,
        /// The partition.
        partition: TopicPartition,
    },
    /// The committed offset could not be read.
    #[error("the committed offset of {partition} can't be read")]
    Committed {
        /// The partition.
        partition: TopicPartition,
        /// The error of the Kafka client.
        #[source]
        source: KafkaError,
    },
    /// The group has committed nothing, and may not begin then; see [`StartPosition::Refuse`](crate::kafka::StartPosition::Refuse).
    #[error("the group has committed nothing in {0}, and is not to begin then")]
    NothingCommitted(TopicPartition),
    /// The group has no committed offset, though it had one: Kafka has dropped it, or somebody has deleted it. See
    /// [`StartPositions::starting_anew`](crate::kafka::StartPositions::starting_anew).
    #[error(
        "the committed offset of {0} is gone: commit where to go on (kafka-consumer-groups --reset-offsets), or allow it to start anew (StartPositions::starting_anew)"
    )]
    OffsetLost(TopicPartition),
    /// Records were removed before they were processed, and the partition may not begin then; see
    /// [`GapRule::Refuse`](crate::kafka::GapRule::Refuse).
    #[error("the records of {partition} from {from} on, before {to}, are gone")]
    Gap {
        /// The partition.
        partition: TopicPartition,
        /// The first offset that is gone.
        from: Offset,
        /// The first offset that is there.
        to: Offset,
    },
    /// Offsets could not be committed.
    #[error("offsets can't be committed")]
    Commit(#[source] KafkaError),
    /// The handler failed.
    #[error("{0}")]
    Handler(String),
    /// The handler failed, or panicked, and may have changed its state, or the log was reset: the partition is prepared again.
    #[error("the state is spoiled: {0}")]
    Spoiled(String),
    /// Offsets could not be committed, since the group has members that subscribe: Kafka takes commits of those only. End
    /// them, or commit under another group.
    #[error("offsets can't be committed: other consumers subscribe under the group {group:?}")]
    GroupHasMembers {
        /// The group of [`KafkaOptions`](crate::kafka::KafkaOptions).
        group: String,
        /// The error of the Kafka client.
        #[source]
        source: KafkaError,
    },
    /// A thread beside the runtime could not be started.
    #[error("a thread of the kafka client can't be started: {0}")]
    Thread(String),
    /// A call is out of order: the partition is not in the state that the call is for.
    #[error("{0} is not prepared here")]
    NotHeld(TopicPartition),
    /// The call was told that its result is not wanted any more.
    #[error("cancelled")]
    Cancelled,
}
