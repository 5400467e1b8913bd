//! Records at a steady rate into every partition of a topic, and which of them Kafka acknowledged.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Message as _};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// The longest time for the last acknowledgements.
const FLUSH: Duration = Duration::from_secs(20);

/// The load: one record for each partition of a topic in each round, and a round at each interval.
#[derive(Debug, Clone)]
pub struct Load {
    /// The topic.
    pub topic: String,
    /// Its partitions; records are produced into each of them.
    pub partitions: i32,
    /// The time between two records of one partition. Rounds that were missed are made up for.
    pub interval: Duration,
    /// The producer's `linger.ms`: 0 = each record goes out at once.
    pub linger: Duration,
}

/// The contents of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The key; `None` = none.
    pub key: Option<String>,
    /// The value.
    pub value: String,
}

/// The records that Kafka has acknowledged: by partition and offset, the round that each is of. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Produced(Arc<Mutex<BTreeMap<i32, BTreeMap<i64, usize>>>>);

impl Produced {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, BTreeMap<i64, usize>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of records.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().values().map(BTreeMap::len).sum()
    }

    /// The rounds, by partition and offset.
    #[must_use]
    pub fn offsets(&self) -> BTreeMap<i32, BTreeMap<i64, usize>> {
        self.lock().clone()
    }

    /// The end of each partition: the offset after its last record.
    #[must_use]
    pub fn ends(&self) -> BTreeMap<i32, i64> {
        let end = |of: &BTreeMap<i64, usize>| of.last_key_value().map_or(0, |(offset, _)| offset + 1);
        self.lock().iter().map(|(partition, of)| (*partition, end(of))).collect()
    }

    /// The rounds of all records, by partition and in the order of the offsets.
    #[must_use]
    pub fn rounds(&self) -> BTreeMap<i32, Vec<usize>> {
        self.lock().iter().map(|(partition, of)| (*partition, of.values().copied().collect())).collect()
    }
}

impl rdkafka::ClientContext for Produced {}

impl ProducerContext for Produced {
    /// The round.
    type DeliveryOpaque = usize;

    /// A record that was not acknowledged was not produced. One of which Kafka does not say where it is, as it does not of
    /// what it takes for a repetition, is not known to be in the log.
    fn delivery(&self, result: &DeliveryResult<'_>, round: usize) {
        if let Some(message) = result.as_ref().ok().filter(|message| message.offset() >= 0) {
            self.lock().entry(message.partition()).or_default().insert(message.offset(), round);
        }
    }
}

/// A producer that runs until it is stopped, or dropped.
#[derive(Debug)]
pub struct Production {
    produced: Produced,
    stop: CancellationToken,
    running: AbortOnDropHandle<Result<(), KafkaError>>,
}

impl Production {
    /// Starts it at the broker `kafka`, "host:port". `content` decides the record of a round in a partition.
    ///
    /// # Errors
    /// When librdkafka refuses its settings.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start(
        kafka: &str,
        load: Load,
        content: impl Fn(usize, i32) -> Content + Send + Sync + 'static,
    ) -> Result<Self> {
        let (produced, stop) = (Produced::default(), CancellationToken::new());
        let producer: ThreadedProducer<Produced> = ClientConfig::new()
            .set("bootstrap.servers", kafka)
            .set("linger.ms", load.linger.as_millis().to_string())
            .set("enable.idempotence", "true")
            .create_with_context(produced.clone())?;
        let running = AbortOnDropHandle::new(tokio::spawn(produce(producer, load, content, stop.clone())));
        Ok(Self { produced, stop, running })
    }

    /// The records that were acknowledged so far.
    #[must_use]
    pub const fn produced(&self) -> &Produced {
        &self.produced
    }

    /// Stops it, and returns everything that was acknowledged. To be called once.
    ///
    /// # Errors
    /// When a record could not be sent, or the last ones are not acknowledged in time.
    ///
    /// # Cancel safety
    /// Cancel safe: it stops all the same.
    pub async fn stop(&mut self) -> Result<Produced> {
        self.stop.cancel();
        (&mut self.running).await?.context("the producer failed")?;
        Ok(self.produced.clone())
    }
}

/// One round at each tick; ticks that were missed are made up for.
async fn produce(
    producer: ThreadedProducer<Produced>,
    load: Load,
    content: impl Fn(usize, i32) -> Content,
    stop: CancellationToken,
) -> Result<(), KafkaError> {
    let mut ticks = interval(load.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for round in 0.. {
        tokio::select! {
            biased;
            // Enough.
            () = stop.cancelled() => break,
            // The next record of each partition is due.
            _ = ticks.tick() => {}
        }
        for partition in 0..load.partitions {
            send(&producer, &load.topic, partition, round, &content(round, partition))?;
        }
    }
    tokio::task::spawn_blocking(move || producer.flush(FLUSH)).await.unwrap_or(Err(KafkaError::Canceled))
}

fn send(
    producer: &ThreadedProducer<Produced>,
    topic: &str,
    partition: i32,
    round: usize,
    content: &Content,
) -> Result<(), KafkaError> {
    let mut record = BaseRecord::<str, str, usize>::with_opaque_to(topic, round);
    record = record.partition(partition).payload(&content.value);
    if let Some(key) = &content.key {
        record = record.key(key);
    }
    producer.send(record).map_err(|(error, _)| error)
}

#[cfg(test)]
mod tests {
    use rdkafka::mocking::MockCluster;

    use super::*;
    use crate::until;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_was_acknowledged_is_known_by_partition_offset_and_round() {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic("records", 2, 1).unwrap();
        let load = Load {
            topic: "records".to_owned(),
            partitions: 2,
            interval: Duration::from_millis(1),
            linger: Duration::ZERO,
        };
        let content = |round, partition| Content { key: None, value: format!("{round} {partition}") };
        let mut production = Production::start(&cluster.bootstrap_servers(), load, content).unwrap();
        let enough = || Ok((production.produced().count() >= 20).then_some(()));
        until("twenty records", Duration::from_secs(30), enough).await.unwrap();
        let produced = production.stop().await.unwrap();
        let (ends, rounds) = (produced.ends(), produced.rounds());
        for partition in 0..2 {
            let count = usize::try_from(ends[&partition]).unwrap();
            assert_eq!(rounds[&partition], (0..count).collect::<Vec<_>>());
        }
    }
}
