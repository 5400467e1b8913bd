//! Moves of a partition from one consumer to another.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kafka_assigner_client::kafka::rdkafka::ClientConfig;
use kafka_assigner_client::kafka::rdkafka::producer::{FutureProducer, FutureRecord};
use kafka_assigner_client::kafka::rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use kafka_assigner_proto::v1::Snapshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::broker::Broker;
use super::summing::Did;
use super::{PATIENCE, Running, caught_up, granted, processed};
use crate::fake::Asked;

on_brokers! {
    a_new_owner_follows_the_committed_offset_and_never_passes_it
    an_idle_partition_is_taken_at_once
    an_old_owner_commits_everything_it_handled_before_it_says_released
    a_panic_at_the_switch_costs_only_another_preparation
    a_failed_catch_up_at_the_switch_costs_no_record
    a_switch_under_load_loses_nothing_and_both_owners_overlap
}

async fn a_new_owner_follows_the_committed_offset_and_never_passes_it(broker: &Broker) {
    broker.produce(1..31).await;
    broker.commit(10);
    let running = Running::start(broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    assert_eq!(running.handler.wait_for(|_| true).await, caught_up(1..11));
    // The old owner goes on until the switch.
    broker.commit(20);
    running.fake.push(broker.assign(7, "h"));
    running.asked(Asked::Taken("h".into())).await;
    let done = running.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..21), processed(21..31, 210)].concat());
    running.stop().await;
}

async fn an_idle_partition_is_taken_at_once(broker: &Broker) {
    let running = Running::start(broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    running.fake.push(broker.assign(7, "h"));
    running.asked(Asked::Taken("h".into())).await;
    broker.produce(1..2).await;
    running.handler.wait_for_number(1).await;
    running.stop().await;
}

async fn an_old_owner_commits_everything_it_handled_before_it_says_released(broker: &Broker) {
    broker.produce(1..101).await;
    let mut running = Running::start(broker, granted(broker)).await;
    running.handler.wait_for_number(100).await;
    // A start that is not over yet would be called off, and what it handled is repeated by the next owner.
    running.handle.wait_for(|status| status.partitions.owned == 1).await.expect("it runs");
    running.fake.push(broker.release("h"));
    running.asked(Asked::Released("h".into())).await;
    assert_eq!(broker.committed().await, Some((100, "epoch=5".into())));
    broker.produce(101..102).await;
    running.stop().await;
}

async fn a_panic_at_the_switch_costs_only_another_preparation(broker: &Broker) {
    broker.produce(1..31).await;
    broker.commit(10);
    let running = Running::start(broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    running.handler.panics.store(1, Ordering::SeqCst);
    broker.commit(20);
    running.fake.push(broker.assign(7, "h"));
    running.asked(Asked::Taken("h".into())).await;
    let done = running.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..11), caught_up(1..21), processed(21..31, 210)].concat());
    running.stop().await;
}

async fn a_failed_catch_up_at_the_switch_costs_no_record(broker: &Broker) {
    broker.produce(1..31).await;
    broker.commit(10);
    let running = Running::start(broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    // The start and its first repetition.
    running.handler.catch_up_failures.store(2, Ordering::SeqCst);
    broker.commit(20);
    running.fake.push(broker.assign(7, "h"));
    running.asked(Asked::Taken("h".into())).await;
    let done = running.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..21), processed(21..31, 210)].concat());
    running.stop().await;
}

/// Writes a number every two milliseconds until it is told to stop; returns the last one.
pub(super) fn keep_producing(broker: &Broker, from: u64, stop: CancellationToken) -> JoinHandle<u64> {
    let (address, topic) = (broker.address.clone(), broker.topic.clone());
    tokio::spawn(async move {
        let producer: FutureProducer = ClientConfig::new()
            .set("bootstrap.servers", &address)
            .set("linger.ms", "0")
            .create()
            .expect("a producer");
        let mut number = from;
        while !stop.is_cancelled() {
            let payload = number.to_string();
            let record = FutureRecord::<(), _>::to(&topic).partition(0).payload(&payload);
            producer.send(record, PATIENCE).await.expect("it is written");
            number += 1;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        number - 1
    })
}

/// Nothing is lost (W3), and there is no gap (I4 of the handoff protocol): the new owner has handled a record before the
/// old one handles its last.
async fn a_switch_under_load_loses_nothing_and_both_owners_overlap(broker: &Broker) {
    let (old, new) =
        (Running::start(broker, granted(broker)).await, Running::start(broker, Snapshot::default()).await);
    let stop = CancellationToken::new();
    let producing = keep_producing(broker, 1, stop.clone());
    old.handler.wait_for(|done| done.len() > 200).await;
    new.fake.push(broker.warm("h"));
    new.asked(Asked::Ready("h".into())).await;
    new.fake.push(broker.assign(7, "h"));
    new.asked(Asked::Taken("h".into())).await;
    assert!(!new.handler.processed().is_empty(), "it says that it processes, and has processed nothing");
    old.fake.push(broker.release("h"));
    old.asked(Asked::Released("h".into())).await;
    stop.cancel();
    let last = producing.await.expect("no panic");
    let by_new = new.handler.wait_for_number(last).await;
    assert_eq!(by_new.last(), Some(&Did::Processed(last, last * (last + 1) / 2)), "the state missed some");
    let processed: BTreeSet<_> = old.handler.processed().into_iter().chain(new.handler.processed()).collect();
    assert_eq!(processed.len() as u64, last, "a record was lost");
    let first_of_new = new.handler.turns.lock().expect("no panic").first().copied();
    let last_of_old = old.handler.turns.lock().expect("no panic").last().copied();
    assert!(first_of_new < last_of_old, "the old owner stopped before the new one began");
    old.stop().await;
    new.stop().await;
}

/// A record is in the log, and the new owner's fetches are slow: until it has handled the record, the old owner has to
/// go on.
#[tokio::test]
async fn a_new_owner_with_slow_fetches_takes_only_after_the_record_that_is_there() {
    let broker = Broker::embedded();
    // So long ago that no further one is expected.
    broker.produce_as_of(Some(1), 1..11).await;
    broker.commit(10);
    let running = Running::start(&broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    let mock = broker.mock.as_ref().expect("it is embedded");
    // Each costs a fetch of 100 ms; nothing else is slower.
    mock.request_errors(RDKafkaApiKey::Fetch, &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR; 6]);
    broker.produce(11..12).await;
    running.fake.push(broker.assign(7, "h"));
    running.asked(Asked::Taken("h".into())).await;
    assert_eq!(running.handler.processed(), [11]);
    running.stop().await;
}
