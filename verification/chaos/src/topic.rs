//! The topic of the run.

use std::time::Duration;

use anyhow::Result;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::KafkaError;

/// Its name.
pub(crate) const NAME: &str = "chaos";

/// Its partitions: so many that each join and each leave moves some of them.
pub(crate) const PARTITIONS: i32 = 48;

/// A broker that runs answers within milliseconds.
const ANSWER: Duration = Duration::from_secs(10);

/// Creates it.
pub(crate) async fn create(brokers: &str) -> Result<()> {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", brokers).create()?;
    let topic = NewTopic::new(NAME, PARTITIONS, TopicReplication::Fixed(1));
    let options = AdminOptions::new().operation_timeout(Some(ANSWER));
    for result in admin.create_topics(&[topic], &options).await? {
        result.map_err(|(_, code)| KafkaError::AdminOp(code))?;
    }
    Ok(())
}
