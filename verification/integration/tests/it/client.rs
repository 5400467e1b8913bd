//! The Kafka runner under a scripted service: over an embedded broker, and over a real one where there is one.

use std::time::Duration;

use kafka_assigner_client::kafka::{FencedProducers, KafkaOptions, KafkaRunner, RunnerHandle};
use kafka_assigner_client::{
    Consumer, ConsumerError, ConsumerHandle, ConsumerOptions, OnStop, PartitionHandler, Stopped,
};
use kafka_assigner_proto::v1::{DeregisterMode, Snapshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::fake::{Asked, Fake};
use broker::Broker;
use summing::{Did, Summing};

/// Long against everything here, so that it only ends what hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// The tests of a module, on every broker that there is.
macro_rules! on_brokers {
    ($($name:ident)+) => {
        mod embedded { $(#[tokio::test] async fn $name() { super::$name(&super::Broker::embedded()).await; })+ }
        mod real {
            $(#[tokio::test] async fn $name() {
                if let Some(broker) = super::Broker::real().await { super::$name(&broker).await; }
            })+
        }
    };
}

mod broker;
mod compacted;
mod coordinator;
mod errors;
mod faults;
mod fencing;
mod keyed;
mod leaving;
mod markers;
mod placed;
mod positions;
mod reading;
mod shards;
mod strict;
mod summing;
mod switching;

/// A consumer whose handler notes what it does in what its clones share.
struct Running<H = Summing> {
    fake: Fake,
    handler: H,
    handle: ConsumerHandle,
    shutdown: CancellationToken,
    end: JoinHandle<Result<Stopped, ConsumerError>>,
}

impl Running {
    async fn start(broker: &Broker, snapshot: Snapshot) -> Self {
        Self::start_on(Fake::new(), broker, snapshot).await
    }

    async fn start_with_ttl(broker: &Broker, snapshot: Snapshot, ttl: Duration) -> Self {
        Self::start_on(Fake::granting(ttl), broker, snapshot).await
    }

    async fn start_on(fake: Fake, broker: &Broker, snapshot: Snapshot) -> Self {
        let handler = Summing::default();
        let kafka = KafkaOptions::new(&broker.address, broker.group());
        let runner = KafkaRunner::new(&kafka, handler.clone()).expect("valid options");
        Self::run(fake, snapshot, handler, runner).await
    }

    /// A consumer whose runner is made as `make` says.
    async fn start_as(
        broker: &Broker,
        snapshot: Snapshot,
        make: impl FnOnce(KafkaRunner<Summing>, &KafkaOptions) -> KafkaRunner<Summing>,
    ) -> (Self, RunnerHandle<u64>) {
        let handler = Summing::default();
        let kafka = KafkaOptions::new(&broker.address, broker.group());
        let runner = make(KafkaRunner::new(&kafka, handler.clone()).expect("valid options"), &kafka);
        let watch = runner.handle();
        (Self::run(Fake::new(), snapshot, handler, runner).await, watch)
    }

    /// A consumer whose partitions are fenced at the broker.
    async fn start_fenced(broker: &Broker, snapshot: Snapshot) -> (Self, FencedProducers) {
        let handler = Summing::default();
        let kafka = KafkaOptions::new(&broker.address, broker.group());
        let producers = FencedProducers::new(&kafka, &[]).expect("valid options");
        let runner = KafkaRunner::new(&kafka, handler.clone()).expect("valid options");
        let runner = runner.with_producers(producers.clone());
        let options = ConsumerOptions { max_partitions: FencedProducers::MOST, ..options() };
        (Self::run_as(options, Fake::new(), snapshot, handler, runner).await, producers)
    }

    /// A consumer that prepares so many partitions at once.
    async fn start_with_max_warming(broker: &Broker, snapshot: Snapshot, max_warming: usize) -> Self {
        let handler = Summing::default();
        let kafka = KafkaOptions::new(&broker.address, broker.group());
        let runner = KafkaRunner::new(&kafka, handler.clone()).expect("valid options");
        let options = ConsumerOptions { max_warming, ..options() };
        Self::run_as(options, Fake::new(), snapshot, handler, runner).await
    }

    async fn run(fake: Fake, snapshot: Snapshot, handler: Summing, runner: KafkaRunner<Summing>) -> Self {
        Self::run_as(options(), fake, snapshot, handler, runner).await
    }
}

impl<H> Running<H> {
    async fn run_as(
        options: ConsumerOptions,
        fake: Fake,
        snapshot: Snapshot,
        handler: H,
        runner: impl PartitionHandler,
    ) -> Self {
        let shutdown = CancellationToken::new();
        fake.show(snapshot);
        let consumer = Consumer::over(options, fake.clone()).expect("valid options");
        let mut handle = consumer.handle();
        let end = tokio::spawn(consumer.run(runner, shutdown.clone()));
        handle.wait_for(|status| status.session.is_some()).await.expect("it runs");
        Self { fake, handler, handle, shutdown, end }
    }

    async fn asked(&self, wanted: Asked) {
        timeout(PATIENCE, self.fake.wait_for(|asked| *asked == wanted)).await.expect("in time");
    }

    /// Where the partition was drained for a handoff.
    async fn drained(&self, handoff_id: &str) -> Option<i64> {
        let is_it = |asked: &Asked| matches!(asked, Asked::Drained(id, _) if id == handoff_id);
        match timeout(PATIENCE, self.fake.wait_for(is_it)).await.expect("in time") {
            Asked::Drained(_, next_offset) => next_offset,
            other => panic!("{other:?}"),
        }
    }

    async fn stop(self) {
        self.shutdown.cancel();
        let end = timeout(PATIENCE, self.end).await.expect("in time").expect("no panic");
        assert_eq!(end, Ok(Stopped::Left));
        assert_eq!(self.fake.asked().last(), Some(&Asked::Deregister(DeregisterMode::Restart)));
    }
}

fn options() -> ConsumerOptions {
    ConsumerOptions { on_stop: OnStop::Restart, ..ConsumerOptions::new("a", ["http://one"]) }
}

fn granted(broker: &Broker) -> Snapshot {
    Snapshot { assigned: vec![broker.grant(5, "")], ..Snapshot::default() }
}

fn processed(numbers: std::ops::Range<u64>, mut sum: u64) -> Vec<Did> {
    let add = |number| {
        sum += number;
        Did::Processed(number, sum)
    };
    numbers.map(add).collect()
}

fn caught_up(numbers: std::ops::Range<u64>) -> Vec<Did> {
    numbers.map(Did::CaughtUp).collect()
}
