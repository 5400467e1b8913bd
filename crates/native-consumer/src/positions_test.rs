//! Positions next to a broker that does what a test says.

use crate::consumer_test::{first_partition, options, until, within};
use crate::simulated::SimulatedBroker;
use crate::{NativeConsumer, NativeOptions, PartitionEnd, StartAt};

#[tokio::test]
async fn a_position_that_the_policy_chose_is_committed_and_so_the_next_owner_begins_there() {
    let broker = SimulatedBroker::start(1, 5).await;
    let latest = NativeOptions { start_at: StartAt::Latest, ..options(&broker) };
    let mut consumer = NativeConsumer::start(latest).unwrap();
    let first = first_partition(&mut consumer).await;
    until("the position is committed", || broker.state().committed == [(0, 5)].into()).await;
    broker.state().beat_error = 25;
    until("it is lost", || first.ended() == Some(PartitionEnd::Lost)).await;
    broker.state().records = 8;
    let mut next = first_partition(&mut consumer).await;
    assert_eq!(within(next.next_batch()).await.unwrap().records[0].offset, 5);
}
