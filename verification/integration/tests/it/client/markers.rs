//! Logs that end with the marker of a transaction, which is no record.

use std::time::{Duration, Instant};

use kafka_assigner_client::kafka::rdkafka::ClientConfig;
use kafka_assigner_client::kafka::rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use kafka_assigner_proto::v1::Snapshot;
use tokio::task::block_in_place;

use super::broker::Broker;
use super::strict::assign;
use super::summing::Fate;
use super::{PATIENCE, Running};
use crate::fake::Asked;

/// The wait for a record that does not come.
const WAIT: Duration = Duration::from_secs(1);

/// So many switches of each kind are timed; the fastest counts, as the one that the machine held up least.
const TRIES: usize = 3;

/// What comes after 30 records at the end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogEnd {
    Record,
    /// A record and the marker of its commit.
    Committed,
    /// A record, and the marker of an abort that takes it back.
    Aborted,
}

impl LogEnd {
    async fn write(self, broker: &Broker) {
        if self == Self::Record {
            return broker.produce(31..32).await;
        }
        let producer: FutureProducer = ClientConfig::new()
            .set("bootstrap.servers", &broker.address)
            .set("transactional.id", &broker.topic)
            .create()
            .expect("a producer");
        block_in_place(|| producer.init_transactions(PATIENCE)).expect("it has the fence");
        producer.begin_transaction().expect("it is open");
        let record = FutureRecord::<(), _>::to(&broker.topic).partition(0).payload("31");
        producer.send(record, PATIENCE).await.expect("it is written");
        let ended = block_in_place(|| match self {
            Self::Aborted => producer.abort_transaction(PATIENCE),
            _ => producer.commit_transaction(PATIENCE),
        });
        ended.expect("it is ended");
    }
}

/// The time from a strict grant to the first record that may be processed, where the old owner stopped at `start` of a log
/// that ends so.
async fn switch(end: LogEnd, start: i64) -> Option<Duration> {
    let broker = Broker::real().await?;
    broker.produce(1..31).await;
    broker.commit(30);
    let running = Running::start(&broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    end.write(&broker).await;
    let begun = Instant::now();
    running.fake.push(assign(&broker, 9, Some(start), "h"));
    running.handler.wait_for_fate(Fate::Assigned).await;
    let elapsed = begun.elapsed();
    running.stop().await;
    Some(elapsed)
}

async fn fastest_switch(end: LogEnd, start: i64) -> Option<Duration> {
    let mut fastest = Duration::MAX;
    for _ in 0..TRIES {
        fastest = fastest.min(switch(end, start).await?);
    }
    Some(fastest)
}

/// The old owner may have stopped before the marker, or said that it is behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strict_switch_waits_for_no_marker() {
    let Some(without) = fastest_switch(LogEnd::Record, 31).await else { return };
    for (end, start) in
        [(LogEnd::Committed, 31), (LogEnd::Committed, 32), (LogEnd::Aborted, 30), (LogEnd::Aborted, 32)]
    {
        let Some(with) = fastest_switch(end, start).await else { return };
        println!(
            "a switch at {start} of a log that ends with {end:?}: {with:?}, without a marker {without:?}"
        );
        assert!(with < without + WAIT / 2, "{end:?} at {start}: {with:?}, without a marker {without:?}");
    }
}
