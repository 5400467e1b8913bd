//! Produces numbered, keyed records at a steady rate into every partition.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_audit::Record;
use kafka_assigner_types::id::TopicPartition;
use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Message as _};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::scale::Scale;
use crate::topic;

/// Distinct keys in each partition: enough that a warm-up has something to rebuild, few enough to compare.
const KEYS: u64 = 16;

/// How long the last acknowledgements may take.
const FLUSH: Duration = Duration::from_secs(20);

/// What was acknowledged so far, by partition and offset; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Produced(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    records: Mutex<BTreeMap<i32, BTreeMap<i64, Record>>>,
    count: AtomicU64,
}

impl Produced {
    fn records(&self) -> MutexGuard<'_, BTreeMap<i32, BTreeMap<i64, Record>>> {
        self.0.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many records.
    pub(crate) fn count(&self) -> u64 {
        self.0.count.load(Ordering::Relaxed)
    }

    /// The end of each partition.
    pub(crate) fn ends(&self) -> BTreeMap<i32, i64> {
        let end = |of: &BTreeMap<i64, Record>| of.last_key_value().map_or(0, |(offset, _)| offset + 1);
        self.records().iter().map(|(partition, of)| (*partition, end(of))).collect()
    }

    /// All of them, in the order of their offsets.
    pub(crate) fn by_slot(&self) -> BTreeMap<TopicPartition, Vec<Record>> {
        let slot =
            |partition: &i32| TopicPartition::from_kafka(topic::NAME, *partition).expect("the topic has it");
        let records = self.records();
        records.iter().map(|(partition, of)| (slot(partition), of.values().cloned().collect())).collect()
    }
}

impl rdkafka::ClientContext for Produced {}

impl ProducerContext for Produced {
    type DeliveryOpaque = Box<Record>;

    /// A record that was not acknowledged was not produced.
    fn delivery(&self, result: &DeliveryResult<'_>, record: Box<Record>) {
        if let Ok(message) = result {
            self.records().entry(message.partition()).or_default().insert(message.offset(), *record);
            self.0.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A producer that runs until it is stopped.
#[derive(Debug)]
pub(crate) struct Production {
    produced: Produced,
    stop: CancellationToken,
    running: JoinHandle<Result<(), KafkaError>>,
}

impl Production {
    /// Starts it.
    pub(crate) fn start(brokers: &str, scale: &'static Scale) -> Result<Self> {
        let (produced, stop) = (Produced::default(), CancellationToken::new());
        let producer: ThreadedProducer<Produced> = ClientConfig::new()
            .set("bootstrap.servers", brokers)
            .set("linger.ms", "0")
            .set("enable.idempotence", "true")
            .create_with_context(produced.clone())?;
        let running = tokio::spawn(produce(producer, scale, stop.clone()));
        Ok(Self { produced, stop, running })
    }

    /// What was produced so far.
    pub(crate) const fn produced(&self) -> &Produced {
        &self.produced
    }

    /// Stops it, and returns everything that was produced.
    pub(crate) async fn stop(self) -> Result<Produced> {
        self.stop.cancel();
        self.running.await?.context("the producer failed")?;
        Ok(self.produced)
    }
}

/// One record for each partition at each tick; ticks that were missed are made up for.
async fn produce(
    producer: ThreadedProducer<Produced>,
    scale: &Scale,
    stop: CancellationToken,
) -> Result<(), KafkaError> {
    let mut ticks = interval(scale.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut round = 0;
    loop {
        tokio::select! {
            biased;
            // Enough.
            () = stop.cancelled() => break,
            // The next record of each partition is due.
            _ = ticks.tick() => {}
        }
        for (id, partition) in (round * u64::from(scale.partitions.unsigned_abs())..).zip(0..scale.partitions)
        {
            send(&producer, partition, Record { id, key: format!("key-{partition}-{}", round % KEYS) })?;
        }
        round += 1;
    }
    tokio::task::spawn_blocking(move || producer.flush(FLUSH)).await.unwrap_or(Err(KafkaError::Canceled))
}

fn send(producer: &ThreadedProducer<Produced>, partition: i32, record: Record) -> Result<(), KafkaError> {
    let (key, payload) = (record.key.clone(), format!("{} record", record.id));
    let message = BaseRecord::with_opaque_to(topic::NAME, Box::new(record));
    let message = message.partition(partition).key(&key).payload(&payload);
    producer.send(message).map_err(|(error, _)| error)
}
