//! The partitions that commands of the service name.

use kafka_assigner_types::id::TopicPartition;
use tracing::error;

/// The partition that a command names. A name that no partition can have is logged and passed over, since the service
/// checks what it stores.
#[must_use]
pub fn named(topic: &str, partition: i32) -> Option<TopicPartition> {
    TopicPartition::from_kafka(topic, partition)
        .inspect_err(|error| error!(topic, partition, %error, "a partition of the service is passed over"))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_partition_can_have_is_passed_over() {
        assert_eq!(named("t", 3).map(|at| at.to_string()).as_deref(), Some("t/3"));
        assert_eq!((named("t", -1), named("a/b", 0)), (None, None));
    }
}
