//! The Kafka runner under a scripted service: over an embedded broker, and over a real one where there is one.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use kafka_assigner_client::kafka::rdkafka::ClientConfig;
use kafka_assigner_client::kafka::rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use kafka_assigner_client::kafka::rdkafka::client::DefaultClientContext;
use kafka_assigner_client::kafka::rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use kafka_assigner_client::kafka::rdkafka::mocking::MockCluster;
use kafka_assigner_client::kafka::rdkafka::producer::{DefaultProducerContext, FutureProducer, FutureRecord};
use kafka_assigner_client::kafka::rdkafka::{Offset, TopicPartitionList};
use kafka_assigner_client::kafka::{KafkaOptions, KafkaRunner, Message as _, Record, RecordHandler};
use kafka_assigner_client::proto::v1::assignment_command::Command;
use kafka_assigner_client::proto::v1::{
    AssignedPartition, Assignment, DeregisterMode, Release, ReleasePartition, Snapshot, Warm, WarmPartition,
};
use kafka_assigner_client::{
    Consumer, ConsumerError, ConsumerOptions, HandlerError, OnStop, OwnedContext, PartitionHandler, Stopped,
    TopicPartition,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::fake::{Asked, Fake};

/// Long against everything here, so that it only ends what hangs.
const PATIENCE: Duration = Duration::from_secs(30);
const GROUP: &str = "counters";

/// A broker for one test, with a topic of its own.
struct Broker {
    address: String,
    topic: String,
    /// Ends with the test.
    _mock: Option<MockCluster<'static, DefaultProducerContext>>,
}

impl Broker {
    fn embedded() -> Self {
        let mock = MockCluster::new(1).expect("an embedded broker starts");
        mock.create_topic("numbers", 2, 1).expect("a topic is made");
        Self { address: mock.bootstrap_servers(), topic: "numbers".into(), _mock: Some(mock) }
    }

    async fn real() -> Option<Self> {
        let address = kafka_assigner_testkit::kafka()?;
        let since = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos();
        let topic = format!("client-{since}");
        let admin: AdminClient<DefaultClientContext> =
            ClientConfig::new().set("bootstrap.servers", &address).create().expect("a client");
        let new = NewTopic::new(&topic, 2, TopicReplication::Fixed(1));
        let made = admin.create_topics([&new], &AdminOptions::new()).await.expect("an answer");
        made[0].as_ref().expect("the topic is new");
        Some(Self { address, topic, _mock: None })
    }

    fn group(&self) -> String {
        format!("{GROUP}-{}", self.topic)
    }

    async fn produce(&self, numbers: std::ops::Range<u64>) {
        let producer: FutureProducer =
            ClientConfig::new().set("bootstrap.servers", &self.address).create().expect("a producer");
        let sends = numbers.map(|number| {
            let producer = producer.clone();
            async move {
                let payload = number.to_string();
                let record = FutureRecord::<(), _>::to(&self.topic).partition(0).payload(&payload);
                producer.send(record, PATIENCE).await.expect("it is written");
            }
        });
        // One after the other, so that offsets follow the numbers.
        for send in sends {
            send.await;
        }
    }

    fn reader(&self) -> BaseConsumer {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.address).set("group.id", self.group());
        config.create().expect("a consumer")
    }

    /// The committed offset of partition 0 with its metadata.
    async fn committed(&self) -> Option<(i64, String)> {
        let (reader, topic) = (self.reader(), self.topic.clone());
        let read = tokio::task::spawn_blocking(move || {
            let mut list = TopicPartitionList::new();
            list.add_partition(&topic, 0);
            let committed = reader.committed_offsets(list, PATIENCE).expect("an answer");
            let element = committed.find_partition(&topic, 0).expect("asked for");
            match element.offset() {
                Offset::Offset(offset) => Some((offset, element.metadata().to_owned())),
                _ => None,
            }
        });
        read.await.expect("no panic")
    }

    fn commit(&self, offset: i64) {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&self.topic, 0, Offset::Offset(offset)).expect("a valid offset");
        self.reader().commit(&list, CommitMode::Sync).expect("it is committed");
    }

    fn warm(&self, handoff_id: &str) -> Command {
        let partition = WarmPartition {
            topic: self.topic.clone(),
            partition: 0,
            handoff_id: handoff_id.into(),
            current_owner: "other".into(),
            deadline_ms: 0,
        };
        Command::Warm(Warm { partitions: vec![partition] })
    }

    fn grant(&self, epoch: u64, handoff_id: &str) -> AssignedPartition {
        AssignedPartition {
            topic: self.topic.clone(),
            partition: 0,
            epoch,
            run: epoch,
            start_offset: None,
            handoff_id: handoff_id.into(),
        }
    }

    fn assign(&self, epoch: u64, handoff_id: &str) -> Command {
        let assigned = vec![self.grant(epoch, handoff_id)];
        Command::Assignment(Assignment { assigned, ..Assignment::default() })
    }

    fn release(&self, handoff_id: &str) -> Command {
        let partition = ReleasePartition {
            topic: self.topic.clone(),
            partition: 0,
            handoff_id: handoff_id.into(),
            epoch: 5,
            new_owner: "other".into(),
        };
        Command::Release(Release { partitions: vec![partition] })
    }
}

