//! Produces numbered records at a steady rate into every partition.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_client::kafka::Message as _;
use kafka_assigner_client::kafka::rdkafka::error::KafkaError;
use kafka_assigner_client::kafka::rdkafka::message::DeliveryResult;
use kafka_assigner_client::kafka::rdkafka::producer::{
    BaseRecord, Producer as _, ProducerContext, ThreadedProducer,
};
use kafka_assigner_client::kafka::rdkafka::{ClientConfig, ClientContext};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::stage::Size;

/// How long the last acknowledgements may take.
const FLUSH: Duration = Duration::from_secs(20);

/// The end of each partition, as far as it was acknowledged; clones share it.
#[derive(Debug, Clone, Default)]
struct Ends(Arc<Mutex<BTreeMap<i32, i64>>>);

impl ClientContext for Ends {}

impl ProducerContext for Ends {
    type DeliveryOpaque = ();

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
    ends: Ends,
    stop: CancellationToken,
    running: JoinHandle<Result<(), KafkaError>>,
}

impl Production {
    /// Starts it.
    pub(crate) fn start(kafka: &str, topic: &str, size: Size) -> Result<Self> {
        let (ends, stop) = (Ends::default(), CancellationToken::new());
        let producer: ThreadedProducer<Ends> = ClientConfig::new()
            .set("bootstrap.servers", kafka)
            // As Kafka's own producer does since 4.0 (KIP-1030): all records of a tick go out in few requests.
            .set("linger.ms", "5")
            .set("enable.idempotence", "true")
            .create_with_context(ends.clone())?;
        let running = tokio::spawn(produce(producer, topic.to_owned(), size, stop.clone()));
        Ok(Self { ends, stop, running })
    }

    /// Stops it, and returns where each partition ends.
    pub(crate) async fn stop(&mut self) -> Result<BTreeMap<i32, i64>> {
        self.stop.cancel();
        (&mut self.running).await?.context("the producer failed")?;
        Ok(self.ends.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// One record for each partition at each tick; ticks that were missed are made up for.
async fn produce(
    producer: ThreadedProducer<Ends>,
    topic: String,
    size: Size,
    stop: CancellationToken,
) -> Result<(), KafkaError> {
    let mut ticks = interval(size.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for number in 0_u64.. {
        tokio::select! {
            biased;
            // Enough.
            () = stop.cancelled() => break,
            // The next record of each partition is due.
            _ = ticks.tick() => {}
        }
        let payload = number.to_string();
        for partition in 0..size.partitions {
            let record = BaseRecord::<'_, (), _>::to(&topic).partition(partition).payload(&payload);
            producer.send(record).map_err(|(error, _)| error)?;
        }
    }
    tokio::task::spawn_blocking(move || producer.flush(FLUSH)).await.unwrap_or(Err(KafkaError::Canceled))
}
