//! Partitions that go while something of them takes its time, and what is committed for them.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kafka_assigner_client::kafka::{ErrorPolicy, KafkaOptions, KafkaRunner};
use kafka_assigner_proto::v1::Snapshot;
use kafka_assigner_proto::v1::assignment_command::Command;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::broker::Broker;
use super::strict::assign;
use super::summing::{Fate, Summing};
use super::switching::keep_producing;
use super::{PATIENCE, Running, caught_up, processed};
use crate::fake::{Asked, Fake};

on_brokers! {
    a_partition_that_is_away_and_back_within_a_back_off_does_not_wait_for_its_end
    an_owner_that_is_told_to_drain_before_it_has_begun_says_where_it_is
    a_consumer_that_is_stopped_before_an_owner_has_begun_leaves_the_rest_to_the_next_one
    a_consumer_that_is_stopped_while_it_prepares_does_not_wait_for_the_end
    a_stop_commits_what_was_handled_since_the_last_commit
    a_drain_commits_what_was_handled_since_the_last_commit
}

/// Longer than any test waits.
const MINUTE: Duration = Duration::from_secs(60);

/// Long enough for something to come in between.
const WHILE: Duration = Duration::from_secs(2);

async fn a_partition_that_is_away_and_back_within_a_back_off_does_not_wait_for_its_end(broker: &Broker) {
    broker.produce(1..4).await;
    let policy = ErrorPolicy { first_retry: MINUTE, longest_retry: MINUTE, ..ErrorPolicy::default() };
    let (mut running, watch) =
        Running::start_as(broker, broker.strictly_granted(), |runner, _| runner.with_policy(policy)).await;
    running.handler.wait_for_number(3).await;
    running.handle.wait_for(|status| status.partitions.owned == 1).await.expect("it runs");
    running.handler.failures.store(1, Ordering::SeqCst);
    broker.produce(4..5).await;
    let failed = async {
        while watch.counts().retried == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, failed).await.expect("the record fails once");
    running.fake.push(broker.drain("h"));
    assert_eq!(running.drained("h").await, Some(3));
    running.fake.push(broker.release("h"));
    running.asked(Asked::Released("h".into())).await;
    running.fake.push(assign(broker, 9, Some(3), ""));
    let done = running.handler.wait_for_number(4).await;
    assert_eq!(done, [processed(1..4, 0), caught_up(1..4), processed(4..5, 6)].concat());
    running.stop().await;
}

/// A consumer that was just granted ten records, of which a call takes its time.
async fn granted_slowly(
    broker: &Broker,
    opening: Duration,
    beginning: Duration,
    command: Command,
) -> Running {
    broker.produce(1..11).await;
    let running = Running::start(broker, Snapshot::default()).await;
    *running.handler.opening.lock().expect("no panic inside") = opening;
    *running.handler.beginning.lock().expect("no panic inside") = beginning;
    running.fake.push(command);
    running.handler.wait_for_fate(Fate::Waits).await;
    running
}

/// The next owner, from where the one before it stopped, handles what is left of ten records.
async fn next_owner(broker: &Broker, start: Option<i64>, before: Vec<u64>) {
    let snapshot = Snapshot { assigned: vec![broker.strict_grant(9, start, "")], ..Snapshot::default() };
    let next = Running::start(broker, snapshot).await;
    broker.produce(11..12).await;
    next.handler.wait_for_number(11).await;
    assert_eq!([before, next.handler.processed()].concat(), (1..12).collect::<Vec<_>>(), "each once");
    next.stop().await;
}

async fn an_owner_that_is_told_to_drain_before_it_has_begun_says_where_it_is(broker: &Broker) {
    let grant = assign(broker, 5, None, "");
    let running = granted_slowly(broker, Duration::ZERO, WHILE, grant).await;
    running.fake.push(broker.drain("h"));
    let start = running.drained("h").await;
    let handled = running.handler.processed();
    assert_eq!(start, i64::try_from(handled.len()).ok());
    next_owner(broker, start, handled).await;
    running.stop().await;
}

async fn a_consumer_that_is_stopped_before_an_owner_has_begun_leaves_the_rest_to_the_next_one(
    broker: &Broker,
) {
    let grant = assign(broker, 5, None, "");
    let running = granted_slowly(broker, Duration::ZERO, WHILE, grant).await;
    let handler = running.handler.clone();
    running.stop().await;
    next_owner(broker, None, handler.processed()).await;
}

/// Nobody waits for what nobody needs any more.
async fn a_consumer_that_is_stopped_while_it_prepares_does_not_wait_for_the_end(broker: &Broker) {
    for command in [assign(broker, 5, None, ""), broker.warm("h")] {
        let running = granted_slowly(broker, MINUTE, Duration::ZERO, command).await;
        let begun = Instant::now();
        running.stop().await;
        assert!(begun.elapsed() < MINUTE / 4, "{:?}", begun.elapsed());
    }
}

/// An owner that commits once a minute, and has handled records that come without a break.
async fn with_long_interval(broker: &Broker) -> Running {
    let kafka =
        KafkaOptions { commit_interval: MINUTE, ..KafkaOptions::new(&broker.address, broker.group()) };
    let handler = Summing::default();
    let runner = KafkaRunner::new(&kafka, handler.clone()).expect("valid options");
    let running = Running::run(Fake::new(), broker.strictly_granted(), handler, runner).await;
    running.handler.wait_for(|done| done.len() > 100).await;
    running
}

/// The offset behind the last record that was handled, of which the number is one more than its offset.
fn end(handler: &Summing) -> Option<i64> {
    i64::try_from(*handler.processed().last()?).ok()
}

async fn a_stop_commits_what_was_handled_since_the_last_commit(broker: &Broker) {
    let stop = CancellationToken::new();
    let producing = keep_producing(broker, 1, stop.clone());
    let running = with_long_interval(broker).await;
    let handler = running.handler.clone();
    running.stop().await;
    assert_eq!(broker.committed().await.map(|(offset, _)| offset), end(&handler));
    stop.cancel();
    producing.await.expect("no panic");
}

async fn a_drain_commits_what_was_handled_since_the_last_commit(broker: &Broker) {
    let stop = CancellationToken::new();
    let producing = keep_producing(broker, 1, stop.clone());
    let running = with_long_interval(broker).await;
    running.fake.push(broker.drain("h"));
    let drained = running.drained("h").await;
    assert_eq!(drained, end(&running.handler));
    assert_eq!(broker.committed().await.map(|(offset, _)| offset), drained);
    stop.cancel();
    producing.await.expect("no panic");
    running.stop().await;
}