/// What a handler did with one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Did {
    CaughtUp(u64),
    /// The number, and the sum of the state after it.
    Processed(u64, u64),
}

/// Sums the numbers up, and writes down what it did.
#[derive(Debug, Clone)]
struct Summing {
    done: Arc<watch::Sender<Vec<Did>>>,
    /// When each record was processed.
    times: Arc<Mutex<Vec<Instant>>>,
    /// So many calls of `process` fail first.
    failures: Arc<AtomicU32>,
    /// So many calls of `catch_up` panic first.
    panics: Arc<AtomicU32>,
}

impl Summing {
    fn new() -> Self {
        let done = Arc::new(watch::Sender::default());
        Self { done, times: Arc::default(), failures: Arc::default(), panics: Arc::default() }
    }

    async fn wait_for(&self, reached: impl FnMut(&Vec<Did>) -> bool) -> Vec<Did> {
        let mut done = self.done.subscribe();
        let done = timeout(PATIENCE, done.wait_for(reached)).await.expect("in time");
        done.expect("the sender lives").clone()
    }

    async fn wait_for_number(&self, number: u64) -> Vec<Did> {
        self.wait_for(|done| matches!(done.last(), Some(Did::Processed(last, _)) if *last == number)).await
    }
}

fn number(record: &Record) -> Result<u64, HandlerError> {
    Ok(std::str::from_utf8(record.payload().unwrap_or_default())?.parse()?)
}

#[async_trait]
impl PartitionHandler for Summing {
    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }
}

#[async_trait]
impl RecordHandler for Summing {
    type State = u64;

    fn catch_up(&self, _: &TopicPartition, state: &mut u64, record: &Record) -> Result<(), HandlerError> {
        let panics = self.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(panics.is_err(), "on purpose");
        let number = number(record)?;
        *state += number;
        self.done.send_modify(|done| done.push(Did::CaughtUp(number)));
        Ok(())
    }

    async fn process(
        &self,
        context: &OwnedContext,
        state: &mut u64,
        record: &Record,
    ) -> Result<(), HandlerError> {
        assert!(context.claim().is_valid());
        if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
        {
            return Err("not this time".into());
        }
        let number = number(record)?;
        *state += number;
        self.times.lock().expect("no panic inside").push(Instant::now());
        self.done.send_modify(|done| done.push(Did::Processed(number, *state)));
        Ok(())
    }
}

struct Running {
    fake: Fake,
    handler: Summing,
    shutdown: CancellationToken,
    end: JoinHandle<Result<Stopped, ConsumerError>>,
}

impl Running {
    async fn start(broker: &Broker, snapshot: Snapshot) -> Self {
        let (fake, handler, shutdown) = (Fake::new(), Summing::new(), CancellationToken::new());
        fake.show(snapshot);
        let options =
            ConsumerOptions { on_stop: OnStop::Restart, ..ConsumerOptions::new("a", ["http://one"]) };
        let consumer = Consumer::over(options, fake.clone()).expect("valid options");
        let mut handle = consumer.handle();
        let kafka = KafkaOptions::new(&broker.address, broker.group());
        let runner = KafkaRunner::new(&kafka, handler.clone()).expect("valid options");
        let end = tokio::spawn(consumer.run(runner, shutdown.clone()));
        handle.wait_for(|status| status.session.is_some()).await.expect("it runs");
        Self { fake, handler, shutdown, end }
    }

