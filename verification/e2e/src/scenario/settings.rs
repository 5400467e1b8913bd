//! The settings of a scenario and of its processes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scenario {
    /// Caches are restarted under readers
    Cache,
    /// Consumers come and go, one change after the other
    Churn,
    /// Kafka, and handlers, misbehave in thirteen ways
    Edges,
    /// Kafka's own groups are described beside Kafka's own tools
    KafkaGroups,
    /// Consumers are killed
    Killed,
    /// Members of Kafka groups without a service
    Native,
    /// A strategy panics in one group
    Panics,
    /// Topics are deleted and created again
    Recreate,
    /// etcd is put back to an earlier state under load
    RestoredStore,
    /// Partitions move while each record takes 40 s
    SlowDrain,
}

/// The settings of a scenario.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Settings {
    /// The scenario
    pub(crate) scenario: Scenario,
    /// The program `etcd`
    #[arg(long)]
    pub(crate) etcd: PathBuf,
    /// The program `etcdutl`, where the scenario restores a store
    #[arg(long)]
    pub(crate) etcdutl: Option<PathBuf>,
    /// A Kafka broker that is used by nobody else, as "host:port"
    #[arg(long)]
    pub(crate) kafka: String,
    /// Its version, for reports
    #[arg(long, default_value = "")]
    pub(crate) kafka_version: String,
    /// The folder with Kafka's jars, where the scenario starts or restarts brokers of its own
    #[arg(long)]
    pub(crate) kafka_jars: Option<PathBuf>,
    /// The folder with the jars of Kafka's tools and of Kafka Streams, where the scenario compares with them
    #[arg(long)]
    pub(crate) kafka_tools: Option<PathBuf>,
    /// The folder with the programs: an instance, and this one
    #[arg(long)]
    pub(crate) programs: PathBuf,
    /// A folder for logs and sinks
    #[arg(long)]
    pub(crate) folder: PathBuf,
    /// A small case of it, in some seconds
    #[arg(long)]
    pub(crate) short: bool,
    /// Print nothing but the report, as one object of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The settings of an instance, named as those of `kafka-assigner serve`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServerSettings {
    /// The name of the instance
    #[arg(long)]
    pub(crate) instance: String,
    /// The URL of etcd
    #[arg(long)]
    pub(crate) etcd: String,
    /// A Kafka broker, as "host:port"
    #[arg(long)]
    pub(crate) kafka: String,
    /// The address of gRPC
    #[arg(long)]
    pub(crate) listen: SocketAddr,
    /// The address of HTTP
    #[arg(long)]
    pub(crate) http_listen: SocketAddr,
}

/// The settings of a process with a consumer for each of some groups.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WorkerSettings {
    /// The name of each of its consumers
    #[arg(long)]
    pub(crate) name: String,
    /// The groups, with commas; each reads the topic of its own name
    #[arg(long, value_delimiter = ',', required = true)]
    pub(crate) groups: Vec<String>,
    /// The instances' addresses, with commas
    #[arg(long, value_delimiter = ',', required = true)]
    pub(crate) endpoints: Vec<String>,
    /// Kafka's brokers, as "host:port"
    #[arg(long)]
    pub(crate) brokers: String,
    /// The folder of the sinks
    #[arg(long)]
    pub(crate) sinks: PathBuf,
    /// The time that each record takes, in milliseconds
    #[arg(long, default_value_t = 0)]
    pub(crate) record_ms: u64,
    /// The time that each state takes to build, in milliseconds
    #[arg(long, default_value_t = 0)]
    pub(crate) state_ms: u64,
    /// The time that Kafka may wait for records before it answers a fetch, in milliseconds
    #[arg(long, default_value_t = 20)]
    pub(crate) fetch_wait_ms: u64,
}

impl WorkerSettings {
    /// The time that each record takes.
    pub(crate) const fn record(&self) -> Duration {
        Duration::from_millis(self.record_ms)
    }

    /// The time that each state takes to build.
    pub(crate) const fn state(&self) -> Duration {
        Duration::from_millis(self.state_ms)
    }
}
