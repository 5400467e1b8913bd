//! Where processing starts, and records that are gone.

use std::time::{Duration, Instant};

use kafka_assigner_client::kafka::{GapRule, StartPosition, StartPositions};
use kafka_assigner_client::{Offset, TopicName};
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{AssignedPartition, Assignment, Snapshot};
use tokio::time::timeout;

use super::broker::Broker;
use super::summing::{Did, Fate};
use super::{PATIENCE, Running, caught_up, granted, processed};
use crate::fake::Asked;

on_brokers! {
    records_that_were_removed_before_they_were_processed_are_told
    a_gap_that_is_refused_keeps_the_partition_from_beginning
    a_partition_of_which_nothing_is_committed_starts_at_its_end
    a_partition_of_which_nothing_is_committed_starts_at_an_offset
    a_partition_of_which_nothing_is_committed_does_not_start_where_that_is_refused
    a_committed_offset_counts_more_than_a_start_position
    a_warm_partition_follows_its_owner_until_the_switch
}

async fn records_that_were_removed_before_they_were_processed_are_told(broker: &Broker) {
    let first = broker.produce_and_remove().await;
    broker.commit(1);
    let (running, watch) = Running::start_as(broker, granted(broker), |runner, _| runner).await;
    running.handler.wait_for_number(10).await;
    assert_eq!(*running.handler.gaps.lock().expect("no panic"), [(1, first)]);
    assert_eq!(running.handler.processed().first(), Some(&(first.cast_unsigned() + 1)));
    assert_eq!(watch.counts().gaps, 1);
    running.stop().await;
    let again = Running::start(broker, granted(broker)).await;
    again.handler.wait_for_fate(Fate::Assigned).await;
    assert!(again.handler.gaps.lock().expect("no panic").is_empty(), "it was told once");
    again.stop().await;
}

async fn a_gap_that_is_refused_keeps_the_partition_from_beginning(broker: &Broker) {
    broker.produce_and_remove().await;
    broker.commit(1);
    let refuse = |runner: super::KafkaRunner<_>, _: &super::KafkaOptions| runner.with_gaps(GapRule::Refuse);
    let (mut running, _) = Running::start_as(broker, granted(broker), refuse).await;
    let status = running.handle.wait_for(|status| !status.stopped.is_empty());
    let stopped = timeout(PATIENCE, status).await.expect("in time").expect("it runs").stopped;
    assert_eq!(stopped[0].offset, Offset::ZERO.next());
    assert!(stopped[0].reason.contains("are gone"), "{stopped:?}");
    assert!(running.handler.processed().is_empty());
    broker.commit(10);
    running.handler.wait_for_fate(Fate::Assigned).await;
    running.handle.wait_for(|status| status.stopped.is_empty()).await.expect("it runs");
    running.stop().await;
}

/// What is done with the numbers from 1 to 10, and 11 later, by a consumer that starts at `position`.
async fn started_at(broker: &Broker, position: StartPosition) -> Vec<Did> {
    broker.produce_as_of(Some(1_000), 1..6).await;
    broker.produce_as_of(Some(2_000), 6..11).await;
    let topic = TopicName::new(&broker.topic).expect("a valid name");
    let starts = StartPositions::all(StartPosition::Refuse).with(topic, position);
    let (running, watch) =
        Running::start_as(broker, granted(broker), |runner, _| runner.with_starts(starts)).await;
    running.handler.wait_for_fate(Fate::Assigned).await;
    broker.produce(11..12).await;
    let done = running.handler.wait_for_number(11).await;
    assert_eq!(watch.counts().gaps, 0);
    running.stop().await;
    done
}

async fn a_partition_of_which_nothing_is_committed_starts_at_its_end(broker: &Broker) {
    let done = started_at(broker, StartPosition::Latest).await;
    assert_eq!(done, [caught_up(1..11), processed(11..12, 55)].concat());
}

/// The embedded broker finds no offsets by time.
#[tokio::test]
async fn a_partition_of_which_nothing_is_committed_starts_at_a_time() {
    let Some(broker) = Broker::real().await else { return };
    let done = started_at(&broker, StartPosition::Timestamp(1_500)).await;
    assert_eq!(done, [caught_up(1..6), processed(6..12, 15)].concat());
}