    async fn asked(&self, wanted: Asked) {
        timeout(PATIENCE, self.fake.wait_for(|asked| *asked == wanted)).await.expect("in time");
    }

    async fn stop(self) {
        self.shutdown.cancel();
        let end = timeout(PATIENCE, self.end).await.expect("in time").expect("no panic");
        assert_eq!(end, Ok(Stopped::Left));
        assert_eq!(self.fake.asked().last(), Some(&Asked::Deregister(DeregisterMode::Restart)));
    }
}

fn granted(broker: &Broker) -> Snapshot {
    Snapshot { assigned: vec![broker.grant(5, "")], ..Snapshot::default() }
}

fn processed(numbers: std::ops::Range<u64>, mut sum: u64) -> Vec<Did> {
    let add = |number| {
        sum += number;
        Did::Processed(number, sum)
    };
    numbers.map(add).collect()
}

fn caught_up(numbers: std::ops::Range<u64>) -> Vec<Did> {
    numbers.map(Did::CaughtUp).collect()
}

/// On every broker that there is.
macro_rules! on_brokers {
    ($($name:ident)+) => {
        mod embedded { $(#[tokio::test] async fn $name() { super::$name(&super::Broker::embedded()).await; })+ }
        mod real {
            $(#[tokio::test] async fn $name() {
                if let Some(broker) = super::Broker::real().await { super::$name(&broker).await; }
            })+
        }
    };
}

on_brokers! {
    a_fresh_partition_is_processed_from_its_beginning_and_committed_with_its_epoch
    a_restarted_consumer_rebuilds_its_state_and_goes_on_at_the_committed_offset
    a_new_owner_follows_the_committed_offset_and_never_passes_it
    an_idle_partition_is_taken_at_once
    an_old_owner_commits_everything_it_handled_before_it_says_released
    a_record_that_fails_is_tried_again_and_never_skipped
    a_partition_that_comes_back_is_read_again
    a_panic_at_the_switch_costs_only_another_preparation
    a_switch_under_load_loses_nothing_and_leaves_no_gap
}

async fn a_fresh_partition_is_processed_from_its_beginning_and_committed_with_its_epoch(broker: &Broker) {
    broker.produce(1..50).await;
    let running = Running::start(broker, granted(broker)).await;
    assert_eq!(running.handler.wait_for_number(49).await, processed(1..50, 0));
    running.stop().await;
    assert_eq!(broker.committed().await, Some((49, "epoch=5".into())));
}

async fn a_restarted_consumer_rebuilds_its_state_and_goes_on_at_the_committed_offset(broker: &Broker) {
    broker.produce(1..21).await;
    let first = Running::start(broker, granted(broker)).await;
    first.handler.wait_for_number(20).await;
    first.stop().await;
    let second = Running::start(broker, granted(broker)).await;
    broker.produce(21..31).await;
    let done = second.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..21), processed(21..31, 210)].concat());
    second.stop().await;
}

async fn a_new_owner_follows_the_committed_offset_and_never_passes_it(broker: &Broker) {
    broker.produce(1..31).await;
    broker.commit(10);
    let running = Running::start(broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    assert_eq!(running.handler.wait_for(|_| true).await, caught_up(1..11));
    // The old owner goes on until the switch.
    broker.commit(20);
    running.fake.push(broker.assign(7, "h"));
    running.asked(Asked::Taken("h".into())).await;
    let done = running.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..21), processed(21..31, 210)].concat());
    running.stop().await;
}

