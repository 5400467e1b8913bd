use std::sync::atomic::Ordering;

use kafka_assigner_handler::{
    OpenedState, PartitionContext, Preparation, Record, RecordError, StateSnapshot,
};
use kafka_assigner_session::Clock;
use kafka_assigner_types::id::{Epoch, HandoffId};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{Offset, TopicPartitionList};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::test_handler::idle;
use super::*;
use crate::claim::SessionClaim;
use crate::context::{Alarm, Edges, WarmUpProgress};
use crate::gate::Gate;
use crate::record_gate::RecordGate;
use crate::skipped_offset::SkippedOffset;

fn owned() -> OwnedContext {
    let (clock, wake) = (Clock::start(), Arc::new(Notify::new()));
    OwnedContext {
        group: "g".into(),
        partition: TopicPartition::try_from(("t", 0)).expect("a valid name"),
        claim: SessionClaim::new(clock.clone()).partition(Epoch(5), true),
        start_offset: None,
        topic_id: None,
        resumed: false,
        was_committed: false,
        skipped: SkippedOffset::default(),
        gate: Gate::new(wake.clone()).into(),
        records: RecordGate::new(clock.clone(), wake.clone()).into(),
        edges: Edges::new(clock).into(),
        alarm: Alarm::new(wake),
        cancelled: CancellationToken::new(),
    }
}

// Once a partition is lost, others may be told that nothing acts for it any more.
#[tokio::test]
async fn a_partition_is_lost_only_when_the_commit_under_way_has_landed() {
    let runner = KafkaRunner::new(&KafkaOptions::new("127.0.0.1:1", "g"), idle()).expect("valid options");
    let (under_way, context) = (runner.parts.client.turn().await, owned());
    let mut lost = runner.lost(&context);
    assert!(timeout(Duration::from_millis(200), &mut lost).await.is_err(), "it did not wait");
    drop(under_way);
    lost.await;
}

#[tokio::test]
async fn an_interval_of_commits_that_can_not_be_kept_is_refused() {
    let options = KafkaOptions { commit_interval: Duration::ZERO, ..KafkaOptions::new("127.0.0.1:1", "g") };
    let refused = KafkaRunner::new(&options, idle()).expect_err("no interval");
    let text = refused.to_string();
    assert!(text.contains("commit_interval = 0ns") && text.contains("longer than 0"), "{text}");
}

#[tokio::test]
async fn offsets_that_would_be_committed_again_all_the_time_are_refused() {
    let options = KafkaOptions { offset_refresh: Duration::ZERO, ..KafkaOptions::new("127.0.0.1:1", "g") };
    let text = KafkaRunner::new(&options, idle()).expect_err("no time between").to_string();
    assert!(text.contains("offset_refresh = 0ns") && text.contains("longer than 0"), "{text}");
}

#[tokio::test]
async fn any_number_of_records_at_once_is_accepted() {
    for concurrency in [0, usize::MAX] {
        let options = KafkaOptions { concurrency, ..KafkaOptions::new("127.0.0.1:1", "g") };
        KafkaRunner::new(&options, idle()).expect("valid options");
    }
}

/// Writes down what was reported before each record that it catches up with: the offset, what was done, and the total.
#[derive(Clone, Default)]
struct Watching {
    progress: Arc<WarmUpProgress>,
    seen: Arc<Mutex<Vec<(i64, u64, u64)>>>,
}

impl RecordHandler for Watching {
    type State = ();

    async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<()>, RecordError> {
        Ok(OpenedState::empty(()))
    }

    async fn catch_up(&self, _: &TopicPartition, (): &mut (), record: &Record) -> Result<(), RecordError> {
        let [done, total] = [&self.progress.done, &self.progress.total].map(|n| n.load(Ordering::Relaxed));
        self.seen.lock().expect("no panic inside").push((record.offset().get(), done, total));
        Ok(())
    }

