//! A working consumer: counts records by key, and writes a line of JSON for each record it handled.
//!
//! The consumer itself is in `handle.rs`; this file only reads options. SIGTERM hands the partitions over and ends.

mod handle;
mod journal;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use handle::Counting;
use journal::Journal;
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
    /// The file that a line is added to for each handled record
    #[arg(long)]
    log: PathBuf,
    /// The file that a line with its counts is added to for each partition that is given up; none = not written
    #[arg(long)]
    states: Option<PathBuf>,
    /// The session's time to live in seconds; none = the group's
    #[arg(long)]
    session_timeout: Option<u64>,
    /// The time that handing the partitions over may take at the end, in seconds; less than a supervisor waits
    #[arg(long, default_value_t = 17)]
    drain_timeout: u64,
    /// Keep the partitions for this name instead of handing them over
    #[arg(long)]
    restart: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The causes in one line; the other form of an error is for who debugs this program.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> anyhow::Result<()> {
    let states = options.states.as_deref().map(Journal::open).transpose()?;
    let process = format!("{}#{}", options.name, std::process::id());
    let handler = Counting::new(process, Journal::open(&options.log)?, states);
    let consumer = ConsumerOptions {
        group: options.group,
        topics: options.topics,
        session_timeout: options.session_timeout.map(Duration::from_secs),
        drain_timeout: Duration::from_secs(options.drain_timeout),
        on_stop: if options.restart { OnStop::Restart } else { OnStop::Drain },
        ..ConsumerOptions::new(options.name, options.endpoints)
    };
    let runner = KafkaRunner::new(&KafkaOptions::for_consumer(&consumer, options.brokers), handler)?;
    Consumer::new(consumer)?.run(runner, stop::on_signal()?).await?;
    Ok(())
}
