//! Records as the application gets them.

use kafka_assigner_kafka::records::KafkaRecord;
use kafka_assigner_types::id::{Offset, TopicPartition};

/// Records of one partition, in the order of their offsets; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionBatch {
    /// The partition.
    pub partition: TopicPartition,
    /// The records.
    pub records: Vec<KafkaRecord>,
    /// The offset after the last one that the batch stands for. Offsets may lie between it and the last record that have
    /// no record for the application.
    pub(crate) next: Offset,
    /// The bytes of keys and values.
    pub(crate) bytes: usize,
}

impl PartitionBatch {
    pub(crate) fn new(partition: TopicPartition, records: Vec<KafkaRecord>, next: Offset) -> Self {
        let bytes = records.iter().map(size_of_record).sum();
        Self { partition, records, next, bytes }
    }

    /// The last offset that the batch stands for: to commit through it is to be done with the whole batch.
    #[must_use]
    pub fn last_offset(&self) -> Offset {
        self.next.before().unwrap_or_default()
    }
}

fn size_of_record(record: &KafkaRecord) -> usize {
    size_of::<KafkaRecord>() + payload_of(record)
}

/// The bytes of a record's key and value.
pub(crate) fn payload_of(record: &KafkaRecord) -> usize {
    let length = |part: &Option<_>| part.as_ref().map_or(0, bytes_of);
    length(&record.key) + length(&record.value)
}

fn bytes_of(part: &impl AsRef<[u8]>) -> usize {
    part.as_ref().len()
}
