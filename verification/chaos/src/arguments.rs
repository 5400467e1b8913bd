//! The arguments of a process of the run.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use kafka_assigner_client::GrpcTransport;
use kafka_assigner_types::mode::Mode;

/// Plays chaos with real processes, and checks what came of it.
#[derive(Debug, clap::Parser)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) part: Part,
}

/// The kind of this process.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Part {
    /// Starts everything else and does harm to it
    Play(Settings),
    /// A consumer that writes every record to the sink
    Consumer(ConsumerSettings),
    /// A consumer that takes requests
    Writer(WriterSettings),
    /// A router of requests
    Router(RouterSettings),
}

/// A participant, and its links.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Place {
    /// Its name in the group
    #[arg(long)]
    pub(crate) name: String,
    /// The instances' addresses, with commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) endpoints: Vec<String>,
    /// The address to connect to for each of them, in the same order
    #[arg(long, value_delimiter = ',')]
    pub(crate) links: Vec<String>,
}

impl Place {
    /// Calls to each instance go over its link.
    pub(crate) fn transport(&self) -> GrpcTransport {
        let routes: BTreeMap<String, String> =
            self.endpoints.iter().cloned().zip(self.links.iter().cloned()).collect();
        GrpcTransport::new().with_routes(routes)
    }
}

/// The settings of a writer.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WriterSettings {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Kafka's brokers, as "host:port"
    #[arg(long)]
    pub(crate) brokers: String,
    /// The file that its history is added to
    #[arg(long)]
    pub(crate) history: PathBuf,
}

/// The settings of a router.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RouterSettings {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The address at which it takes requests
    #[arg(long)]
    pub(crate) listen: SocketAddr,
}

/// The settings of the run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Settings {
    /// The program `etcd`
    #[arg(long)]
    pub(crate) etcd: PathBuf,
    /// A Kafka broker that is used by nobody else, as "host:port"
    #[arg(long)]
    pub(crate) kafka: String,
    /// The program `kafka-assigner`
    #[arg(long)]
    pub(crate) server: PathBuf,
    /// A folder for logs and histories
    #[arg(long)]
    pub(crate) folder: PathBuf,
    /// The time during which faults happen, in seconds
    #[arg(long)]
    pub(crate) seconds: u64,
    /// Decides which faults happen to whom, and when
    #[arg(long)]
    pub(crate) seed: u64,
    /// The mode under which partitions are handed over
    #[arg(long)]
    pub(crate) mode: Mode,
    /// Print nothing but the report
    #[arg(long)]
    pub(crate) json: bool,
}

/// The settings of a consumer.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ConsumerSettings {
    /// The name of this process in what it writes
    #[arg(long)]
    pub(crate) process: String,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Kafka's brokers, as "host:port"
    #[arg(long)]
    pub(crate) brokers: String,
    /// The sink, as "host:port"
    #[arg(long)]
    pub(crate) sink: SocketAddr,
    /// The file that its history is added to
    #[arg(long)]
    pub(crate) history: PathBuf,
}
