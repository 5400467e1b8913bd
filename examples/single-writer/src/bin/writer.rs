//! A writer as a program. SIGTERM hands its partitions over and ends.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use kafka_assigner_client::{Consumer, ConsumerOptions, stop};
use kafka_assigner_writer::{Journal, Log, Witness, Writer, run_writer};
use tokio::net::TcpListener;

/// Keeps the counters of the partitions that it owns.
#[derive(Debug, Parser)]
struct Options {
    /// Instances, as "http://host:port", separated by commas
    #[arg(long, value_delimiter = ',', required = true)]
    endpoints: Vec<String>,
    /// Kafka's brokers, as "host:port,host:port"
    #[arg(long)]
    brokers: String,
    /// The group, which has to be in the mode routed
    #[arg(long, default_value = "default")]
    group: String,
    /// The writer's name, unique within the group
    #[arg(long)]
    name: String,
    /// The topic that is its log
    #[arg(long)]
    topic: String,
    /// The address for requests from routers; port 0 = any
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The file that a line is added to for each addition; none = not written
    #[arg(long)]
    log: Option<PathBuf>,
    /// The session's time to live in seconds; none = the group's
    #[arg(long)]
    session_timeout: Option<u64>,
    /// The time that handing the partitions over may take at the end, in seconds; less than a supervisor waits
    #[arg(long, default_value_t = 17)]
    drain_timeout: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();
    let process = format!("{}#{}", options.name, std::process::id());
    let journal = options.log.as_deref().map(|path| Journal::open(path, process)).transpose()?;
    let witness = journal.map(|journal| Arc::new(journal) as Arc<dyn Witness>);
    let writer = Writer::new(Log::connect(&options.brokers, &options.topic).await?, witness);
    let listener = TcpListener::bind(options.listen).await?;
    let consumer = Consumer::new(ConsumerOptions {
        group: options.group,
        topics: vec![options.topic],
        endpoint: listener.local_addr()?.to_string(),
        session_timeout: options.session_timeout.map(Duration::from_secs),
        drain_timeout: Duration::from_secs(options.drain_timeout),
        ..ConsumerOptions::new(options.name, options.endpoints)
    })?;
    let reception = writer.reception();
    run_writer(consumer, writer, reception, listener, stop::on_signal()?).await
}
