//! A consumer next to a broker that does what a test says.

use std::time::Duration;

use crate::simulated::{SimulatedBroker, TOPIC};
use crate::{
    CommitFailure, KafkaConnection, KafkaError, NativeConsumer, NativeOptions, Offset, OwnedPartition,
    PartitionEnd, ReceiveFailure, RecordStream, StartAt, TopicChoice,
};

pub(crate) const BOUND: Duration = Duration::from_secs(60);

pub(crate) fn options(broker: &SimulatedBroker) -> NativeOptions {
    let topics = TopicChoice::named([TOPIC]).unwrap();
    NativeOptions {
        strategies: vec!["balanced".to_owned()],
        start_at: StartAt::Earliest,
        session_timeout: Duration::from_secs(30),
        heartbeat_interval: Duration::from_millis(20),
        ..NativeOptions::new(KafkaConnection::new(vec![broker.address.clone()]), "g", topics)
    }
}

pub(crate) async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, what).await.expect("it takes less than a minute")
}

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(BOUND, waiting).await.unwrap_or_else(|_| panic!("{what}"));
}

pub(crate) async fn first_partition(consumer: &mut NativeConsumer) -> OwnedPartition {
    within(consumer.next_partition()).await.unwrap().unwrap()
}

#[tokio::test]
async fn every_record_comes_once_in_order_and_what_is_done_is_committed_before_it_leaves() {
    let broker = SimulatedBroker::start(2, 5).await;
    let mut records = RecordStream::new(NativeConsumer::start(options(&broker)).unwrap());
    let mut got = Vec::new();
    while got.len() < 10 {
        let record = within(records.recv()).await.unwrap().unwrap();
        got.push((record.partition.partition, record.record.offset));
        records.done(&record).unwrap();
    }
    for partition in 0..2 {
        let of: Vec<_> = got.iter().filter(|(at, _)| *at == partition).map(|(_, offset)| *offset).collect();
        assert_eq!(of, [0, 1, 2, 3, 4]);
    }
    within(records.close(BOUND)).await.unwrap();
    let state = broker.state();
    assert_eq!(state.committed, [(0, 5), (1, 5)].into());
    assert!(state.has_left);
}

#[tokio::test]
async fn nothing_is_committed_after_a_loss_and_the_next_life_begins_at_what_was() {
    let broker = SimulatedBroker::start(1, 6).await;
    let mut consumer = NativeConsumer::start(options(&broker)).unwrap();
    let mut partition = first_partition(&mut consumer).await;
    let first = within(partition.next_batch()).await.unwrap();
    within(partition.commit_through(first.last_offset())).await.unwrap();
    let second = within(partition.next_batch()).await.unwrap();
    broker.state().beat_error = 25;
    until("it is lost", || partition.ended() == Some(PartitionEnd::Lost)).await;
    assert_eq!(within(partition.next_batch()).await, None);
    assert_eq!(within(partition.commit_through(second.last_offset())).await, Err(CommitFailure::Lost));
    let mut next = first_partition(&mut consumer).await;
    let again = within(next.next_batch()).await.unwrap();
    assert_eq!(again.records[0].offset, 2, "from what was committed");
    within(next.commit_through(again.last_offset())).await.unwrap();
    let commits = broker.state().commits.clone();
    let members: Vec<_> = commits.iter().map(|commit| (commit.member.as_str(), commit.offset)).collect();
    // The first is the position that was chosen.
    assert_eq!(members, [("member-1", 0), ("member-1", 2), ("member-2", 4)]);
}

#[tokio::test]
async fn a_commit_that_is_refused_says_so_and_a_membership_that_is_over_is_lost_with_it() {
    let broker = SimulatedBroker::start(1, 6).await;
    let mut consumer = NativeConsumer::start(NativeOptions {
        // No heartbeat tells it first.
        heartbeat_interval: Duration::from_secs(10),
        ..options(&broker)
    })
    .unwrap();
    let mut partition = first_partition(&mut consumer).await;
    let batch = within(partition.next_batch()).await.unwrap();
    until("the position is committed", || broker.state().committed == [(0, 0)].into()).await;
    let behind = Offset::new(3).unwrap();
    assert_eq!(partition.done_through(behind), Err(CommitFailure::NotHandedOut));
    broker.state().commit_error = 12;
    let refused = within(partition.commit_through(batch.last_offset())).await;
    assert_eq!(refused, Err(CommitFailure::Refused(KafkaError(12))));
    let batch = within(partition.next_batch()).await.unwrap();
    broker.state().commit_error = 25;
    assert_eq!(within(partition.commit_through(batch.last_offset())).await, Err(CommitFailure::Lost));
}

#[tokio::test]
async fn a_group_that_forms_anew_waits_for_the_application_while_heartbeats_go_on() {
    let broker = SimulatedBroker::start(1, 6).await;
    let mut consumer = NativeConsumer::start(NativeOptions {
        // Eager: everything is given up before a join.
        strategies: vec!["range".to_owned()],
        ..options(&broker)
    })
    .unwrap();
    let mut partition = first_partition(&mut consumer).await;
    let batch = within(partition.next_batch()).await.unwrap();
    broker.state().beat_error = 27;
    until("it is to be given up", || partition.ended() == Some(PartitionEnd::Revoked)).await;
    let beats = broker.state().beats;
    until("heartbeats go on", || broker.state().beats > beats + 5).await;
    assert_eq!(broker.state().generation, 1, "it waits for the application");
    partition.done_through(batch.last_offset()).unwrap();
    partition.release();
    let next = first_partition(&mut consumer).await;
    assert_eq!((next.generation(), broker.state().committed.clone()), (2, [(0, 2)].into()));
}

#[tokio::test]
async fn a_seek_reads_on_from_there_and_an_error_that_does_not_pass_ends_the_partition() {
    let broker = SimulatedBroker::start(1, 9).await;
    let mut records = RecordStream::new(NativeConsumer::start(options(&broker)).unwrap());
    within(records.recv()).await.unwrap().unwrap();
    broker.state().fetch_error = 29;
    let failure = loop {
        match within(records.recv()).await {
            Ok(Some(_)) => broker.state().fetch_error = 29,
            Ok(None) => panic!("it is not closed"),
            Err(failure) => break failure,
        }
    };
    let ReceiveFailure::Partition { reason, .. } = failure else { panic!("{failure:?}") };
    assert_eq!(reason, PartitionEnd::Refused(KafkaError(29)));

    let broker = SimulatedBroker::start(1, 9).await;
    let mut consumer = NativeConsumer::start(options(&broker)).unwrap();
    let mut partition = first_partition(&mut consumer).await;
    within(partition.next_batch()).await.unwrap();
    partition.seek(Offset::new(7).unwrap());
    let batch = within(partition.next_batch()).await.unwrap();
    assert_eq!(batch.records[0].offset, 7);
    within(partition.commit_through(batch.last_offset())).await.unwrap();
    assert_eq!(broker.state().committed, [(0, 9)].into());
}