async fn an_idle_partition_is_taken_at_once(broker: &Broker) {
    let running = Running::start(broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    running.fake.push(broker.assign(7, "h"));
    running.asked(Asked::Taken("h".into())).await;
    broker.produce(1..2).await;
    running.handler.wait_for_number(1).await;
    running.stop().await;
}

async fn an_old_owner_commits_everything_it_handled_before_it_says_released(broker: &Broker) {
    broker.produce(1..101).await;
    let running = Running::start(broker, granted(broker)).await;
    running.handler.wait_for_number(100).await;
    running.fake.push(broker.release("h"));
    running.asked(Asked::Released("h".into())).await;
    assert_eq!(broker.committed().await, Some((100, "epoch=5".into())));
    broker.produce(101..102).await;
    running.stop().await;
}

async fn a_record_that_fails_is_tried_again_and_never_skipped(broker: &Broker) {
    let running = Running::start(broker, granted(broker)).await;
    running.handler.failures.store(3, Ordering::SeqCst);
    broker.produce(1..11).await;
    assert_eq!(running.handler.wait_for_number(10).await, processed(1..11, 0));
    running.stop().await;
}

async fn a_partition_that_comes_back_is_read_again(broker: &Broker) {
    broker.produce(1..11).await;
    let running = Running::start(broker, granted(broker)).await;
    running.handler.wait_for_number(10).await;
    running.fake.push(broker.release("h"));
    running.asked(Asked::Released("h".into())).await;
    running.fake.push(broker.assign(9, ""));
    broker.produce(11..21).await;
    let done = running.handler.wait_for_number(20).await;
    assert_eq!(done, [processed(1..11, 0), caught_up(1..11), processed(11..21, 55)].concat());
    running.stop().await;
}

async fn a_panic_at_the_switch_costs_only_another_preparation(broker: &Broker) {
    broker.produce(1..31).await;
    broker.commit(10);
    let running = Running::start(broker, Snapshot::default()).await;
    running.fake.push(broker.warm("h"));
    running.asked(Asked::Ready("h".into())).await;
    running.handler.panics.store(1, Ordering::SeqCst);
    broker.commit(20);
    running.fake.push(broker.assign(7, "h"));
    running.asked(Asked::Taken("h".into())).await;
    let done = running.handler.wait_for_number(30).await;
    assert_eq!(done, [caught_up(1..11), caught_up(1..21), processed(21..31, 210)].concat());
    running.stop().await;
}

/// Writes a number every two milliseconds until it is told to stop; returns the last one.
fn keep_producing(broker: &Broker, from: u64, stop: CancellationToken) -> JoinHandle<u64> {
    let (address, topic) = (broker.address.clone(), broker.topic.clone());
    tokio::spawn(async move {
        let producer: FutureProducer = ClientConfig::new()
            .set("bootstrap.servers", &address)
            .set("linger.ms", "0")
            .create()
            .expect("a producer");
        let mut number = from;
        while !stop.is_cancelled() {
            let payload = number.to_string();
            let record = FutureRecord::<(), _>::to(&topic).partition(0).payload(&payload);
            producer.send(record, PATIENCE).await.expect("it is written");
            number += 1;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        number - 1
    })
}

// I4 and W3.
async fn a_switch_under_load_loses_nothing_and_leaves_no_gap(broker: &Broker) {
    let (old, new) =
        (Running::start(broker, granted(broker)).await, Running::start(broker, Snapshot::default()).await);
    let stop = CancellationToken::new();
    let producing = keep_producing(broker, 1, stop.clone());
    old.handler.wait_for(|done| done.len() > 200).await;
    new.fake.push(broker.warm("h"));
    new.asked(Asked::Ready("h".into())).await;
    new.fake.push(broker.assign(7, "h"));
    new.asked(Asked::Taken("h".into())).await;
    old.fake.push(broker.release("h"));
    old.asked(Asked::Released("h".into())).await;
    stop.cancel();
    let last = producing.await.expect("no panic");
    let by_new = new.handler.wait_for_number(last).await;
    assert_eq!(by_new.last(), Some(&Did::Processed(last, last * (last + 1) / 2)), "the state missed some");
    let by_old = old.handler.done.borrow().clone();
    let processed: std::collections::BTreeSet<_> =
        by_old.iter().chain(&by_new).filter_map(number_of).collect();
    assert_eq!(processed.len() as u64, last, "a record was lost");
    let last_of_old = *old.handler.times.lock().expect("no panic").last().expect("it worked");
    let first_of_new = *new.handler.times.lock().expect("no panic").first().expect("it works");
    assert!(first_of_new <= last_of_old, "a gap of {:?}", first_of_new - last_of_old);
    old.stop().await;
    new.stop().await;
}

fn number_of(did: &Did) -> Option<u64> {
    match did {
        Did::Processed(number, _) => Some(*number),
        Did::CaughtUp(_) => None,
    }
}
