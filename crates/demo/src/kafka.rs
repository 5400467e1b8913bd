//! The Kafka cluster of a run: an embedded mock, or a real one.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::KafkaError;
use rdkafka::mocking::MockCluster;

/// The mock keeps 5 MiB a partition and drops the oldest without a word; we stop well before.
const MOCK_BYTES: u64 = 4 * 1024 * 1024;

/// The most bytes that one record of the demonstration takes in Kafka beside its key and value.
pub(crate) const RECORD_OVERHEAD: u64 = 80;

/// A cluster with the run's topic.
pub(crate) struct Kafka {
    /// The bootstrap address.
    pub(crate) bootstrap: String,
    /// The topic.
    pub(crate) topic: String,
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
        Ok(Self { bootstrap, topic, bytes_per_partition: Some(MOCK_BYTES), _mock: Some(mock) })
    }

    /// Creates a topic of its own on a real cluster. It is left there for whoever wants to look.
    pub(crate) async fn real(bootstrap: String, partitions: u32, seed: u64) -> Result<Self, KafkaError> {
        let admin: AdminClient<DefaultClientContext> =
            ClientConfig::new().set("bootstrap.servers", &bootstrap).create()?;
        let topic = format!("kafka-assigner-demo-{seed:016x}");
        let new =
            NewTopic::new(&topic, i32::try_from(partitions).unwrap_or(i32::MAX), TopicReplication::Fixed(1));
        let options = AdminOptions::new().operation_timeout(Some(Duration::from_secs(10)));
        for result in admin.create_topics(&[new], &options).await? {
            result.map_err(|(_, code)| KafkaError::AdminOp(code))?;
        }
        Ok(Self { bootstrap, topic, bytes_per_partition: None, _mock: None })
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
