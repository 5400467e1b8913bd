//! The topics of the run.

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_client::kafka::rdkafka::ClientConfig;
use kafka_assigner_client::kafka::rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use kafka_assigner_client::kafka::rdkafka::client::DefaultClientContext;
use kafka_assigner_client::kafka::rdkafka::error::KafkaError;

/// Partitions of each. A broker that shares two cores with everything else spends one of them on the records of a hundred;
/// then each partition waits for it all the time, and the wait is taken for a gap.
pub(crate) const PARTITIONS: i32 = 60;

/// A broker that runs answers within milliseconds.
const ANSWER: Duration = Duration::from_secs(10);

/// Creates one.
pub(crate) async fn create(kafka: &str, name: &str) -> Result<()> {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", kafka).create()?;
    let topic = NewTopic::new(name, PARTITIONS, TopicReplication::Fixed(1));
    let options = AdminOptions::new().operation_timeout(Some(ANSWER));
    for result in admin.create_topics(&[topic], &options).await? {
        result.map_err(|(_, code)| KafkaError::AdminOp(code))?;
    }
    Ok(())
}
