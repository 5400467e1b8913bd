//! The arguments of the program.

use std::ffi::OsString;
use std::path::PathBuf;

/// Measures how long moved partitions stand still.
#[derive(Debug, clap::Parser)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) task: Task,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Task {
    /// Run all that is to be measured
    Measure(Measure),
    /// Be a consumer of this project, until SIGTERM
    Consume(Consume),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Measure {
    /// Systems to measure; all by default
    pub(crate) systems: Vec<String>,
    /// Somebody joins and somebody leaves, without a state, in less than five minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// The only course of a whole run to measure: "large", say
    #[arg(long, conflicts_with = "quick")]
    pub(crate) stage: Option<String>,
    /// One JSON object a line in place of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// The URL of an etcd that is used by nobody else
    #[arg(long)]
    pub(crate) etcd: String,
    /// A Kafka broker that is used by nobody else, as "host:port"
    #[arg(long)]
    pub(crate) kafka: String,
    /// The program `kafka-assigner`
    #[arg(long)]
    pub(crate) server: PathBuf,
    /// The path on which Java finds the class `Member` and Kafka's
    #[arg(long)]
    pub(crate) classpath: OsString,
    /// A folder for logs and histories
    #[arg(long)]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Consume {
    /// An instance, as "http://host:port"
    #[arg(long)]
    pub(crate) endpoint: String,
    /// A Kafka broker, as "host:port"
    #[arg(long)]
    pub(crate) kafka: String,
    /// The group, here and in Kafka
    #[arg(long)]
    pub(crate) group: String,
    /// The topic
    #[arg(long)]
    pub(crate) topic: String,
    /// The consumer's name
    #[arg(long)]
    pub(crate) name: String,
    /// The deployed version
    #[arg(long)]
    pub(crate) generation: String,
    /// The file that the history is written to
    #[arg(long)]
    pub(crate) history: PathBuf,
    /// The time that the state of a partition takes to rebuild, in milliseconds
    #[arg(long)]
    pub(crate) rebuild_ms: u64,
    /// Keep the partitions for this name instead of handing them over at the end
    #[arg(long)]
    pub(crate) restart: bool,
}
