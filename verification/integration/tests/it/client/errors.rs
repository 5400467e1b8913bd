//! Records that can't be handled, and states that are read.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kafka_assigner_client::kafka::rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use kafka_assigner_client::kafka::{
    ErrorPolicy, FileSnapshots, KafkaOptions, KafkaRunner, RecordCounts, Remedy, StateReadError,
};
use kafka_assigner_client::{ConsumerError, Epoch, Offset, TopicName, TopicPartition};
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{AssignedPartition, Assignment, FenceReason, Snapshot};
use kafka_assigner_rig::Kafka;
use tokio::time::timeout;

use super::broker::{Broker, Letter};
use super::summing::{Did, Fate, Summing};
use super::{PATIENCE, Running, caught_up, granted, processed};
use crate::fake::Asked;

on_brokers! {
    a_record_that_fails_when_it_has_changed_the_state_is_repeated_on_a_state_that_is_built_anew
    a_record_that_panics_when_it_has_changed_the_state_is_repeated_on_a_state_that_is_built_anew
    a_record_that_is_skipped_is_in_no_state_and_every_owner_has_the_same
    a_dead_letter_says_where_it_is_from_and_no_rebuild_writes_another
    a_partition_that_stands_is_seen_and_its_drain_waits_for_nothing
    a_partition_that_stands_with_a_spoiled_state_is_not_tried_again
    a_partition_that_stands_tries_again_under_a_higher_epoch_and_skips_by_command
    a_fatal_record_ends_the_consumer
    a_state_is_read_between_records_by_its_owner_alone
    a_rebuild_begins_with_the_last_snapshot
}

/// Any runner after two attempts.
fn after_two(remedy: Remedy) -> impl FnOnce(KafkaRunner<Summing>, &KafkaOptions) -> KafkaRunner<Summing> {
    let first_retry = Duration::from_millis(10);
    let policy = ErrorPolicy { first_retry, longest_retry: first_retry, ..ErrorPolicy::after(2, remedy) };
    |runner, _| runner.with_policy(policy)
}

/// Numbers from 1 to 10, with a record between 5 and 6, at offset 5, that is none.
async fn produce_with_poison(broker: &Broker) {
    broker.produce(1..6).await;
    broker.produce_text("poison").await;
    broker.produce(6..11).await;
}

fn partition(broker: &Broker) -> TopicPartition {
    TopicPartition::try_from((broker.topic.as_str(), 0)).expect("a valid name")
}

async fn a_record_that_fails_when_it_has_changed_the_state_is_repeated_on_a_state_that_is_built_anew(
    broker: &Broker,
) {
    let running = Running::start(broker, granted(broker)).await;
    running.handler.late_failures.store(1, Ordering::SeqCst);
    broker.produce(1..11).await;
    assert_eq!(running.handler.wait_for_number(10).await, processed(1..11, 0));
    running.stop().await;
}

async fn a_record_that_panics_when_it_has_changed_the_state_is_repeated_on_a_state_that_is_built_anew(
    broker: &Broker,
) {
    let running = Running::start(broker, granted(broker)).await;
    running.handler.late_panics.store(1, Ordering::SeqCst);
    broker.produce(1..11).await;
    assert_eq!(running.handler.wait_for_number(10).await, processed(1..11, 0));
    running.stop().await;
}

async fn a_record_that_is_skipped_is_in_no_state_and_every_owner_has_the_same(broker: &Broker) {
    produce_with_poison(broker).await;
    let (first, watch) = Running::start_as(broker, granted(broker), after_two(Remedy::Skip)).await;
    assert_eq!(first.handler.wait_for_number(10).await, processed(1..11, 0));
    assert_eq!(watch.counts(), RecordCounts { retried: 1, skipped: 1, ..RecordCounts::default() });
    first.stop().await;
    assert_eq!(broker.committed().await, Some((11, "epoch=5".into())));
    let (second, watch) = Running::start_as(broker, granted(broker), after_two(Remedy::Skip)).await;
    broker.produce(11..12).await;
    let done = second.handler.wait_for_number(11).await;
    assert_eq!(done, [caught_up(1..11), processed(11..12, 55)].concat());
    assert_eq!(watch.counts().skipped, 1);
    second.stop().await;
}

fn with_dead_letters(
    broker: &Broker,
) -> impl FnOnce(KafkaRunner<Summing>, &KafkaOptions) -> KafkaRunner<Summing> + use<> {
    let topic = TopicName::new(&broker.dead_letters()).expect("a valid name");
    let with_policy = after_two(Remedy::DeadLetter);
    move |runner, kafka| with_policy(runner.with_dead_letters(kafka, topic).expect("valid options"), kafka)
}

