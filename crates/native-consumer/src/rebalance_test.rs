//! Rebalances and callbacks next to a broker that does what a test says.

use crate::NativeConsumer;
use crate::consumer_test::{first_partition, options, until, within};
use crate::simulated::SimulatedBroker;

#[tokio::test]
async fn what_is_done_is_committed_before_the_member_joins_again() {
    let broker = SimulatedBroker::start(1, 6).await;
    let mut consumer = NativeConsumer::start(options(&broker)).unwrap();
    let mut partition = first_partition(&mut consumer).await;
    let batch = within(partition.next_batch()).await.unwrap();
    partition.done_through(batch.last_offset()).unwrap();
    broker.state().beat_error = 27;
    until("it joins again", || broker.state().generation == 2).await;
    assert_eq!(broker.state().committed_at_join, [(0, 2)].into());
    assert_eq!(partition.ended(), None, "a cooperative member keeps it");
}
