//! A consumer that adds records up in a SQLite database, each exactly once, whatever happens to its owners.
//!
//! The sink is in `sink.rs`, and where to start reading; `handler.rs` connects it to the client library. This file
//! only reads options. SIGTERM hands the partitions over and ends.

mod handler;
mod sink;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use handler::Totals;
use kafka_assigner_client::kafka::{KafkaOptions, KafkaRunner};
use kafka_assigner_client::{Consumer, ConsumerOptions, stop};
use sink::Sink;

/// Adds records up by key, in a SQLite database.
#[derive(Debug, Parser)]
struct Options {
    /// Instances, as "http://host:port", separated by commas
    #[arg(long, value_delimiter = ',', required = true)]
    endpoints: Vec<String>,
    /// Kafka's brokers, as "host:port,host:port"
    #[arg(long)]
    brokers: String,
    /// The group, here and in Kafka
    #[arg(long, default_value = "totals")]
    group: String,
    /// The consumer's name, unique within the group
    #[arg(long)]
    name: String,
    /// Topics, separated by commas
    #[arg(long, value_delimiter = ',', required = true)]
    topics: Vec<String>,
    /// The database, which all consumers of the group share
    #[arg(long, default_value = "totals.db")]
    database: PathBuf,
    /// The session's time to live in seconds; none = the group's
    #[arg(long)]
    session_timeout: Option<u64>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();
    let sink = Arc::new(Sink::open(&options.database)?);
    let consumer = ConsumerOptions {
        group: options.group,
        topics: options.topics,
        session_timeout: options.session_timeout.map(Duration::from_secs),
        ..ConsumerOptions::new(options.name, options.endpoints)
    };
    let kafka = KafkaOptions::for_consumer(&consumer, options.brokers);
    let runner = KafkaRunner::new(&kafka, Totals::new(sink))?;
    Consumer::new(consumer)?.run(runner, stop::on_signal()?).await?;
    Ok(())
}
