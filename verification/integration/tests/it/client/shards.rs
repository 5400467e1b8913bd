//! Records of one partition that are handled side by side.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_client::kafka::{KafkaOptions, KafkaRunner, RunnerHandle, Sharded, ShardedState};
use kafka_assigner_client::{Epoch, TopicPartition};
use kafka_assigner_proto::v1::Snapshot;
use tokio::time::{Instant, sleep, timeout};

use super::broker::Broker;
use super::keyed::{Keyed, Table};
use super::strict::assign;
use super::{PATIENCE, Running, options};
use crate::fake::{Asked, Fake};

on_brokers! {
    the_lowest_record_of_all_shards_that_is_not_finished_is_committed
    a_move_takes_what_is_not_finished_along_and_keeps_the_order_of_keys
    after_a_crash_nothing_is_missing_and_what_was_not_committed_is_repeated
}

/// The shards of each partition.
const SHARDS: usize = 4;

/// The record that fails.
const FAILING: i64 = 7;

/// The keys, of which each record has the one of its offset.
const KEYS: i64 = 5;

type Watch = RunnerHandle<ShardedState<Table>>;

async fn start(broker: &Broker, snapshot: Snapshot, handler: Keyed) -> (Running<Keyed>, Watch) {
    let kafka = KafkaOptions::new(&broker.address, broker.group());
    let runner = KafkaRunner::new(&kafka, Sharded::new(handler.clone(), SHARDS)).expect("valid options");
    let watch = runner.handle();
    (Running::run_as(options(), Fake::new(), snapshot, handler, runner).await, watch)
}

/// Writes the records of these offsets.
async fn write(broker: &Broker, offsets: std::ops::Range<i64>) {
    let record = |offset: i64| (format!("key-{}", offset % KEYS), Some(offset.cast_unsigned()));
    broker.write_keyed(1_000, &offsets.map(record).collect::<Vec<_>>()).await;
}

/// The values of the log up to `end`.
fn table(end: i64) -> Table {
    (end - KEYS..end).map(|offset| (format!("key-{}", offset % KEYS), offset.cast_unsigned())).collect()
}

async fn read(watch: &Watch, broker: &Broker) -> (Table, Epoch) {
    let at = TopicPartition::try_from((broker.topic.as_str(), 0)).expect("a valid name");
    let read = watch.read(&at, |state, epoch| {
        let all = state.shards().iter().flatten();
        (all.map(|(key, value)| (key.clone(), *value)).collect(), epoch)
    });
    read.await.expect("it is owned")
}

fn is_in_order_of_keys(offsets: &[i64]) -> bool {
    (0..KEYS).all(|key| offsets.iter().filter(|offset| **offset % KEYS == key).is_sorted())
}

/// An owner that has handled twenty records but for one, and what waits for it: those before it are committed.
async fn failing(broker: &Broker) -> (Running<Keyed>, Watch) {
    write(broker, 0..20).await;
    let (running, watch) = start(broker, broker.strictly_granted(), Keyed::failing_at(FAILING)).await;
    // The last record has another key, and may be in another shard: those of one shard wait for each other.
    running.handler.wait_for(|offsets| offsets.iter().any(|offset| *offset > FAILING)).await;
    let begun = Instant::now();
    while broker.committed().await != Some((FAILING, "epoch=5".into())) {
        assert!(begun.elapsed() < PATIENCE, "committed: {:?}", broker.committed().await);
    }
    (running, watch)
}

async fn retried_twice(watch: &Watch) {
    let before = watch.counts().retried;
    let again = async {
        while watch.counts().retried < before + 2 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, again).await.expect("it is tried again");
}

async fn the_lowest_record_of_all_shards_that_is_not_finished_is_committed(broker: &Broker) {
    let (running, watch) = failing(broker).await;
    retried_twice(&watch).await;
    assert_eq!(broker.committed().await, Some((FAILING, "epoch=5".into())), "beyond what is not finished");
    running.handler.heal();
    running.handler.wait_for(|offsets| offsets.len() == 20).await;
    let once: BTreeSet<_> = running.handler.processed().into_iter().collect();
    assert_eq!(once.into_iter().collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    assert!(is_in_order_of_keys(&running.handler.processed()));
    assert_eq!(read(&watch, broker).await, (table(20), Epoch(5)));
    running.stop().await;
    assert_eq!(broker.committed().await, Some((20, "epoch=5".into())));
}

async fn a_move_takes_what_is_not_finished_along_and_keeps_the_order_of_keys(broker: &Broker) {
    let (old, _) = failing(broker).await;
    let (new, watch) = start(broker, Snapshot::default(), Keyed::default()).await;
    new.fake.push(broker.warm("h"));
    new.asked(Asked::Ready("h".into())).await;
    old.fake.push(broker.drain("h"));
    assert_eq!(old.drained("h").await, Some(FAILING));
    new.fake.push(assign(broker, 9, Some(FAILING), "h"));
    new.asked(Asked::Taken("h".into())).await;
    write(broker, 20..30).await;
    let processed = new.handler.wait_for(|offsets| offsets.len() == 23).await;
    assert_eq!(processed.iter().copied().collect::<BTreeSet<_>>(), (FAILING..30).collect());
    assert!(is_in_order_of_keys(&processed), "{processed:?}");
    assert_eq!(new.handler.caught_up(), (0..FAILING).collect::<Vec<_>>());
    assert_eq!(read(&watch, broker).await, (table(30), Epoch(9)));
    old.stop().await;
    new.stop().await;
    assert_eq!(broker.committed().await, Some((30, "epoch=9".into())));
}

async fn after_a_crash_nothing_is_missing_and_what_was_not_committed_is_repeated(broker: &Broker) {
    let (old, _) = failing(broker).await;
    old.end.abort();
    assert!(old.end.await.is_err_and(|end| end.is_cancelled()));
    let snapshot = Snapshot { assigned: vec![broker.strict_grant(9, None, "")], ..Snapshot::default() };
    let (new, watch) = start(broker, snapshot, Keyed::default()).await;
    let processed = new.handler.wait_for(|offsets| offsets.len() == 13).await;
    assert_eq!(processed.iter().copied().collect::<BTreeSet<_>>(), (FAILING..20).collect());
    assert!(is_in_order_of_keys(&processed), "{processed:?}");
    assert_eq!(new.handler.caught_up(), (0..FAILING).collect::<Vec<_>>());
    assert_eq!(read(&watch, broker).await, (table(20), Epoch(9)));
    new.stop().await;
    assert_eq!(broker.committed().await, Some((20, "epoch=9".into())));
}
