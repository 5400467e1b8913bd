//! The Kafka cluster of a run: an embedded mock, or a real one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_core::topics::{Found, TopicLook};
use kafka_assigner_kafka::Options as KafkaOptions;
use kafka_assigner_server::KafkaTopics;
use kafka_assigner_server::topics::{self, TopicSource};
use kafka_assigner_types::name::TopicName;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::mocking::MockCluster;
use rdkafka::types::RDKafkaErrorCode;

use crate::error::Error;

/// The mock keeps 5 MiB a partition and drops the oldest without a word; we stop well before.
const MOCK_BYTES: u64 = 4 * 1024 * 1024;

/// The longest time for brokers to answer: a few connections that fail at once, and some for a busy machine.
const ANSWER: Duration = Duration::from_secs(5);

/// The most bytes that one record of the demonstration takes in Kafka beside its key and value.
pub(crate) const RECORD_OVERHEAD: u64 = 80;

/// A cluster with the run's topic.
pub(crate) struct Kafka {
    /// The bootstrap address.
    pub(crate) bootstrap: String,
    /// The topic.
    pub(crate) topic: String,
    /// The source of topics for the instances.
    pub(crate) topics: Arc<dyn TopicSource>,
    /// The most bytes that a partition may hold.
    pub(crate) bytes_per_partition: Option<u64>,
    // The embedded brokers stop when this is dropped.
    _mock: Option<Sender<()>>,
}

impl Kafka {
    /// Starts an embedded cluster.
    pub(crate) fn embedded(partitions: u32) -> Result<Self, KafkaError> {
        let topic = "demo".to_owned();
        let (bootstrap, mock) = start_mock(topic.clone(), i32::try_from(partitions).unwrap_or(i32::MAX))?;
        let topics = Arc::new(EmbeddedTopic { name: topic.clone(), partitions });
        Ok(Self { bootstrap, topic, topics, bytes_per_partition: Some(MOCK_BYTES), _mock: Some(mock) })
    }

    /// Creates a topic of its own on a real cluster. It is left there for whoever wants to look, and so that a run
    /// with the same seed does not meet it, the next one's has a number behind its name.
    ///
    /// # Errors
    /// [`Error::NoBroker`] and [`Error::Kafka`].
    pub(crate) async fn real(bootstrap: String, partitions: u32, seed: u64) -> Result<Self, Error> {
        answers(bootstrap.clone()).await?;
        let topics = topics_of(&bootstrap).map_err(Error::Instance)?;
        let admin: AdminClient<DefaultClientContext> =
            ClientConfig::new().set("bootstrap.servers", &bootstrap).create()?;
        let partitions = i32::try_from(partitions).unwrap_or(i32::MAX);
        for name in topic_names(seed) {
            match create(&admin, &name, partitions).await {
                Err(KafkaError::AdminOp(RDKafkaErrorCode::TopicAlreadyExists)) => {}
                created => {
                    created?;
                    return Ok(Self {
                        bootstrap,
                        topic: name,
                        topics,
                        bytes_per_partition: None,
                        _mock: None,
                    });
                }
            }
        }
        Err(KafkaError::AdminOp(RDKafkaErrorCode::TopicAlreadyExists).into())
    }
}

/// The source of topics that `serve` has.
fn topics_of(bootstrap: &str) -> Result<Arc<dyn TopicSource>, Box<dyn std::error::Error + Send + Sync>> {
    let brokers = bootstrap.split(',').map(str::parse).collect::<Result<_, _>>()?;
    Ok(Arc::new(KafkaTopics::new(&KafkaOptions::new(brokers))?))
}

/// The one topic of the embedded cluster. It is not asked for: answers of the embedded brokers about topics have a byte
/// too many, which the service refuses.
#[derive(Debug)]
struct EmbeddedTopic {
    name: String,
    partitions: u32,
}

#[async_trait]
impl TopicSource for EmbeddedTopic {
    async fn find(&self, names: &BTreeSet<TopicName>) -> Result<Found, topics::Error> {
        let look = |name: &TopicName| (name.as_str() == self.name).then(|| TopicLook::new(self.partitions));
        Ok(names.iter().map(|name| (name.clone(), look(name))).collect())
    }
}

/// The names to try for a run's topic; whoever repeats a run a hundred times may delete some.
fn topic_names(seed: u64) -> impl Iterator<Item = String> {
    let first = format!("kafka-assigner-demo-{seed:016x}");
    let next = first.clone();
    std::iter::once(first).chain((2..=100).map(move |number| format!("{next}-{number}")))
}

async fn create(
    admin: &AdminClient<DefaultClientContext>,
    name: &str,
    partitions: i32,
) -> Result<(), KafkaError> {
    let new = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
    let options = AdminOptions::new().operation_timeout(Some(Duration::from_secs(10)));
    for result in admin.create_topics(&[new], &options).await? {
        result.map_err(|(_, code)| KafkaError::AdminOp(code))?;
    }
    Ok(())
}

/// Asks the cluster for its brokers, as everything after this would wait for a minute where there are none.
async fn answers(brokers: String) -> Result<(), Error> {
    let client: BaseConsumer = ClientConfig::new().set("bootstrap.servers", &brokers).create()?;
    let asked = tokio::task::spawn_blocking(move || client.client().fetch_metadata(None, ANSWER).map(drop));
    match asked.await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Error::NoBroker { brokers, within: ANSWER }),
    }
}

/// Runs a mock cluster on a thread of its own, since it can't leave the one that made it; until the sender that comes
/// back with its address is dropped.
fn start_mock(topic: String, partitions: i32) -> Result<(String, Sender<()>), KafkaError> {
    let (started, starting) = channel();
    let (alive, dropped) = channel::<()>();
    std::thread::spawn(move || {
        let mock = MockCluster::new(1);
        let created = mock.and_then(|mock| mock.create_topic(&topic, partitions, 1).map(|()| mock));
        let _nobody_waits =
            started.send(created.as_ref().map(MockCluster::bootstrap_servers).map_err(Clone::clone));
        // Fails once the sender is gone, which is what is waited for; the brokers stop with this thread.
        let _dropped = dropped.recv();
    });
    let bootstrap = starting.recv().map_err(|_| KafkaError::Canceled)??;
    Ok((bootstrap, alive))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_silent_broker_is_named() {
        let error = Kafka::real("127.0.0.1:1".to_owned(), 1, 3).await.err().unwrap().to_string();
        assert_eq!(error, "no broker answers at 127.0.0.1:1 within 5s");
    }

    #[test]
    fn a_repeated_run_finds_another_name() {
        let names: Vec<_> = topic_names(3).take(2).collect();
        assert_eq!(names, ["kafka-assigner-demo-0000000000000003", "kafka-assigner-demo-0000000000000003-2"]);
    }
}
