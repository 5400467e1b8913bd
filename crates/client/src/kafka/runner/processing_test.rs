//! Records that fail, and the first one of a grant, as others see them while they are handled.

use std::collections::BTreeMap;
use std::sync::OnceLock;

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

/// The attempts of each record.
type Tried = BTreeMap<Offset, usize>;

/// Looks at what is known of the partition while it is handled, and stops after the last record.
struct Looking<L> {
    look: L,
    /// The number of attempts of a record that fail.
    failures: fn(Offset) -> usize,
    stop: StopWord,
    /// The watch of its own runner, which tells of records that fail.
    watch: OnceLock<SharedWatch<Tried>>,
}

impl<L: Fn(Offset, usize) + Send + Sync + 'static> RecordHandler for Looking<L> {
    type State = Tried;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Tried>, RecordError> {
        Ok(OpenedState::empty(Tried::new()))
    }

    async fn catch_up(&self, _: &TopicPartition, _: &mut Tried, _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn process(
        &self,
        _: &PartitionContext,
        tried: &mut Tried,
        record: &Record,
    ) -> Result<(), RecordError> {
        let shown = self.watch.get().map_or(0, |watch| watch.failing.shown(Instant::now()).len());
        (self.look)(record.offset(), shown);
        let attempts = tried.entry(record.offset()).or_default();
        *attempts += 1;
        if *attempts <= (self.failures)(record.offset()) {
            return Err(RecordError::retry(RETRY, "one of the first attempts"));
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
        was_committed: false,
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
    failures: fn(Offset) -> usize,
    look: impl Fn(Offset, usize) + Send + Sync + 'static,
) {
    let (cluster, stop) = (broker(), StopWord::default());
    let mut options = KafkaOptions::new(cluster.bootstrap_servers(), "g");
    options.commit_interval = Duration::from_secs(36_000);
    let handler = Looking { look, failures, stop: stop.clone(), watch: OnceLock::new() };
    let runner = KafkaRunner::new(&options, handler).expect("valid options");
    let parts = &runner.parts;
    assert!(parts.handler.watch.set(parts.watch.clone()).is_ok(), "set once");
    let reader = parts.client.read(owned.partition(), Offset::ZERO).await.expect("no broker is asked");
    let mut partition = Partition::new(reader, Tried::new(), RecordFailures::default());
    timeout(PATIENCE, partition.reader.record()).await.expect("in time").expect("it is there");
    tokio::time::pause();
    parts.commits.begin(owned.partition(), owned.claim().clone(), None, Offset::ZERO, None);
    let (live, _is_live) = oneshot::channel();
    let contexts = (owned.clone(), partition.context(&owned));
    let processing = Processing::new(parts.clone(), contexts, Offset::ZERO, (busy, stop), live);
    let ended = processing.run(partition).await;
    assert_eq!((ended.reader.next().get(), ended.state.len()), (RECORDS, 20), "all were handled");
}

// A session whose owner tries a record again and again would end, and then that of the next owner.
#[tokio::test]
async fn a_record_that_fails_is_not_in_the_works_while_it_waits_for_another_try() {
    let (busy, seen) = (Busy::default(), Arc::new(Mutex::new(Vec::new())));
    let (asked, note) = (busy.clone(), seen.clone());
    let look =
        move |_, _| note.lock().expect("no panic inside").push(asked.is_longer_than(Duration::from_secs(1)));
    process(owned(), busy.clone(), |_| 1, look).await;
    assert_eq!(*seen.lock().expect("no panic inside"), [false; 40], "two attempts of each of 20 records");
    assert!(!busy.is_longer_than(Duration::ZERO), "nothing is in the works any more");
}

#[tokio::test]
async fn a_record_that_has_failed_for_a_minute_is_shown_until_it_is_handled() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = seen.clone();
    let look = move |offset: Offset, shown| note.lock().expect("no panic inside").push((offset.get(), shown));
    let failures = |offset: Offset| if offset.get() == 1 { 8 } else { 0 };
    process(owned(), Busy::default(), failures, look).await;
    let seen = seen.lock().expect("no panic inside").clone();
    let shown: Vec<_> = seen.iter().filter(|(offset, _)| *offset == 1).map(|(_, shown)| *shown).collect();
    assert_eq!(shown, [0, 0, 0, 0, 0, 0, 1, 1, 1], "an attempt each ten seconds");
    assert!(seen.iter().all(|(offset, shown)| *offset == 1 || *shown == 0), "{seen:?}");
}

#[tokio::test]
async fn the_first_record_of_a_new_owner_is_told_before_its_second_one_begins() {
    let (owned, seen) = (owned(), Arc::new(Mutex::new(Vec::new())));
    let (edges, note) = (owned.edges.clone(), seen.clone());
    let look =
        move |_, _| note.lock().expect("no panic inside").push(edges.first().map(|record| record.offset));
    process(owned, Busy::default(), |_| 0, look).await;
    let seen = seen.lock().expect("no panic inside");
    assert_eq!(seen[..3], [None, Some(0), Some(0)]);
}
