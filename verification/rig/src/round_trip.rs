//! The time that etcd and Kafka take for one answer, measured beside whatever else goes on.
//!
//! A partition that moves in a strict mode waits for both: for guarded writes to etcd, and for offsets that are
//! committed to Kafka. Its gap is judged by what these took in the same run, on the same machine, under the same load.
//!
//! Start reading at [`Probe`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kafka_assigner_audit::{Micros, Spread};
use kafka_assigner_store::{EtcdOptions, EtcdStore, Store as _};
use kafka_assigner_types::kv::{Op, Txn};
use kafka_assigner_types::moment::micros;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde::Serialize;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Four questions a second to each: no load beside a run, and hundreds of answers within a minute or two.
const PAUSE: Duration = Duration::from_millis(250);

/// The key that is written; no group of the service is there.
const KEY: &str = "/round-trip";

/// The group whose offset is committed; nobody is a member of it.
const GROUP: &str = "round-trip";

/// The medians, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct RoundTrip {
    /// From a write to etcd to its answer.
    pub etcd: f64,
    /// From the commit of an offset to Kafka's answer.
    pub kafka: f64,
}

/// Measures until it is stopped, or dropped.
#[derive(Debug)]
pub struct Probe {
    stop: CancellationToken,
    running: JoinHandle<Result<()>>,
    waits: Waits,
}

/// The times that the answers of each took; clones share them.
#[derive(Debug, Clone, Default)]
struct Waits(Arc<Mutex<[Vec<Micros>; 2]>>);

impl Waits {
    fn lock(&self) -> MutexGuard<'_, [Vec<Micros>; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Probe {
    /// Begins. `topic` exists at the `kafka` broker, "host:port"; `etcd` is a URL.
    ///
    /// # Errors
    /// When one of the addresses is none.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start(etcd: &str, kafka: &str, topic: &str) -> Result<Self> {
        let (etcd, kafka) = (EtcdStore::new(&EtcdOptions::new([etcd]))?, Commits::new(kafka, topic)?);
        let (stop, waits) = (CancellationToken::new(), Waits::default());
        let running = tokio::spawn(measure(etcd, kafka, waits.clone(), stop.clone()));
        Ok(Self { stop, running, waits })
    }

    /// Stops, and adds up.
    ///
    /// # Errors
    /// When one of the servers answered nothing at all.
    ///
    /// # Cancel safety
    /// Cancelled, it stops and tells nothing.
    pub async fn stop(mut self) -> Result<RoundTrip> {
        self.stop.cancel();
        (&mut self.running).await??;
        let [etcd, kafka] = std::mem::take(&mut *self.waits.lock());
        anyhow::ensure!(!etcd.is_empty(), "etcd answered none of the probe's writes");
        anyhow::ensure!(!kafka.is_empty(), "Kafka answered none of the probe's commits");
        Ok(RoundTrip { etcd: Spread::of(etcd).p50, kafka: Spread::of(kafka).p50 })
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// One question to each at a time. What fails is no measurement, and no failure of the run.
async fn measure(etcd: EtcdStore, mut kafka: Commits, waits: Waits, stop: CancellationToken) -> Result<()> {
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first answers come with the connection, and count for nothing.
    let mut is_connected = false;
    loop {
        tokio::select! {
            biased;
            // Enough.
            () = stop.cancelled() => return Ok(()),
            // The next question is due.
            _ = ticks.tick() => {}
        }
        let written = write(&etcd).await;
        let committed;
        (kafka, committed) =
            tokio::task::spawn_blocking(|| kafka.commit()).await.context("a commit panicked")?;
        if is_connected {
            let [of_etcd, of_kafka] = &mut *waits.lock();
            of_etcd.extend(written);
            of_kafka.extend(committed);
        }
        is_connected = true;
    }
}

async fn write(etcd: &EtcdStore) -> Option<Micros> {
    let begun = Instant::now();
    etcd.txn(Txn::guarded(Vec::new(), vec![Op::put(KEY, "")])).await.ok()?;
    Some(micros(begun.elapsed()))
}

struct Commits {
    consumer: BaseConsumer,
    offset: TopicPartitionList,
}

impl Commits {
    fn new(kafka: &str, topic: &str) -> Result<Self> {
        let consumer = ClientConfig::new().set("bootstrap.servers", kafka).set("group.id", GROUP).create()?;
        let mut offset = TopicPartitionList::new();
        offset.add_partition_offset(topic, 0, Offset::Offset(0))?;
        Ok(Self { consumer, offset })
    }

    fn commit(self) -> (Self, Option<Micros>) {
        let begun = Instant::now();
        let answered = self.consumer.commit(&self.offset, CommitMode::Sync).is_ok();
        let took = micros(begun.elapsed());
        (self, answered.then_some(took))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{self as testkit, topics};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn both_servers_are_measured() {
        let (Some(etcd), Some(kafka)) = (testkit::etcd(), testkit::kafka()) else { return };
        let topic = format!("round-trip-{}", std::process::id());
        topics::create(&kafka, &topic, 1).await.unwrap();
        let mut answers = Commits::new(&kafka, &topic).unwrap();
        // A new broker says for a while that it has no coordinator yet.
        assert!(testkit::holds_within(Duration::from_secs(60), || answers.is_answered()));

        let probe = Probe::start(&etcd, &kafka, &topic).unwrap();
        let has_answers = || probe.waits.lock().iter().all(|waits| !waits.is_empty());
        assert!(testkit::holds_within(Duration::from_secs(60), has_answers));
        let took = probe.stop().await.unwrap();
        assert!(took.etcd > 0.0 && took.kafka > 0.0, "{took:?}");
    }

    impl Commits {
        fn is_answered(&mut self) -> bool {
            self.consumer.commit(&self.offset, CommitMode::Sync).is_ok()
        }
    }

    #[tokio::test]
    async fn servers_that_answer_nothing_are_named() {
        let (stop, waits, running) =
            (CancellationToken::new(), Waits::default(), tokio::spawn(async { Ok(()) }));
        let error = Probe { stop, running, waits }.stop().await.unwrap_err();
        assert_eq!(error.to_string(), "etcd answered none of the probe's writes");
    }
}
