//! Produces records at a steady rate into every partition.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Message as _};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::topic;

/// The time between two records of one partition.
const INTERVAL: Duration = Duration::from_millis(100);

/// How long the last acknowledgements may take.
const FLUSH: Duration = Duration::from_secs(20);

/// By partition, how many records Kafka has acknowledged: their offsets are 0 and up. Clones share it.
#[derive(Debug, Clone, Default)]
struct Produced(Arc<Mutex<BTreeMap<i32, i64>>>);

impl rdkafka::ClientContext for Produced {}

impl ProducerContext for Produced {
    type DeliveryOpaque = ();

    /// A record that was not acknowledged was not produced.
    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let Ok(message) = result {
            let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let end = ends.entry(message.partition()).or_default();
            *end = (*end).max(message.offset() + 1);
        }
    }
}

/// A producer that runs until it is stopped.
#[derive(Debug)]
pub(crate) struct Production {
    produced: Produced,
    stop: CancellationToken,
    running: AbortOnDropHandle<Result<(), KafkaError>>,
}

impl Production {
    /// Starts it.
    pub(crate) fn start(brokers: &str) -> Result<Self> {
        let (produced, stop) = (Produced::default(), CancellationToken::new());
        let producer: ThreadedProducer<Produced> = ClientConfig::new()
            .set("bootstrap.servers", brokers)
            .set("linger.ms", "0")
            .set("enable.idempotence", "true")
            .create_with_context(produced.clone())?;
        let running = AbortOnDropHandle::new(tokio::spawn(produce(producer, stop.clone())));
        Ok(Self { produced, stop, running })
    }

    /// Stops it, and returns the end of each partition.
    pub(crate) async fn stop(self) -> Result<BTreeMap<i32, i64>> {
        self.stop.cancel();
        self.running.await?.context("the producer failed")?;
        let ends = self.produced.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(ends.clone())
    }
}

/// One record for each partition at each tick; ticks that were missed are made up for.
async fn produce(producer: ThreadedProducer<Produced>, stop: CancellationToken) -> Result<(), KafkaError> {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        tokio::select! {
            biased;
            // Enough.
            () = stop.cancelled() => break,
            // The next record of each partition is due.
            _ = ticks.tick() => {}
        }
        for partition in 0..topic::PARTITIONS {
            let record = BaseRecord::<(), str>::to(topic::NAME).partition(partition).payload("record");
            producer.send(record).map_err(|(error, _)| error)?;
        }
    }
    tokio::task::spawn_blocking(move || producer.flush(FLUSH)).await.unwrap_or(Err(KafkaError::Canceled))
}
