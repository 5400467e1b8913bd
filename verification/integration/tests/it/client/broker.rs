//! A broker for one test, and what the service would say of its partition 0.

use std::time::{Duration, Instant, SystemTime};

use kafka_assigner_client::kafka::rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use kafka_assigner_client::kafka::rdkafka::client::DefaultClientContext;
use kafka_assigner_client::kafka::rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use kafka_assigner_client::kafka::rdkafka::message::{Header, Headers as _, OwnedHeaders, OwnedMessage};
use kafka_assigner_client::kafka::rdkafka::mocking::MockCluster;
use kafka_assigner_client::kafka::rdkafka::producer::{DefaultProducerContext, FutureProducer, FutureRecord};
use kafka_assigner_client::kafka::rdkafka::{ClientConfig, Message as _, Offset, TopicPartitionList};
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{
    AssignedPartition, Assignment, CatchUp, CatchUpPartition, Drain, DrainPartition, Mode, Release,
    ReleasePartition, Snapshot, Warm, WarmPartition,
};
use kafka_assigner_rig::Kafka;

use super::PATIENCE;

const GROUP: &str = "counters";

/// A broker for one test, with a topic of its own.
pub(super) struct Broker {
    pub(super) address: String,
    pub(super) topic: String,
    /// Ends with the test.
    pub(super) mock: Option<MockCluster<'static, DefaultProducerContext>>,
}

impl Broker {
    pub(super) fn embedded() -> Self {
        let mock = MockCluster::new(1).expect("an embedded broker starts");
        mock.create_topic("numbers", 2, 1).expect("a topic is made");
        Self { address: mock.bootstrap_servers(), topic: "numbers".into(), mock: Some(mock) }
    }

    pub(super) async fn real() -> Option<Self> {
        Some(Self::at(kafka_assigner_rig::kafka()?).await)
    }

    pub(super) async fn at(address: String) -> Self {
        let since = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos();
        let topic = format!("client-{since}");
        assert!(create_topic(&admin(&address), &topic).await, "the topic is new");
        Self { address, topic, mock: None }
    }

    /// A topic of `kafka` that keeps its records compressed.
    pub(super) async fn compressed(kafka: &Kafka) -> Self {
        let broker = Self::at(kafka.address()).await;
        let topic = format!("{}-gzip", broker.topic);
        let new = NewTopic::new(&topic, 2, TopicReplication::Fixed(1)).set("compression.type", "gzip");
        let made = admin(&broker.address).create_topics([&new], &AdminOptions::new()).await;
        assert!(made.expect("an answer")[0].is_ok());
        Self { topic, ..broker }
    }

    pub(super) fn group(&self) -> String {
        format!("{GROUP}-{}", self.topic)
    }

    pub(super) async fn produce(&self, numbers: std::ops::Range<u64>) {
        self.produce_as_of(None, numbers).await;
    }

    /// Writes numbers that say they were written at `written_ms` after 1970; `None` = now.
    pub(super) async fn produce_as_of(&self, written_ms: Option<i64>, numbers: std::ops::Range<u64>) {
        let producer: FutureProducer =
            ClientConfig::new().set("bootstrap.servers", &self.address).create().expect("a producer");
        let sends = numbers.map(|number| {
            let producer = producer.clone();
            async move {
                let payload = number.to_string();
                let record = FutureRecord::<(), _>::to(&self.topic).partition(0).payload(&payload);
                let record = FutureRecord { timestamp: written_ms, ..record };
                producer.send(record, PATIENCE).await.expect("it is written");
            }
        });
        // One after the other, so that offsets follow the numbers.
        for send in sends {
            send.await;
        }
    }

    /// Writes a record with a header.
    pub(super) async fn produce_text(&self, payload: &str) {
        let producer: FutureProducer =
            ClientConfig::new().set("bootstrap.servers", &self.address).create().expect("a producer");
        let headers = OwnedHeaders::new().insert(Header { key: "trace", value: Some("7") });
        let record = FutureRecord::to(&self.topic).partition(0).key("k").payload(payload).headers(headers);
        producer.send(record, PATIENCE).await.expect("it is written");
    }

