//! The events that librdkafka tells of itself.

use rdkafka::ClientContext;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;
use tracing::debug;

/// Hears what librdkafka tells of itself.
#[derive(Debug)]
pub(super) struct KafkaEvents;

impl ClientContext for KafkaEvents {
    /// It recovers from errors of brokers by itself. Ends of partitions come here as well, many times a second from a
    /// reader that is up to date; they are none, and readers learn of them from their queues.
    fn error(&self, error: KafkaError, reason: &str) {
        if !is_end(&error) {
            debug!(%error, reason, "kafka");
        }
    }
}

impl ConsumerContext for KafkaEvents {}

fn is_end(error: &KafkaError) -> bool {
    matches!(error, KafkaError::Global(RDKafkaErrorCode::PartitionEOF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_partition_is_told_apart_from_errors() {
        assert!(is_end(&KafkaError::Global(RDKafkaErrorCode::PartitionEOF)));
        assert!(!is_end(&KafkaError::Global(RDKafkaErrorCode::AllBrokersDown)));
    }
}
