//! Partitions as the wire names them.

use kafka_assigner_types::id::TopicPartition;

/// The partition that a message names.
pub(crate) fn at(topic: &str, partition: i32) -> TopicPartition {
    let topic = topic.parse().expect("only topics that exist are named");
    TopicPartition::new(topic, u32::try_from(partition).expect("partitions count from 0"))
}