    /// Writes the numbers from 1 to 10, of which the first ones are then removed. Returns the first offset that is there.
    pub(super) async fn produce_and_remove(&self) -> i64 {
        if self.mock.is_some() {
            // The embedded broker keeps five megabytes of a partition.
            for number in 1..11 {
                let padding = "0".repeat(900_000);
                self.produce_text(&format!("{padding}{number}")).await;
            }
            return self.watermarks().await.0;
        }
        self.produce(1..11).await;
        self.remove_before(6).await;
        6
    }

    /// Removes the records before an offset; the embedded broker can't.
    pub(super) async fn remove_before(&self, offset: i64) {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&self.topic, 0, Offset::Offset(offset)).expect("a valid offset");
        admin(&self.address).delete_records(&list, &AdminOptions::new()).await.expect("an answer");
    }

    /// The first offset that is there, and the end.
    pub(super) async fn watermarks(&self) -> (i64, i64) {
        let (reader, topic) = (self.reader(), self.topic.clone());
        let asked = tokio::task::spawn_blocking(move || reader.fetch_watermarks(&topic, 0, PATIENCE));
        asked.await.expect("no panic").expect("an answer")
    }

    /// The topic for dead letters.
    pub(super) fn dead_letters(&self) -> String {
        format!("{}-dead", self.topic)
    }

    /// Makes the topic for dead letters, with one partition.
    pub(super) async fn create_dead_letters(&self) {
        match &self.mock {
            Some(mock) => mock.create_topic(&self.dead_letters(), 1, 1).expect("a topic is made"),
            None => {
                assert!(create_topic(&admin(&self.address), &self.dead_letters()).await, "the topic is new");
            }
        }
    }

    /// The first dead letter, as its key, payload and headers, and the number of all. `None` = there is none.
    pub(super) async fn letters(&self) -> Option<(Letter, i64)> {
        let (reader, topic) = (self.reader(), self.dead_letters());
        let read = tokio::task::spawn_blocking(move || {
            let ends = [0, 1].map(|partition| reader.fetch_watermarks(&topic, partition, PATIENCE));
            let count = ends.iter().flatten().map(|(_, end)| end).sum();
            let mut list = TopicPartitionList::new();
            for (partition, end) in ends.iter().enumerate().filter(|(_, end)| matches!(end, Ok((_, 1..)))) {
                let partition = i32::try_from(partition).expect("few");
                list.add_partition_offset(&topic, partition, Offset::Beginning).expect("a valid offset");
                assert!(end.is_ok());
            }
            if list.count() == 0 {
                return None;
            }
            reader.assign(&list).expect("it is assigned");
            let letter = reader.poll(PATIENCE).expect("a letter").expect("it can be read");
            Some((Letter::of(&letter.detach()), count))
        });
        read.await.expect("no panic")
    }

    pub(super) fn reader(&self) -> BaseConsumer {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.address).set("group.id", self.group());
        config.create().expect("a consumer")
    }

    /// The committed offset of partition 0 with its metadata.
    pub(super) async fn committed(&self) -> Option<(i64, String)> {
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

    /// What is written and committed in partition 1.
    pub(super) async fn read_committed(&self) -> Vec<String> {
        let (mut config, topic) = (ClientConfig::new(), self.topic.clone());
        config.set("bootstrap.servers", &self.address).set("group.id", "reader");
        config.set("isolation.level", "read_committed").set("enable.partition.eof", "true");
        let reader: BaseConsumer = config.create().expect("a consumer");
        let read = tokio::task::spawn_blocking(move || {
            let mut list = TopicPartitionList::new();
            list.add_partition_offset(&topic, 1, Offset::Beginning).expect("a valid offset");
            reader.assign(&list).expect("it is assigned");
            let mut payloads = Vec::new();
            while let Some(Ok(record)) = reader.poll(PATIENCE) {
                payloads.push(String::from_utf8_lossy(record.payload().unwrap_or_default()).into_owned());
            }
            payloads
        });
        read.await.expect("no panic")
    }

    pub(super) fn commit(&self, offset: i64) {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&self.topic, 0, Offset::Offset(offset)).expect("a valid offset");
        self.reader().commit(&list, CommitMode::Sync).expect("it is committed");
    }

    /// Deletes the group with all that it has committed.
    pub(super) async fn delete_group(&self) {
        let group = self.group();
        let deleted = admin(&self.address).delete_groups(&[&group], &AdminOptions::new()).await;
        assert_eq!(deleted.expect("an answer"), [Ok(group)]);
        assert_eq!(self.committed().await, None);
    }

    pub(super) fn warm(&self, handoff_id: &str) -> Command {
        let partition = WarmPartition {
            topic: self.topic.clone(),
            partition: 0,
            handoff_id: handoff_id.into(),
            current_owner: "other".into(),
            ..WarmPartition::default()
        };
        Command::Warm(Warm { partitions: vec![partition] })
    }

    pub(super) fn grant(&self, epoch: u64, handoff_id: &str) -> AssignedPartition {
        AssignedPartition {
            topic: self.topic.clone(),
            partition: 0,
            epoch,
            run: epoch,
            handoff_id: handoff_id.into(),
            ..AssignedPartition::default()
        }
    }

    /// A grant in a mode that promises one owner at a time.
    pub(super) fn strict_grant(&self, epoch: u64, start_offset: Option<i64>, id: &str) -> AssignedPartition {
        AssignedPartition { mode: Mode::Exclusive.into(), start_offset, ..self.grant(epoch, id) }
    }

    pub(super) fn strictly_granted(&self) -> Snapshot {
        Snapshot { assigned: vec![self.strict_grant(5, None, "")], ..Snapshot::default() }
    }

    pub(super) fn drain(&self, handoff_id: &str) -> Command {
        let partition = DrainPartition {
            topic: self.topic.clone(),
            partition: 0,
            handoff_id: handoff_id.into(),
            epoch: 5,
            run: 5,
            start_offset: None,
        };
        Command::Drain(Drain { partitions: vec![partition] })
    }

    pub(super) fn catch_up(&self, handoff_id: &str, until_offset: Option<i64>) -> Command {
        let partition = CatchUpPartition {
            topic: self.topic.clone(),
            partition: 0,
            handoff_id: handoff_id.into(),
            epoch: 9,
            until_offset,
            ..CatchUpPartition::default()
        };
        Command::CatchUp(CatchUp { partitions: vec![partition] })
    }

    pub(super) fn assign(&self, epoch: u64, handoff_id: &str) -> Command {
        let assigned = vec![self.grant(epoch, handoff_id)];
        Command::Assignment(Assignment { assigned, ..Assignment::default() })
    }

    pub(super) fn release(&self, handoff_id: &str) -> Command {
        let partition = ReleasePartition {
            topic: self.topic.clone(),
            partition: 0,
            handoff_id: handoff_id.into(),
            epoch: 5,
            new_owner: "other".into(),
        };
        Command::Release(Release { partitions: vec![partition] })
    }

    /// Deletes the topic, and creates it again without records.
    pub(super) async fn recreate_topic(&self) {
        let admin = admin(&self.address);
        admin.delete_topics(&[&self.topic], &AdminOptions::new()).await.expect("an answer");
        let begun = Instant::now();
        // The broker deletes it in the background, and refuses the name until then.
        while !create_topic(&admin, &self.topic).await {
            assert!(begun.elapsed() < PATIENCE, "the topic is never deleted");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A dead letter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) key: String,
    pub(super) payload: String,
    /// As "name=value".
    pub(super) headers: Vec<String>,
}

impl Letter {
    fn of(message: &OwnedMessage) -> Self {
        let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        let headers = message.headers().expect("it has headers").iter();
        Self {
            key: text(message.key()),
            payload: text(message.payload()),
            headers: headers.map(|header| format!("{}={}", header.key, text(header.value))).collect(),
        }
    }
}

pub(super) fn admin(address: &str) -> AdminClient<DefaultClientContext> {
    ClientConfig::new().set("bootstrap.servers", address).create().expect("a client")
}

/// True if the topic was new.
async fn create_topic(admin: &AdminClient<DefaultClientContext>, topic: &str) -> bool {
    let new = NewTopic::new(topic, 2, TopicReplication::Fixed(1));
    let made = admin.create_topics([&new], &AdminOptions::new()).await.expect("an answer");
    made[0].is_ok()
}
