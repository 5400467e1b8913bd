//! Topics of a run, and how far a group is in them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

/// A broker that runs answers within milliseconds.
const ANSWER: Duration = Duration::from_secs(10);

fn admin(kafka: &str) -> Result<AdminClient<DefaultClientContext>> {
    Ok(ClientConfig::new().set("bootstrap.servers", kafka).create()?)
}

fn options() -> AdminOptions {
    AdminOptions::new().operation_timeout(Some(ANSWER))
}

fn all_done(results: Vec<Result<String, (String, RDKafkaErrorCode)>>) -> Result<()> {
    for result in results {
        result.map_err(|(_, code)| KafkaError::AdminOp(code))?;
    }
    Ok(())
}

/// Creates the topic `name`, unreplicated, at the broker `kafka`, "host:port".
///
/// # Errors
/// When Kafka refuses, as where the topic exists, or does not answer.
///
/// # Cancel safety
/// Cancelled, the topic may come to exist.
pub async fn create(kafka: &str, name: &str, partitions: i32) -> Result<()> {
    let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
    all_done(admin(kafka)?.create_topics(&[topic], &options()).await?)
}

/// Creates the topic `name` with a partition for each of these brokers, on which it is alone, and with this
/// `cleanup.policy`.
///
/// # Errors
/// As for [`create`].
///
/// # Cancel safety
/// Cancelled, the topic may come to exist.
pub async fn place(kafka: &str, name: &str, brokers: &[i32], cleanup: &str) -> Result<()> {
    let replicas: Vec<&[i32]> = brokers.iter().map(std::slice::from_ref).collect();
    let count = i32::try_from(brokers.len())?;
    let topic =
        NewTopic::new(name, count, TopicReplication::Variable(&replicas)).set("cleanup.policy", cleanup);
    all_done(admin(kafka)?.create_topics(&[topic], &options()).await?)
}

/// Removes the records of the topic `name` before an offset, in each of so many partitions, as retention does.
///
/// # Errors
/// Kafka refuses, or does not answer.
///
/// # Cancel safety
/// Cancelled, the records may be gone.
pub async fn delete_records(kafka: &str, name: &str, partitions: i32, before: i64) -> Result<()> {
    let mut list = TopicPartitionList::new();
    for partition in 0..partitions {
        list.add_partition_offset(name, partition, Offset::Offset(before))?;
    }
    let deleted = admin(kafka)?.delete_records(&list, &options()).await?;
    deleted.elements().iter().try_for_each(|element| Ok(element.error()?))
}

/// The number of partitions of the topic `name` that have no leader. Blocks for up to 10 s.
///
/// # Errors
/// Kafka does not answer.
pub fn leaderless(kafka: &str, name: &str) -> Result<usize> {
    let consumer: BaseConsumer = ClientConfig::new().set("bootstrap.servers", kafka).create()?;
    let metadata = consumer.fetch_metadata(Some(name), ANSWER)?;
    let partitions = metadata.topics().iter().flat_map(rdkafka::metadata::MetadataTopic::partitions);
    Ok(partitions.filter(|partition| partition.leader() < 0).count())
}

/// Deletes the topic `name`.
///
/// # Errors
/// When Kafka refuses, as where there is no such topic, or does not answer.
///
/// # Cancel safety
/// Cancelled, the topic may be gone.
pub async fn delete(kafka: &str, name: &str) -> Result<()> {
    all_done(admin(kafka)?.delete_topics(&[name], &options()).await?)
}

/// Adds partitions to the topic `name`, so that it has `partitions` in all.
///
/// # Errors
/// Kafka refuses, or does not answer.
///
/// # Cancel safety
/// Cancelled, the partitions may come to exist.
pub async fn grow(kafka: &str, name: &str, partitions: usize) -> Result<()> {
    let partitions = NewPartitions::new(name, partitions);
    all_done(admin(kafka)?.create_partitions([&partitions], &options()).await?)
}

/// The number of partitions that the broker `kafka` shows of the topic `name`; 0 where it shows none. Blocks for up to 10 s.
///
/// # Errors
/// Kafka does not answer.
pub fn partitions(kafka: &str, name: &str) -> Result<usize> {
    let consumer: BaseConsumer = ClientConfig::new().set("bootstrap.servers", kafka).create()?;
    let metadata = consumer.fetch_metadata(Some(name), ANSWER)?;
    Ok(metadata.topics().iter().map(|topic| topic.partitions().len()).sum())
}

/// Asks Kafka how far a group is in a topic; never joins the group.
pub struct Committed {
    consumer: BaseConsumer,
    topic: String,
}

impl std::fmt::Debug for Committed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committed").field("topic", &self.topic).finish_non_exhaustive()
    }
}

impl Committed {
    /// A client for the offsets of `group` in `topic`.
    ///
    /// # Errors
    /// When librdkafka refuses the address.
    pub fn new(kafka: &str, group: &str, topic: &str) -> Result<Self> {
        let consumer = ClientConfig::new().set("bootstrap.servers", kafka).set("group.id", group).create()?;
        Ok(Self { consumer, topic: topic.to_owned() })
    }

    /// The number of records before these ends that the group has not committed yet. Blocks for up to 10 s.
    ///
    /// # Errors
    /// Kafka does not answer.
    pub fn missing(&self, ends: &BTreeMap<i32, i64>) -> Result<u64> {
        let mut asked = TopicPartitionList::new();
        for partition in ends.keys() {
            asked.add_partition(&self.topic, *partition);
        }
        let answered = self.consumer.committed_offsets(asked, ANSWER)?;
        let missing = |(partition, end): (&i32, &i64)| {
            let committed =
                match answered.find_partition(&self.topic, *partition).map(|element| element.offset()) {
                    Some(Offset::Offset(committed)) => committed,
                    _ => 0,
                };
            u64::try_from(end - committed).unwrap_or_default()
        };
        Ok(ends.iter().map(missing).sum())
    }
}
