//! The records that an owner reads, processes and commits.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::broker::Broker;
use super::{PATIENCE, Running, caught_up, granted, processed};
use crate::fake::Asked;

on_brokers! {
    a_fresh_partition_is_processed_from_its_beginning_and_committed_with_its_epoch
    a_restarted_consumer_rebuilds_its_state_and_goes_on_at_the_committed_offset
    a_record_that_fails_is_tried_again_and_never_skipped
    a_partition_that_comes_back_is_read_again
    a_quiet_partition_is_committed_again_once_it_is_granted
}

async fn a_fresh_partition_is_processed_from_its_beginning_and_committed_with_its_epoch(broker: &Broker) {
    broker.produce(1..50).await;
    let running = Running::start(broker, granted(broker)).await;
    assert_eq!(running.handler.wait_for_number(49).await, processed(1..50, 0));
    running.stop().await;
    assert_eq!(broker.committed().await, Some((49, "epoch=5".into())));
}

async fn a_restarted_consumer_rebuilds_its_state_and_goes_on_at_the_committed_offset(broker: &Broker) {
    broker.produce(1..21).await;
    let first = Running::start(broker, granted(broker)).await;
    first.handler.wait_for_number(20).await;
    first.stop().await;
    let second = Running::start(broker, granted(broker)).await;
    broker.produce(21..31).await;
    let done = second.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..21), processed(21..31, 210)].concat());
    second.stop().await;
}

async fn a_record_that_fails_is_tried_again_and_never_skipped(broker: &Broker) {
    let running = Running::start(broker, granted(broker)).await;
    running.handler.failures.store(3, Ordering::SeqCst);
    broker.produce(1..11).await;
    assert_eq!(running.handler.wait_for_number(10).await, processed(1..11, 0));
    running.stop().await;
}

async fn a_partition_that_comes_back_is_read_again(broker: &Broker) {
    broker.produce(1..11).await;
    let mut running = Running::start(broker, granted(broker)).await;
    running.handler.wait_for_number(10).await;
    running.handle.wait_for(|status| status.partitions.owned == 1).await.expect("it runs");
    running.fake.push(broker.release("h"));
    running.asked(Asked::Released("h".into())).await;
    running.fake.push(broker.assign(9, ""));
    broker.produce(11..21).await;
    let done = running.handler.wait_for_number(20).await;
    assert_eq!(done, [processed(1..11, 0), caught_up(1..11), processed(11..21, 55)].concat());
    running.stop().await;
}

/// Kafka forgets an offset that nobody commits again for days.
async fn a_quiet_partition_is_committed_again_once_it_is_granted(broker: &Broker) {
    broker.produce(1..11).await;
    broker.commit(10);
    let running = Running::start(broker, granted(broker)).await;
    let begun = Instant::now();
    while broker.committed().await != Some((10, "epoch=5".into())) {
        assert!(begun.elapsed() < PATIENCE, "it is never committed again");
    }
    assert!(running.handler.processed().is_empty());
    running.stop().await;
}
