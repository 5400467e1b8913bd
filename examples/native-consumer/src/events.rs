//! The lines that tell what happens.

use std::io::Write as _;
use std::time::SystemTime;

use async_trait::async_trait;
use kafka_assigner_native_consumer::{
    MemberNotice, OwnedPartition, PartitionBatch, RebalanceChange, RebalanceListener,
};
use serde::Serialize;

/// Something that happened.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Event {
    event: &'static str,
    /// The generation of the group, or the member's epoch; −1: outside of any.
    generation: i32,
    /// Topics with numbers of partitions.
    partitions: Vec<(String, u32)>,
    /// The number of records, or of partitions.
    count: usize,
    /// The first and the last offset of the records.
    #[serde(skip_serializing_if = "Option::is_none")]
    offsets: Option<(i64, i64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The wall clock, in milliseconds since 1970.
    ts_ms: u128,
}

impl Event {
    pub(crate) fn plain(event: &'static str) -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { event, generation: -1, ts_ms: since.as_millis(), ..Self::default() }
    }

    fn change(event: &'static str, change: &RebalanceChange) -> Self {
        let name = |partition: &kafka_assigner_native_consumer::TopicPartition| {
            (partition.topic.as_str().to_owned(), partition.partition)
        };
        let partitions: Vec<_> = change.partitions.iter().map(name).collect();
        Self { generation: change.generation, count: partitions.len(), partitions, ..Self::plain(event) }
    }

    pub(crate) fn records(partition: &OwnedPartition, batch: &PartitionBatch) -> Self {
        let (first, last) = (batch.records.first(), batch.records.last());
        let name = partition.partition();
        Self {
            generation: partition.generation(),
            partitions: vec![(name.topic.as_str().to_owned(), name.partition)],
            count: batch.records.len(),
            offsets: first.zip(last).map(|(first, last)| (first.offset, last.offset)),
            ..Self::plain("records")
        }
    }

    pub(crate) fn error(error: &dyn std::error::Error) -> Self {
        Self { error: Some(error.to_string()), ..Self::plain("error") }
    }
}

/// Writes a line for each event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventLog {
    is_json: bool,
}

impl EventLog {
    pub(crate) const fn new(is_json: bool) -> Self {
        Self { is_json }
    }

    /// Writes the line, at once. Where nobody reads it, nothing can be done.
    pub(crate) fn tell(self, event: &Event) {
        let line = if self.is_json {
            serde_json::to_string(event).unwrap_or_default()
        } else {
            format!("{:9} generation {:3} {:?}", event.event, event.generation, event.partitions)
        };
        let mut out = std::io::stdout().lock();
        let _nobody_reads = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

#[async_trait]
impl RebalanceListener for EventLog {
    async fn assigned(&self, change: &RebalanceChange) {
        self.tell(&Event::change("assigned", change));
    }

    async fn revoked(&self, change: &RebalanceChange) {
        self.tell(&Event::change("revoked", change));
    }

    async fn lost(&self, change: &RebalanceChange) {
        self.tell(&Event::change("lost", change));
    }

    async fn noticed(&self, notice: &MemberNotice) {
        match notice {
            MemberNotice::BrokerPlans => self.tell(&Event::plain("turned")),
            MemberNotice::Failed(failure) => self.tell(&Event::error(failure)),
            _ => {}
        }
    }
}
