//! The topics of the run.

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_client::kafka::rdkafka::ClientConfig;
use kafka_assigner_client::kafka::rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use kafka_assigner_client::kafka::rdkafka::client::DefaultClientContext;
use kafka_assigner_client::kafka::rdkafka::error::KafkaError;

/// A broker that runs answers within milliseconds.
const ANSWER: Duration = Duration::from_secs(10);

/// Creates one with so many partitions.
pub(crate) async fn create(kafka: &str, name: &str, partitions: i32) -> Result<()> {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", kafka).create()?;
    let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
    let options = AdminOptions::new().operation_timeout(Some(ANSWER));
    for result in admin.create_topics(&[topic], &options).await? {
        result.map_err(|(_, code)| KafkaError::AdminOp(code))?;
    }
    Ok(())
}