async fn a_dead_letter_says_where_it_is_from_and_no_rebuild_writes_another(broker: &Broker) {
    broker.create_dead_letters().await;
    produce_with_poison(broker).await;
    let (first, watch) = Running::start_as(broker, granted(broker), with_dead_letters(broker)).await;
    assert_eq!(first.handler.wait_for_number(10).await, processed(1..11, 0));
    assert_eq!(watch.counts(), RecordCounts { retried: 1, dead_lettered: 1, ..RecordCounts::default() });
    first.stop().await;
    let (second, _) = Running::start_as(broker, granted(broker), with_dead_letters(broker)).await;
    broker.produce(11..12).await;
    let done = second.handler.wait_for_number(11).await;
    assert_eq!(done, [caught_up(1..11), processed(11..12, 55)].concat());
    second.stop().await;
    let (letter, count) = broker.letters().await.expect("there is a letter");
    let (topic, group) = (&broker.topic, broker.group());
    let headers = [
        "trace=7".to_owned(),
        format!("dead_letter.topic={topic}"),
        "dead_letter.partition=0".to_owned(),
        "dead_letter.offset=5".to_owned(),
        format!("dead_letter.group={group}"),
        "dead_letter.epoch=5".to_owned(),
        "dead_letter.attempts=2".to_owned(),
        "dead_letter.reason=invalid digit found in string".to_owned(),
    ];
    assert_eq!(letter, Letter { key: "k".into(), payload: "poison".into(), headers: headers.into() });
    assert_eq!(count, 1);
}

/// A broker that refuses the letter, and nothing else.
#[tokio::test]
async fn nothing_is_committed_behind_a_record_whose_letter_is_not_acknowledged() {
    let broker = Broker::embedded();
    broker.create_dead_letters().await;
    produce_with_poison(&broker).await;
    let mock = broker.mock.as_ref().expect("it is embedded");
    let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    mock.request_errors(RDKafkaApiKey::Produce, &[refused; 200]);
    let (running, watch) = Running::start_as(&broker, granted(&broker), with_dead_letters(&broker)).await;
    running.handler.wait_for_number(5).await;
    let tried_often = async {
        while watch.counts().retried < 1 || broker.committed().await != Some((5, "epoch=5".into())) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, tried_often).await.expect("what comes before it is committed");
    assert_eq!(running.handler.processed().last(), Some(&5), "a record behind it was handled");
    mock.clear_request_errors(RDKafkaApiKey::Produce);
    running.handler.wait_for_number(10).await;
    assert_eq!(watch.counts().dead_lettered, 1);
    running.stop().await;
    assert_eq!(broker.committed().await, Some((11, "epoch=5".into())));
}

async fn a_partition_that_stands_is_seen_and_its_drain_waits_for_nothing(broker: &Broker) {
    produce_with_poison(broker).await;
    let (mut running, watch) = Running::start_as(broker, granted(broker), after_two(Remedy::Stop)).await;
    let status = running.handle.wait_for(|status| !status.stopped.is_empty());
    let stopped = timeout(PATIENCE, status).await.expect("in time").expect("it runs").stopped;
    assert_eq!(stopped, watch.stopped());
    let [stopped] = &*stopped else { panic!("{stopped:?}") };
    assert_eq!((&stopped.partition, stopped.epoch), (&partition(broker), Epoch(5)));
    assert_eq!(
        (stopped.offset, &*stopped.reason),
        (Offset::new(5).expect("valid"), "invalid digit found in string")
    );
    running.fake.push(broker.release("h"));
    running.asked(Asked::Released("h".into())).await;
    assert_eq!(broker.committed().await, Some((5, "epoch=5".into())));
    running.handle.wait_for(|status| status.stopped.is_empty()).await.expect("it runs");
    running.stop().await;
}

async fn a_partition_that_stands_with_a_spoiled_state_is_not_tried_again(broker: &Broker) {
    let (mut running, _) = Running::start_as(broker, granted(broker), after_two(Remedy::Stop)).await;
    running.handler.late_failures.store(9, Ordering::SeqCst);
    broker.produce(1..2).await;
    // At first, and after each of the two attempts.
    let mut fates = running.handler.fates.subscribe();
    let begun = |fates: &Vec<Fate>| fates.iter().filter(|fate| **fate == Fate::Assigned).count();
    let began_again = fates.wait_for(|fates| begun(fates) == 3);
    timeout(PATIENCE, began_again).await.expect("in time").expect("the sender lives");
    let stands_again =
        running.handle.wait_for(|status| !status.stopped.is_empty() && status.partitions.owned == 1);
    timeout(PATIENCE, stands_again).await.expect("in time").expect("it runs");
    assert_eq!(running.handler.late_failures.load(Ordering::SeqCst), 7, "two attempts, and no more");
    running.stop().await;
}

async fn a_partition_that_stands_tries_again_under_a_higher_epoch_and_skips_by_command(broker: &Broker) {
    produce_with_poison(broker).await;
    let (mut running, watch) = Running::start_as(broker, granted(broker), after_two(Remedy::Stop)).await;
    let again = |epoch, skip_offset| {
        let granted = AssignedPartition { run: 5, skip_offset, ..broker.grant(epoch, "") };
        Command::Assignment(Assignment { assigned: vec![granted], ..Assignment::default() })
    };
    for (epoch, next) in [(5, again(6, None)), (6, again(7, Some(5)))] {
        let stands = running
            .handle
            .wait_for(|status| status.stopped.first().is_some_and(|stopped| stopped.epoch == Epoch(epoch)));
        timeout(PATIENCE, stands).await.expect("in time").expect("it runs");
        running.fake.push(next);
    }
    assert_eq!(running.handler.wait_for_number(10).await, processed(1..11, 0));
    running.handle.wait_for(|status| status.stopped.is_empty()).await.expect("it runs");
    assert_eq!(watch.counts(), RecordCounts { retried: 1, skipped: 1, ..RecordCounts::default() });
    running.stop().await;
    assert_eq!(broker.committed().await, Some((11, "epoch=7".into())));
}

