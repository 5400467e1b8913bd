//! A working consumer: counts records by key, and writes a line of JSON for each record it handled.
//!
//! What a consumer needs is in `handle.rs`; this file only reads options. SIGTERM hands the partitions over and ends.

mod handle;

use std::fs::OpenOptions;
use std::path::PathBuf;

use clap::Parser;
use handle::Counting;
use kafka_assigner_client::kafka::{KafkaOptions, KafkaRunner};
use kafka_assigner_client::{Consumer, ConsumerOptions, OnStop, stop};

/// Counts the records of each key.
#[derive(Debug, Parser)]
struct Options {
    /// Instances, as "http://host:port", separated by commas
    #[arg(long, value_delimiter = ',', required = true)]
    endpoints: Vec<String>,
    /// Kafka's brokers, as "host:port,host:port"
    #[arg(long)]
    brokers: String,
    /// The group, here and in Kafka
    #[arg(long, default_value = "default")]
    group: String,
    /// The consumer's name, unique within the group
    #[arg(long)]
    name: String,
    /// Topics, separated by commas; none = all of the group
    #[arg(long, value_delimiter = ',')]
    topics: Vec<String>,
    /// Where the lines go; they are appended
    #[arg(long)]
    log: PathBuf,
    /// The session's time to live in seconds; none = the group's
    #[arg(long)]
    session_timeout: Option<u64>,
    /// Keep the partitions for this name instead of handing them over
    #[arg(long)]
    restart: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();
    let log = OpenOptions::new().create(true).append(true).open(&options.log)?;
    let kafka = KafkaOptions::new(&options.brokers, &options.group);
    let consumer = Consumer::new(ConsumerOptions {
        group: options.group,
        topics: options.topics,
        session_timeout: options.session_timeout.map(std::time::Duration::from_secs),
        on_stop: if options.restart { OnStop::Restart } else { OnStop::Drain },
        ..ConsumerOptions::new(options.name, options.endpoints)
    })?;
    let runner = KafkaRunner::new(&kafka, Counting::new(log))?;
    consumer.run(runner, stop::on_signal()?).await?;
    Ok(())
}
