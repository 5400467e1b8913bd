//! Records that fail, and the first one of a grant, as others see them while they are handled.

use std::collections::BTreeSet;

use kafka_assigner_handler::{
    OpenedState, PartitionContext, Preparation, Record, RecordError, RecordFailures, StateSnapshot,
};
use kafka_assigner_session::{ClaimTerm, Clock};
use kafka_assigner_types::id::Epoch;
use kafka_assigner_types::moment::Moment;
use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::*;
use crate::claim::SessionClaim;
use crate::context::{Alarm, Edges};
use crate::gate::Gate;
use crate::record_gate::RecordGate;
use crate::skipped_offset::SkippedOffset;

const PATIENCE: Duration = Duration::from_secs(30);

/// Fewer than are taken from librdkafka at once: so none has to be waited for once the first one is there.
const RECORDS: i64 = 20;

/// The wait after which a record that failed comes again.
const RETRY: Duration = Duration::from_secs(10);

/// Looks at what is known of the partition while it is handled, and stops after the last record.
struct Looking<L> {
    look: L,
    /// True = each record fails once.
    fails: bool,
    stop: StopWord,
}

impl<L: Fn(Offset) + Send + Sync + 'static> RecordHandler for Looking<L> {
    type State = BTreeSet<Offset>;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<BTreeSet<Offset>>, RecordError> {
        Ok(OpenedState::empty(BTreeSet::new()))
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        _: &mut BTreeSet<Offset>,
        _: &Record,
    ) -> Result<(), RecordError> {
        Ok(())
    }

    async fn process(
        &self,
        _: &PartitionContext,
        tried: &mut BTreeSet<Offset>,
        record: &Record,
    ) -> Result<(), RecordError> {
        (self.look)(record.offset());
        if tried.insert(record.offset()) && self.fails {
            return Err(RecordError::retry(RETRY, "the first attempt"));
        }
        if record.offset().get() == RECORDS - 1 {
            self.stop.give();
        }
        Ok(())
    }
}

fn owned() -> OwnedContext {
    let (clock, wake) = (Clock::of_the_runtime(), Arc::new(Notify::new()));
    let (session, until) = (SessionClaim::new(clock.clone()), Moment(Duration::from_secs(36_000)));
    session.set(Some(ClaimTerm { overlap: until, strict: until }));
    OwnedContext {
        group: "g".into(),
        partition: TopicPartition::try_from(("t", 0)).expect("a valid name"),
        claim: session.partition(Epoch(5), true),
        start_offset: None,
        topic_id: None,
        resumed: false,
        skipped: SkippedOffset::default(),
        gate: Gate::new(wake.clone()).into(),
        records: RecordGate::new(clock.clone(), wake.clone()).into(),
        edges: Edges::new(clock).into(),
        alarm: Alarm::new(wake),
        cancelled: CancellationToken::new(),
    }
}

fn broker() -> MockCluster<'static, rdkafka::producer::DefaultProducerContext> {
    let cluster = MockCluster::new(1).expect("a cluster in this process");
    cluster.create_topic("t", 1, 1).expect("a new topic");
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.bootstrap_servers()).set("linger.ms", "50");
    let producer: BaseProducer = config.create().expect("a producer");
    for _ in 0..RECORDS {
        let record = BaseRecord::<(), _>::to("t").partition(0).payload("x");
        producer.send(record).map_err(|(error, _)| error).expect("there is room");
    }
    producer.flush(PATIENCE).expect("they are written");
    cluster
}

/// Processes all records in time that passes only while all wait, and looks on before each attempt.
async fn process(
    owned: OwnedContext,
    busy: Busy,
    fails: bool,
    look: impl Fn(Offset) + Send + Sync + 'static,
) {
    let (cluster, stop) = (broker(), StopWord::default());
    let mut options = KafkaOptions::new(cluster.bootstrap_servers(), "g");
    options.commit_interval = Duration::from_secs(36_000);
    let runner =
        KafkaRunner::new(&options, Looking { look, fails, stop: stop.clone() }).expect("valid options");
    let parts = &runner.parts;
    let reader = parts.client.read(owned.partition(), Offset::ZERO).await.expect("no broker is asked");
    let mut partition = Partition::new(reader, BTreeSet::new(), RecordFailures::default());
    timeout(PATIENCE, partition.reader.record()).await.expect("in time").expect("it is there");
    tokio::time::pause();
    parts.commits.begin(owned.partition(), owned.claim().clone(), None, Offset::ZERO, None);
    let (live, _is_live) = oneshot::channel();
    let contexts = (owned.clone(), partition.context(&owned));
    let processing = Processing::new(parts.clone(), contexts, Offset::ZERO, (busy, stop), live);
    let ended = processing.run(partition).await;
    assert_eq!((ended.reader.next().get(), ended.state.len()), (RECORDS, 20), "all were handled");
}

#[tokio::test]
async fn each_of_many_records_that_fail_once_is_in_the_works_from_its_own_beginning_on() {
    let (busy, seen) = (Busy::default(), Arc::new(Mutex::new(Vec::new())));
    let (asked, note) = (busy.clone(), seen.clone());
    let look = move |_| note.lock().expect("no panic inside").push(asked.is_longer_than(RETRY + RETRY / 2));
    process(owned(), busy.clone(), true, look).await;
    assert_eq!(*seen.lock().expect("no panic inside"), [false; 40], "two attempts of each of 20 records");
    assert!(!busy.is_longer_than(Duration::ZERO), "nothing is in the works any more");
}

#[tokio::test]
async fn a_record_that_fails_once_is_in_the_works_from_its_first_attempt_on() {
    let (busy, seen) = (Busy::default(), Arc::new(Mutex::new(Vec::new())));
    let (asked, note) = (busy.clone(), seen.clone());
    let look = move |_| note.lock().expect("no panic inside").push(asked.is_longer_than(RETRY / 2));
    process(owned(), busy, true, look).await;
    assert_eq!(*seen.lock().expect("no panic inside"), [false, true].repeat(20));
}

#[tokio::test]
async fn the_first_record_of_a_new_owner_is_told_before_its_second_one_begins() {
    let (owned, seen) = (owned(), Arc::new(Mutex::new(Vec::new())));
    let (edges, note) = (owned.edges.clone(), seen.clone());
    let look = move |_| note.lock().expect("no panic inside").push(edges.first().map(|record| record.offset));
    process(owned, Busy::default(), false, look).await;
    let seen = seen.lock().expect("no panic inside");
    assert_eq!(seen[..3], [None, Some(0), Some(0)]);
}
