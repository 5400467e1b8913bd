//! Errors of a broker that does what a test says.

use std::time::{Duration, Instant};

use crate::consumer_test::{first_partition, options, until, within};
use crate::simulated::SimulatedBroker;
use crate::{NativeConsumer, RecordStream};

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
async fn a_partition_that_can_not_be_read_now_slows_no_other() {
    let broker = SimulatedBroker::start(2, 200).await;
    broker.state().refused = Some((1, 56));
    let mut records = RecordStream::new(NativeConsumer::start(options(&broker)).unwrap());
    let since = Instant::now();
    for _ in 0..200 {
        let record = within(records.recv()).await.unwrap().unwrap();
        assert_eq!(record.partition.partition, 0);
    }
    // A hundred fetches, of which none waits for the other partition. With a second after each it would take minutes.
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    broker.state().refused = None;
    assert_eq!(within(records.recv()).await.unwrap().unwrap().partition.partition, 1);
}

#[tokio::test]
async fn partitions_without_a_leader_are_looked_for_less_and_less_and_found() {
    let broker = SimulatedBroker::start(1, 6).await;
    let mut consumer = NativeConsumer::start(options(&broker)).unwrap();
    let mut partition = first_partition(&mut consumer).await;
    within(partition.next_batch()).await.unwrap();
    {
        // The leader is gone, and says so.
        let mut state = broker.state();
        (state.is_leaderless, state.fetch_error) = (true, 6);
    }
    let looks = broker.state().looks;
    until("it hears of it", || broker.state().looks > looks).await;
    let (since, before) = (Instant::now(), broker.state().looks);
    until("time passes", || since.elapsed() > Duration::from_secs(3)).await;
    let (looks, longest) = (broker.state().looks - before, since.elapsed());
    // The waits double to a second, so that there are six in the first three.
    let most = 6 + usize::try_from(longest.as_secs()).unwrap();
    assert!((2..=most).contains(&looks), "{looks} within {longest:?}");
    {
        let mut state = broker.state();
        (state.is_leaderless, state.records) = (false, 20);
    }
    while within(partition.next_batch()).await.expect("it goes on").last_offset().get() < 19 {}
}

#[tokio::test]
async fn a_coordinator_that_can_not_be_named_now_is_asked_for_again() {
    let broker = SimulatedBroker::start(1, 6).await;
    broker.state().finder_errors = [-1, -1].into();
    let mut consumer = NativeConsumer::start(options(&broker)).unwrap();
    first_partition(&mut consumer).await;
    assert!(broker.state().finder_errors.is_empty());
}
