//! Errors of a broker that does what a test says.

use crate::NativeConsumer;
use crate::consumer_test::{first_partition, options, until, within};
use crate::simulated::SimulatedBroker;

#[tokio::test]
async fn errors_of_a_fetch_that_pass_end_no_partition() {
    let broker = SimulatedBroker::start(1, 9).await;
    let mut consumer = NativeConsumer::start(options(&broker)).unwrap();
    let mut partition = first_partition(&mut consumer).await;
    for error in [78, -1] {
        until("it is told", || {
            let mut state = broker.state();
            let is_idle = state.fetch_error == 0 && state.fetched_from == state.records;
            if is_idle {
                state.fetch_error = error;
            }
            is_idle
        })
        .await;
        until("it has heard it", || broker.state().fetch_error == 0).await;
        broker.state().records += 1;
    }
    let mut offsets = Vec::new();
    while offsets.len() < 11 {
        let batch = within(partition.next_batch()).await.expect("it goes on");
        offsets.extend(batch.records.iter().map(|record| record.offset));
    }
    assert_eq!(offsets, (0..11).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_broker_that_refuses_fetches_as_a_whole_is_asked_less_and_less() {
    let broker = SimulatedBroker::start(1, 6).await;
    let mut consumer = NativeConsumer::start(options(&broker)).unwrap();
    let mut partition = first_partition(&mut consumer).await;
    within(partition.next_batch()).await.unwrap();
    let (beats, fetches) = {
        let mut state = broker.state();
        state.fetch_refusal = -1;
        (state.beats, state.fetches)
    };
    until("time passes", || broker.state().beats > beats + 30).await;
    let asked = broker.state().fetches - fetches;
    assert!((1..15).contains(&asked), "{asked}");
    broker.state().fetch_refusal = 0;
    within(partition.next_batch()).await.expect("it goes on");
}

#[tokio::test]
async fn a_coordinator_that_can_not_be_named_now_is_asked_for_again() {
    let broker = SimulatedBroker::start(1, 6).await;
    broker.state().finder_errors = [-1, -1].into();
    let mut consumer = NativeConsumer::start(options(&broker)).unwrap();
    first_partition(&mut consumer).await;
    assert!(broker.state().finder_errors.is_empty());
}