async fn a_partition_of_which_nothing_is_committed_starts_at_an_offset(broker: &Broker) {
    let done = started_at(broker, StartPosition::At(Offset::new(3).expect("valid"))).await;
    assert_eq!(done, [caught_up(1..4), processed(4..12, 6)].concat());
}

async fn a_committed_offset_counts_more_than_a_start_position(broker: &Broker) {
    broker.commit(8);
    let done = started_at(broker, StartPosition::Latest).await;
    assert_eq!(done, [caught_up(1..9), processed(9..12, 36)].concat());
}

async fn a_partition_of_which_nothing_is_committed_does_not_start_where_that_is_refused(broker: &Broker) {
    broker.produce(1..11).await;
    let starts = StartPositions::all(StartPosition::Refuse);
    let (running, _) =
        Running::start_as(broker, granted(broker), |runner, _| runner.with_starts(starts)).await;
    let begun = timeout(Duration::from_secs(1), running.handler.wait_for(|done| !done.is_empty())).await;
    assert!(begun.is_err(), "{begun:?}");
    broker.commit(3);
    let done = running.handler.wait_for_number(10).await;
    assert_eq!(done, [caught_up(1..4), processed(4..11, 6)].concat());
    running.stop().await;
}

async fn a_warm_partition_follows_its_owner_until_the_switch(broker: &Broker) {
    broker.produce(1..31).await;
    broker.commit(10);
    let running = Running::start(broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    broker.commit(20);
    running.handler.wait_for(|done| *done == caught_up(1..21)).await;
    broker.commit(25);
    running.fake.push(broker.assign(7, "h"));
    let done = running.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..26), processed(26..31, 325)].concat());
    running.stop().await;
}

/// The embedded broker can't remove records.
#[tokio::test]
async fn a_strict_switch_waits_for_no_record_that_was_removed() {
    let Some(broker) = Broker::real().await else { return };
    broker.produce(1..31).await;
    broker.commit(30);
    broker.remove_before(30).await;
    let running = Running::start(&broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    let begun = Instant::now();
    let assigned = vec![broker.strict_grant(9, Some(Offset::new(30).expect("valid").get()), "h")];
    running.fake.push(Command::Assignment(Assignment { assigned, ..Assignment::default() }));
    running.handler.wait_for_fate(Fate::Assigned).await;
    // The wait for a record that does not come would take a second.
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    running.stop().await;
}

/// The embedded broker deletes no groups.
#[tokio::test]
async fn a_group_whose_offsets_were_deleted_after_a_crash_begins_once_there_are_some() {
    let Some(broker) = Broker::real().await else { return };
    broker.produce(1..11).await;
    let crashing = Running::start(&broker, granted(&broker)).await;
    crashing.handler.wait_for_number(10).await;
    let all = async { while broker.committed().await.is_none_or(|(next, _)| next < 10) {} };
    timeout(PATIENCE, all).await.expect("its work is committed");
    crashing.end.abort();
    assert!(crashing.end.await.expect_err("it has crashed").is_cancelled());
    broker.delete_group().await;
    let topic_id = "BwcHBwcHBwcHBwcHBwcHBw".to_owned();
    let assigned = vec![AssignedPartition { was_committed: true, topic_id, ..broker.grant(6, "") }];
    let again = Snapshot { assigned, ..Snapshot::default() };
    let mut running = Running::start(&broker, again).await;
    let status = running.handle.wait_for(|status| !status.stopped.is_empty());
    let stopped = timeout(PATIENCE, status).await.expect("in time").expect("it runs").stopped;
    assert!(stopped[0].reason.contains("is gone"), "{stopped:?}");
    assert!(running.handler.processed().is_empty());
    broker.commit(7);
    let done = running.handler.wait_for_number(10).await;
    assert_eq!(done, [caught_up(1..8), processed(8..11, 28)].concat());
    running.handle.wait_for(|status| status.stopped.is_empty()).await.expect("it runs");
    running.stop().await;
}
