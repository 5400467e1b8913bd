//! Topics with settings or places of their own, and what is in them.

use std::time::{Duration, Instant};

use kafka_assigner_client::kafka::rdkafka::admin::{AdminOptions, NewTopic, TopicReplication};
use kafka_assigner_client::kafka::rdkafka::consumer::{BaseConsumer, Consumer as _};
use kafka_assigner_client::kafka::rdkafka::metadata::MetadataPartition;
use kafka_assigner_client::kafka::rdkafka::producer::{FutureProducer, FutureRecord};
use kafka_assigner_client::kafka::rdkafka::{ClientConfig, Message as _, Offset, TopicPartitionList};
use kafka_assigner_rig::{Kafka, KafkaCluster};

use super::PATIENCE;
use super::broker::{Broker, admin};

/// Kafka's own topic of committed offsets.
const OFFSETS: &str = "__consumer_offsets";

impl Broker {
    /// A topic of `kafka` that is compacted as soon as it can be, and keeps tombstones for so long.
    pub(super) async fn compacted(kafka: &Kafka, keeps_tombstones: Duration) -> Self {
        let broker = Self::at(kafka.address()).await;
        let topic = format!("{}-compacted", broker.topic);
        let kept = keeps_tombstones.as_millis().to_string();
        // All but the last segment can be compacted, and each record has one of its own where they are a second apart.
        let new = NewTopic::new(&topic, 2, TopicReplication::Fixed(1))
            .set("cleanup.policy", "compact")
            .set("segment.ms", "100")
            .set("min.cleanable.dirty.ratio", "0.01")
            .set("delete.retention.ms", &kept);
        let made = admin(&broker.address).create_topics([&new], &AdminOptions::new()).await;
        assert!(made.expect("an answer")[0].is_ok());
        Self { topic, ..broker }
    }

    /// A topic on the first of two brokers, of which the second one leads the partition of committed offsets and the first
    /// one follows.
    pub(super) async fn beside_a_coordinator(brokers: &KafkaCluster) -> Self {
        let address = brokers.plain_address(0);
        let offsets = NewTopic::new(OFFSETS, 1, TopicReplication::Variable(&[&[1, 0]]));
        create_on(&address, offsets.set("cleanup.policy", "compact")).await;
        create_on(&address, NewTopic::new("numbers", 2, TopicReplication::Variable(&[&[0], &[0]]))).await;
        Self { address, topic: "numbers".into(), mock: None }
    }

    /// The broker that leads the partition of committed offsets; `None` = there is none now.
    pub(super) async fn coordinator(&self) -> Option<i32> {
        let reader = self.reader();
        let asked = tokio::task::spawn_blocking(move || {
            let metadata = reader.fetch_metadata(Some(OFFSETS), PATIENCE).expect("an answer");
            metadata.topics()[0].partitions().first().map(MetadataPartition::leader)
        });
        asked.await.expect("no panic").filter(|leader| *leader >= 0)
    }

    /// Writes records with keys, each a second later than the one before it by its own time; `None` = a tombstone.
    pub(super) async fn write_keyed(&self, first_ms: i64, records: &[(String, Option<u64>)]) {
        let producer: FutureProducer =
            ClientConfig::new().set("bootstrap.servers", &self.address).create().expect("a producer");
        for ((key, value), second) in records.iter().zip(0..) {
            let value = value.map(|value| value.to_string());
            let record = FutureRecord { payload: value.as_ref(), ..FutureRecord::to(&self.topic) };
            let record = record.partition(0).key(key).timestamp(first_ms + second * 1_000);
            producer.send(record, PATIENCE).await.expect("it is written");
        }
    }

    /// The offsets of the records that are there.
    pub(super) async fn offsets(&self) -> Vec<i64> {
        let (mut config, topic) = (ClientConfig::new(), self.topic.clone());
        config.set("bootstrap.servers", &self.address).set("group.id", "offsets");
        config.set("enable.partition.eof", "true");
        let reader: BaseConsumer = config.create().expect("a consumer");
        let read = tokio::task::spawn_blocking(move || {
            let mut list = TopicPartitionList::new();
            list.add_partition_offset(&topic, 0, Offset::Beginning).expect("a valid offset");
            reader.assign(&list).expect("it is assigned");
            let mut offsets = Vec::new();
            while let Some(Ok(record)) = reader.poll(PATIENCE) {
                offsets.push(record.offset());
            }
            offsets
        });
        read.await.expect("no panic")
    }
}

/// Creates a topic on brokers of which the controller may not know all yet.
async fn create_on(address: &str, new: NewTopic<'_>) {
    let begun = Instant::now();
    loop {
        let made = admin(address).create_topics([&new], &AdminOptions::new()).await.expect("an answer");
        if made[0].is_ok() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{} can't be made: {made:?}", new.name);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
