//! Produces numbered, keyed records at a steady rate into every partition.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kafka_assigner_audit::Record;
use kafka_assigner_types::id::TopicPartition;
use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Message as _};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::kafka::{Kafka, RECORD_OVERHEAD};

/// Distinct keys in each partition: enough that a warm-up has something to rebuild, few enough to compare.
const KEYS: u64 = 16;

/// The most records of a run: each is kept in memory, twice, so that everything can be added up in the end.
const MOST_RECORDS: u64 = 2_000_000;

/// The counts of produced records so far; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Produced(Arc<ProducedCounts>);

#[derive(Debug, Default)]
struct ProducedCounts {
    /// By partition: acknowledged records by their offsets.
    records: Mutex<BTreeMap<i32, BTreeMap<i64, Record>>>,
    acknowledged: AtomicU64,
    failed: AtomicU64,
    is_full: AtomicBool,
}

impl Produced {
    /// Records that the cluster acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.0.acknowledged.load(Ordering::Relaxed)
    }

    /// Records that the cluster did not take.
    pub(crate) fn failed(&self) -> u64 {
        self.0.failed.load(Ordering::Relaxed)
    }

    /// Returns true if production stopped because there is no room for more.
    pub(crate) fn is_full(&self) -> bool {
        self.0.is_full.load(Ordering::Relaxed)
    }

    /// Every acknowledged record, by partition in the order of the offsets.
    pub(crate) fn records(&self, topic: &str) -> BTreeMap<TopicPartition, Vec<Record>> {
        let records = self.0.records.lock().unwrap_or_else(PoisonError::into_inner);
        let of_partition = |(partition, of): (&i32, &BTreeMap<i64, Record>)| {
            let at = TopicPartition::from_kafka(topic, *partition).expect("it took the record");
            (at, of.values().cloned().collect())
        };
        records.iter().map(of_partition).collect()
    }
}

impl rdkafka::ClientContext for Produced {}

impl ProducerContext for Produced {
    type DeliveryOpaque = Box<Record>;

    fn delivery(&self, result: &DeliveryResult<'_>, record: Box<Record>) {
        let Ok(message) = result else {
            self.0.failed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let mut records = self.0.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.entry(message.partition()).or_default().insert(message.offset(), *record);
        self.0.acknowledged.fetch_add(1, Ordering::Relaxed);
    }
}

/// The source of the records: generated values, or the user's lines.
#[derive(Debug)]
pub(crate) enum RecordSource {
    /// As many as there is time for.
    Endless,
    /// These, once.
    Lines(std::vec::IntoIter<String>),
}

impl RecordSource {
    /// The value of the next record; `None` at the end.
    fn next(&mut self, id: u64) -> Option<String> {
        match self {
            Self::Endless => Some(format!("record {id}")),
            Self::Lines(lines) => lines.next(),
        }
    }
}

/// Produces until `stop`, the end of the source, or until the cluster is full; then waits for what is under way.
pub(crate) async fn produce(
    kafka: &Kafka,
    partitions: u32,
    every: Duration,
    mut source: RecordSource,
    produced: Produced,
    stop: CancellationToken,
) -> Result<(), KafkaError> {
    let producer: ThreadedProducer<Produced> = ClientConfig::new()
        .set("bootstrap.servers", &kafka.bootstrap)
        .set("linger.ms", "0")
        .set("enable.idempotence", "true")
        .create_with_context(produced.clone())?;
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next = ProductionProgress { id: 0, bytes: 0 };
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            _ = ticks.tick() => {}
        }
        if next.id >= MOST_RECORDS || kafka.bytes_per_partition.is_some_and(|most| next.bytes >= most) {
            produced.0.is_full.store(true, Ordering::Relaxed);
            break;
        }
        if !next.round(&producer, &kafka.topic, partitions, &mut source)? {
            break;
        }
    }
    tokio::task::spawn_blocking(move || producer.flush(Duration::from_secs(10))).await.unwrap_or(Ok(()))
}

/// The progress of production.
struct ProductionProgress {
    id: u64,
    /// Bytes in the fullest partition, at most.
    bytes: u64,
}

impl ProductionProgress {
    /// One record for each partition; false at the end of the source.
    fn round(
        &mut self,
        producer: &ThreadedProducer<Produced>,
        topic: &str,
        partitions: u32,
        source: &mut RecordSource,
    ) -> Result<bool, KafkaError> {
        let mut largest = 0;
        for partition in 0..partitions {
            let Some(value) = source.next(self.id) else { return Ok(false) };
            let record = Record { id: self.id, key: self.key(partition, partitions) };
            largest = largest.max((record.key.len() + value.len()) as u64 + RECORD_OVERHEAD);
            send(producer, topic, partition, record, &value)?;
            self.id += 1;
        }
        self.bytes += largest;
        Ok(true)
    }

    fn key(&self, partition: u32, partitions: u32) -> String {
        format!("key-{partition}-{}", self.id / u64::from(partitions) % KEYS)
    }
}

/// The id travels in front of the value, so that a consumer can name what it handled.
fn send(
    producer: &ThreadedProducer<Produced>,
    topic: &str,
    partition: u32,
    record: Record,
    value: &str,
) -> Result<(), KafkaError> {
    let payload = format!("{} {value}", record.id);
    let key = record.key.clone();
    let message = BaseRecord::with_opaque_to(topic, Box::new(record))
        .partition(i32::try_from(partition).unwrap_or(i32::MAX))
        .key(&key)
        .payload(&payload);
    producer.send(message).map_err(|(error, _)| error)
}

/// The id in front of a record's value.
pub(crate) fn id_of(payload: &[u8]) -> Option<u64> {
    std::str::from_utf8(payload).ok()?.split(' ').next()?.parse().ok()
}