    async fn process(&self, _: &PartitionContext, (): &mut (), _: &Record) -> Result<(), RecordError> {
        Ok(())
    }
}

/// Warms "t"-0 of a broker that holds `records` of `size` bytes, all of them committed, and returns what was seen.
async fn warm_up(records: i64, size: usize) -> Vec<(i64, u64, u64)> {
    let cluster = MockCluster::new(1).expect("a cluster in this process");
    cluster.create_topic("t", 1, 1).expect("a new topic");
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.bootstrap_servers()).set("group.id", "g");
    let producer: FutureProducer = config.create().expect("a producer");
    let payload = vec![b'x'; size];
    for _ in 0..records {
        let record = FutureRecord::<(), _>::to("t").partition(0).payload(&payload);
        producer.send(record, Duration::from_secs(30)).await.expect("it is written");
    }
    let mut list = TopicPartitionList::new();
    list.add_partition_offset("t", 0, Offset::Offset(records)).expect("a valid offset");
    let committing: BaseConsumer = config.create().expect("a consumer");
    committing.commit(&list, CommitMode::Sync).expect("it is committed");
    let handler = Watching::default();
    let context = WarmContext {
        group: "g".into(),
        partition: TopicPartition::try_from(("t", 0)).expect("a valid name"),
        handoff: Some(HandoffId::new("h")),
        current_owner: None,
        failures: 0,
        start_offset: None,
        topic_id: None,
        progress: handler.progress.clone(),
        cancelled: CancellationToken::new(),
    };
    let options = KafkaOptions::new(cluster.bootstrap_servers(), "g");
    let runner = KafkaRunner::new(&options, handler.clone()).expect("valid options");
    runner.warm(&context).await.expect("it is warm");
    let seen = handler.seen.lock().expect("no panic inside").clone();
    assert_eq!(seen.last().expect("records").1 + 1, handler.progress.done.load(Ordering::Relaxed));
    seen
}

// librdkafka would go on with the oldest record, and say nothing.
#[tokio::test]
async fn a_position_that_was_removed_ends_its_reader() {
    let cluster = MockCluster::new(1).expect("a cluster in this process");
    cluster.create_topic("t", 1, 1).expect("a new topic");
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.bootstrap_servers());
    let producer: FutureProducer = config.create().expect("a producer");
    let payload = vec![b'x'; 900_000];
    for _ in 0..10 {
        let record = FutureRecord::<(), _>::to("t").partition(0).payload(&payload);
        producer.send(record, Duration::from_secs(30)).await.expect("it is written");
    }
    let options = KafkaOptions::new(cluster.bootstrap_servers(), "g");
    let client = Client::new(&options).expect("valid options");
    let at = TopicPartition::try_from(("t", 0)).expect("a valid name");
    let offset = kafka_assigner_types::id::Offset::new(1).expect("not negative");
    assert!(client.beginning(&at).await.expect("it answers") > offset, "nothing was removed");
    let mut reader = client.read(&at, offset).await.expect("no broker is asked");
    let ahead = timeout(Duration::from_secs(30), reader.ahead()).await.expect("in time");
    assert_eq!(ahead, Err(crate::kafka::cursor::ReadFailure::OutOfRange));
}

#[tokio::test]
async fn a_warm_up_reports_each_record_before_it_takes_the_next() {
    let seen = warm_up(600, 1).await;
    let expected: Vec<_> = (0..600).map(|done| (i64::try_from(done).expect("small"), done, 600)).collect();
    assert_eq!(seen, expected);
}

// The embedded broker keeps five megabytes of a partition.
#[tokio::test]
async fn the_progress_of_a_warm_up_begins_where_the_log_begins() {
    let seen = warm_up(10, 900_000).await;
    let (first, done, total) = seen[0];
    assert!(first > 0, "nothing was removed");
    assert_eq!((done, total), (0, u64::try_from(10 - first).expect("not negative")));
}
