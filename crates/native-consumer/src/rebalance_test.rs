//! Rebalances and callbacks next to a broker that does what a test says.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::consumer_test::{BOUND, first_partition, options, until, within};
use crate::simulated::SimulatedBroker;
use crate::{
    KafkaError, MemberFailure, NativeConsumer, NativeFailure, NativeOptions, PartitionEnd, RebalanceChange,
    RebalanceListener,
};

/// A listener that remembers its calls.
#[derive(Debug, Clone, Default)]
struct Remembering {
    calls: Arc<Mutex<Vec<(&'static str, usize)>>>,
    /// The call that it never comes back from.
    hangs_at: Option<&'static str>,
}

impl Remembering {
    async fn take(&self, name: &'static str, change: &RebalanceChange) {
        self.calls.lock().unwrap().push((name, change.partitions.len()));
        if self.hangs_at == Some(name) {
            std::future::pending::<()>().await;
        }
    }

    fn has_heard(&self, call: (&'static str, usize)) -> bool {
        self.calls.lock().unwrap().contains(&call)
    }
}

#[async_trait]
impl RebalanceListener for Remembering {
    async fn assigned(&self, change: &RebalanceChange) {
        self.take("assigned", change).await;
    }

    async fn revoked(&self, change: &RebalanceChange) {
        self.take("revoked", change).await;
    }

    async fn lost(&self, change: &RebalanceChange) {
        self.take("lost", change).await;
    }
}

/// Eager: everything is given up before a join.
fn eager(broker: &SimulatedBroker) -> NativeOptions {
    NativeOptions { strategies: vec!["range".to_owned()], ..options(broker) }
}

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

#[tokio::test]
async fn an_application_and_its_listener_have_one_deadline_and_not_one_each() {
    let broker = SimulatedBroker::start(1, 6).await;
    let short = NativeOptions {
        session_timeout: Duration::from_secs(3),
        poll_interval: Duration::from_secs(3),
        ..eager(&broker)
    };
    let listener = Remembering { hangs_at: Some("revoked"), ..Remembering::default() };
    let mut consumer = NativeConsumer::start_with(short, listener).unwrap();
    let partition = first_partition(&mut consumer).await;
    broker.state().beat_error = 27;
    until("it is to be given up", || partition.ended() == Some(PartitionEnd::Revoked)).await;
    let since = Instant::now();
    let _asking = tokio::spawn(async move { consumer.next_partition().await.map(drop) });
    until("it joins again", || broker.state().generation == 2).await;
    // The group waits for 3 s; the callback has four fifths of that.
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
}

#[tokio::test]
async fn closing_waits_for_no_listener_beyond_its_time() {
    let broker = SimulatedBroker::start(1, 6).await;
    let listener = Remembering { hangs_at: Some("assigned"), ..Remembering::default() };
    let consumer = NativeConsumer::start_with(options(&broker), listener.clone()).unwrap();
    until("the listener is called", || listener.has_heard(("assigned", 1))).await;
    let since = Instant::now();
    within(consumer.close(Duration::from_millis(500))).await.unwrap();
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
}

#[tokio::test]
async fn what_is_lost_while_it_is_given_up_is_told_as_lost() {
    let broker = SimulatedBroker::start(1, 6).await;
    let listener = Remembering::default();
    let mut consumer = NativeConsumer::start_with(eager(&broker), listener.clone()).unwrap();
    let mut partition = first_partition(&mut consumer).await;
    within(partition.next_batch()).await.unwrap();
    broker.state().beat_error = 27;
    until("it is to be given up", || partition.ended() == Some(PartitionEnd::Revoked)).await;
    broker.state().beat_error = 25;
    until("it is lost", || partition.ended() == Some(PartitionEnd::Lost)).await;
    until("the next life begins", || listener.calls.lock().unwrap().len() == 3).await;
    let calls = listener.calls.lock().unwrap().clone();
    assert_eq!(calls, [("assigned", 1), ("lost", 1), ("assigned", 1)]);
}

#[tokio::test]
async fn a_group_that_may_not_be_seen_any_more_ends_the_member_after_its_callbacks() {
    let broker = SimulatedBroker::start(1, 6).await;
    let listener = Remembering::default();
    let mut consumer = NativeConsumer::start_with(options(&broker), listener.clone()).unwrap();
    let partition = first_partition(&mut consumer).await;
    {
        let mut state = broker.state();
        (state.beat_error, state.finder_errors) = (16, [30].into());
    }
    let failure = within(consumer.next_partition()).await.unwrap_err();
    assert_eq!(failure, NativeFailure::Member(MemberFailure::Coordinator(KafkaError(30))));
    assert_eq!(partition.ended(), Some(PartitionEnd::Lost));
    assert!(listener.has_heard(("lost", 1)));
    within(consumer.close(BOUND)).await.unwrap_err();
}
