//! Handlers that hang, consumers that vanish, and logs that are not what they were.

use std::sync::atomic::Ordering;

use kafka_assigner_proto::v1::{AssignedPartition, FenceReason, Snapshot};

use super::broker::Broker;
use super::summing::{Did, Fate};
use super::{Running, caught_up, granted, processed};

on_brokers! {
    a_hanging_record_is_cut_by_a_fence_and_the_partition_can_be_prepared_again
    a_dropped_consumer_processes_nothing_more
    an_owner_whose_drain_failed_goes_on_when_the_partition_stays
    a_committed_offset_beyond_the_end_of_the_log_skips_nothing_that_is_written_later
}

async fn a_hanging_record_is_cut_by_a_fence_and_the_partition_can_be_prepared_again(broker: &Broker) {
    let running = hanging_at_11(broker).await;
    running.fake.push(broker.release("h"));
    running.fake.show(Snapshot { assigned: vec![broker.grant(9, "")], ..Snapshot::default() });
    running.fake.fence(FenceReason::Expired);
    let done = running.handler.wait_for_number(11).await;
    assert_eq!(done.last(), Some(&Did::Processed(11, 66)));
    let fates = running.handler.fates.borrow().clone();
    assert_eq!(fates, [Fate::Assigned, Fate::Hangs, Fate::Cut, Fate::Lost, Fate::Assigned]);
    running.stop().await;
}

async fn a_dropped_consumer_processes_nothing_more(broker: &Broker) {
    let running = hanging_at_11(broker).await;
    assert!(running.handle.claim_is_valid());
    running.end.abort();
    assert!(running.end.await.is_err_and(|end| end.is_cancelled()));
    assert!(!running.handle.claim_is_valid(), "what can't be cut could still act");
    running.handler.wait_for_fate(Fate::Cut).await;
}

/// H50: nobody is left to take the partition, before the drain is tried again.
async fn an_owner_whose_drain_failed_goes_on_when_the_partition_stays(broker: &Broker) {
    broker.produce(1..11).await;
    let mut running = Running::start(broker, granted(broker)).await;
    running.handler.wait_for_number(10).await;
    running.handle.wait_for(|status| status.partitions.owned == 1).await.expect("it runs");
    running.handler.drain_failures.store(1, Ordering::SeqCst);
    running.fake.push(broker.release("h"));
    running.handler.wait_for_fate(Fate::Drained).await;
    running.fake.push(broker.assign(9, ""));
    broker.produce(11..21).await;
    let done = running.handler.wait_for_number(20).await;
    assert_eq!(done, processed(1..21, 0));
    running.stop().await;
    assert_eq!(broker.committed().await, Some((20, "epoch=9".into())));
}

/// An owner that has handled ten records, and never ends with the next one.
async fn hanging_at_11(broker: &Broker) -> Running {
    broker.produce(1..11).await;
    let running = Running::start(broker, granted(broker)).await;
    running.handler.wait_for_number(10).await;
    running.handler.hangs.store(1, Ordering::SeqCst);
    broker.produce(11..12).await;
    running.handler.wait_for_fate(Fate::Hangs).await;
    running
}

async fn a_committed_offset_beyond_the_end_of_the_log_skips_nothing_that_is_written_later(broker: &Broker) {
    broker.produce(1..11).await;
    broker.commit(100);
    let running = Running::start(broker, granted(broker)).await;
    running.handler.wait_for_fate(Fate::Assigned).await;
    broker.produce(11..21).await;
    let done = running.handler.wait_for_number(20).await;
    assert_eq!(done, [caught_up(1..11), processed(11..21, 55)].concat());
    running.stop().await;
    assert_eq!(broker.committed().await, Some((20, "epoch=5".into())));
}

/// The embedded broker can't delete topics.
#[tokio::test]
async fn a_log_that_was_reset_is_read_anew_from_its_beginning() {
    let Some(broker) = Broker::real().await else { return };
    broker.produce(1..51).await;
    let running = Running::start(&broker, granted(&broker)).await;
    running.handler.wait_for_number(50).await;
    broker.recreate_topic().await;
    broker.produce(101..111).await;
    running.handler.wait_for_loss().await;
    broker.produce(111..112).await;
    let done = running.handler.wait_for(|done| done.iter().any(|did| number(did) == 111)).await;
    let anew: Vec<_> = done.iter().map(number).skip_while(|number| *number != 101).collect();
    assert_eq!(anew, (101..112).collect::<Vec<_>>(), "a record of the new log was passed over");
    running.stop().await;
}

/// As many as are prepared at once, and before the healthy one by name.
#[tokio::test]
async fn partitions_without_a_leader_keep_no_healthy_one_from_starting() {
    let broker = Broker::embedded();
    let mock = broker.mock.as_ref().expect("it is embedded");
    let without_leader = |partition| {
        mock.partition_leader("absent", partition, None).expect("a partition");
        AssignedPartition { topic: "absent".into(), partition, ..broker.grant(5, "") }
    };
    mock.create_topic("absent", 4, 1).expect("a topic is made");
    let assigned = (0..4).map(without_leader).chain([broker.grant(5, "")]).collect();
    broker.produce(1..11).await;
    let running =
        Running::start_with_max_warming(&broker, Snapshot { assigned, ..Snapshot::default() }, 4).await;
    assert_eq!(running.handler.wait_for_number(10).await, processed(1..11, 0));
    running.stop().await;
}

fn number(did: &Did) -> u64 {
    match did {
        Did::CaughtUp(number) | Did::Processed(number, _) => *number,
    }
}