async fn a_fatal_record_ends_the_consumer(broker: &Broker) {
    produce_with_poison(broker).await;
    let (running, _) = Running::start_as(broker, granted(broker), after_two(Remedy::Fatal)).await;
    let end = timeout(PATIENCE, running.end).await.expect("in time").expect("no panic");
    assert_eq!(end, Err(ConsumerError::Fatal("invalid digit found in string".into())));
    assert_eq!(broker.committed().await, Some((5, "epoch=5".into())));
}

async fn a_state_is_read_between_records_by_its_owner_alone(broker: &Broker) {
    broker.produce(1..11).await;
    let (running, watch) = Running::start_as(broker, granted(broker), |runner, _| runner).await;
    let at = partition(broker);
    running.handler.wait_for_number(10).await;
    assert_eq!(watch.read(&at, |sum, epoch| (*sum, epoch)).await, Ok((55, Epoch(5))));
    running.handler.hangs.store(1, Ordering::SeqCst);
    broker.produce(11..12).await;
    running.handler.wait_for_fate(Fate::Hangs).await;
    let reading = tokio::spawn({
        let (watch, at) = (watch.clone(), at.clone());
        async move { watch.read(&at, |sum, _| *sum).await }
    });
    running.fake.show(Snapshot::default());
    running.fake.fence(FenceReason::Expired);
    running.handler.wait_for_fate(Fate::Lost).await;
    let refused = Err(StateReadError::NotOwned(at.clone()));
    assert_eq!(reading.await.expect("no panic"), refused, "a state that may be another's was read");
    assert_eq!(watch.read(&at, |sum, _| *sum).await, refused);
    assert!(!running.handler.done.borrow().contains(&Did::Processed(11, 66)));
    running.shutdown.cancel();
    timeout(PATIENCE, running.end).await.expect("in time").expect("no panic").expect("it leaves");
}

async fn a_rebuild_begins_with_the_last_snapshot(broker: &Broker) {
    let folder = tempfile::tempdir().expect("room for snapshots");
    let snapshots = || {
        let store = FileSnapshots::new(folder.path()).expect("a folder");
        let every = NonZeroU64::new(4).expect("not zero");
        move |runner: KafkaRunner<Summing>, _: &KafkaOptions| runner.with_snapshots(store, every)
    };
    broker.produce(1..11).await;
    let (first, _) = Running::start_as(broker, granted(broker), snapshots()).await;
    first.handler.wait_for_number(10).await;
    let is_saved = || {
        let mut files = std::fs::read_dir(folder.path()).expect("it is there");
        files.any(|file| file.is_ok_and(|file| file.path().extension().is_some_and(|its| its == "snapshot")))
    };
    let saved = async {
        while !is_saved() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, saved).await.expect("a snapshot is taken");
    first.stop().await;
    let (second, _) = Running::start_as(broker, granted(broker), snapshots()).await;
    broker.produce(11..12).await;
    let done = second.handler.wait_for_number(11).await;
    let caught_up_with = done.len() - 1;
    assert!(caught_up_with < 10, "it began at the beginning: {done:?}");
    assert_eq!(done.last(), Some(&Did::Processed(11, 66)));
    second.stop().await;
}

/// The length of a batch's head; the compressed records follow.
const BATCH_HEAD: u64 = 61;

/// Damages the first records of a partition on the broker's disk.
fn damage(segment: &Path) {
    let mut file = File::options().write(true).open(segment).expect("the partition has records");
    file.seek(SeekFrom::Start(BATCH_HEAD)).expect("a batch is longer than its head");
    file.write_all(&[0; 8]).expect("the disk has room");
}

/// librdkafka fetches such a batch again and again.
#[tokio::test]
async fn a_partition_whose_records_can_not_be_decompressed_says_so() {
    let Some(jars) = kafka_assigner_rig::kafka_jars() else { return };
    let kafka = Kafka::start(&jars).expect("a broker starts");
    let broker = Broker::compressed(&kafka).await;
    broker.produce(1..11).await;
    damage(&kafka.first_segment(&broker.topic, 0));
    let (mut running, _) = Running::start_as(&broker, granted(&broker), |runner, _| runner).await;
    let status = running.handle.wait_for(|status| !status.stopped.is_empty());
    let stopped = timeout(PATIENCE, status).await.expect("in time").expect("it runs").stopped;
    assert_eq!(stopped[0].offset, Offset::ZERO);
    assert!(stopped[0].reason.contains("can't read"), "{stopped:?}");
    running.stop().await;
}
