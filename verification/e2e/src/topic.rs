//! The topic of the run.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
#[cfg(test)]
use rdkafka::admin::NewPartitions;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::consumers::GROUP;

/// Its name.
pub(crate) const NAME: &str = "e2e";

/// A broker that runs answers within milliseconds.
const ANSWER: Duration = Duration::from_secs(10);

/// Creates the topic.
pub(crate) async fn create(brokers: &str, partitions: i32) -> Result<()> {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", brokers).create()?;
    let topic = NewTopic::new(NAME, partitions, TopicReplication::Fixed(1));
    let options = AdminOptions::new().operation_timeout(Some(ANSWER));
    for result in admin.create_topics(&[topic], &options).await? {
        result.map_err(|(_, code)| KafkaError::AdminOp(code))?;
    }
    Ok(())
}

/// Adds partitions to the topic.
#[cfg(test)]
pub(crate) async fn grow(brokers: &str, partitions: usize) -> Result<()> {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", brokers).create()?;
    let partitions = NewPartitions::new(NAME, partitions);
    for result in admin.create_partitions([&partitions], &AdminOptions::new()).await? {
        result.map_err(|(_, code)| KafkaError::AdminOp(code))?;
    }
    Ok(())
}

/// Asks Kafka how far the group is.
pub(crate) struct Committed(BaseConsumer);

impl Committed {
    /// A client that only asks: it never joins the group.
    pub(crate) fn new(brokers: &str) -> Result<Self> {
        Ok(Self(ClientConfig::new().set("bootstrap.servers", brokers).set("group.id", GROUP).create()?))
    }

    /// How many records the group has not committed yet. Blocks for up to 10 s.
    pub(crate) fn missing(&self, ends: &BTreeMap<i32, i64>) -> Result<u64> {
        let mut asked = TopicPartitionList::new();
        for partition in ends.keys() {
            asked.add_partition(NAME, *partition);
        }
        let answered = self.0.committed_offsets(asked, ANSWER)?;
        let missing = |(partition, end): (&i32, &i64)| {
            let committed = match answered.find_partition(NAME, *partition).map(|element| element.offset()) {
                Some(Offset::Offset(committed)) => committed,
                _ => 0,
            };
            u64::try_from(end - committed).unwrap_or_default()
        };
        Ok(ends.iter().map(missing).sum())
    }
}
