//! Topics from Kafka's metadata.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_core::name::TopicName;
use kafka_assigner_core::topics::Found;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::metadata::MetadataTopic;
use rdkafka::types::RDKafkaRespErr;

use crate::topics::{Error, TopicSource};

/// How long a broker may take to answer. Leaders refresh every ten seconds, so a slower one is asked again anyway.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks a Kafka cluster for its topics. It creates none.
pub struct KafkaTopics {
    client: Arc<BaseConsumer>,
}

impl std::fmt::Debug for KafkaTopics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KafkaTopics")
    }
}

impl KafkaTopics {
    /// A client of the cluster behind `brokers` ("host:port,host:port"), with librdkafka's `settings`.
    ///
    /// # Errors
    /// Where a setting is unknown or out of its bounds. Brokers that can't be reached are no error: they may come.
    pub fn new(brokers: &str, settings: &[(String, String)]) -> KafkaResult<Self> {
        let mut config = ClientConfig::new();
        for (key, value) in settings {
            config.set(key, value);
        }
        config.set("bootstrap.servers", brokers).set("allow.auto.create.topics", "false");
        Ok(Self { client: Arc::new(config.create()?) })
    }
}

#[async_trait]
impl TopicSource for KafkaTopics {
    async fn find(&self, names: &BTreeSet<TopicName>) -> Result<Found, Error> {
        let client = Arc::clone(&self.client);
        let names = names.clone();
        // The client blocks, so it is asked where that disturbs nobody; it gives up by itself.
        let asked = tokio::task::spawn_blocking(move || ask_all(&client, &names)).await;
        match asked {
            Ok(found) => found.map_err(|error| Error(Box::new(error))),
            Err(panicked) => Err(Error(Box::new(panicked))),
        }
    }
}

/// One topic at a time: a cluster may have many more than the few that a group reads.
fn ask_all(client: &BaseConsumer, names: &BTreeSet<TopicName>) -> Result<Found, KafkaError> {
    let mut found = Found::new();
    for name in names {
        let metadata = client.fetch_metadata(Some(name.as_str()), PATIENCE)?;
        let topic = metadata.topics().iter().find(|topic| topic.name() == name.as_str());
        if let Some(partitions) = topic.and_then(said_of) {
            found.insert(name.clone(), partitions);
        }
    }
    Ok(found)
}

/// What a broker says of a topic for certain: its partition count, or that it does not exist. Any other error is
/// about the broker.
fn said_of(topic: &MetadataTopic) -> Option<Option<u32>> {
    match topic.error() {
        None => u32::try_from(topic.partitions().len()).ok().map(Some),
        Some(
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
            | RDKafkaRespErr::RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
        ) => Some(None),
        Some(_) => None,
    }
}

impl Drop for KafkaTopics {
    fn drop(&mut self) {
        // Closing blocks for up to 100 ms: never on a runtime's thread.
        let client = Arc::clone(&self.client);
        std::thread::spawn(move || drop(client));
    }
}
