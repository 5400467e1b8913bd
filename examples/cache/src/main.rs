//! A cache of the last value of each key, served over HTTP by the owner of each partition.
//!
//! ```text
//!  Kafka ── records ──► Shelf: the last value of each key ◄── looks, between two records ── HTTP
//!                       one for each partition                only while the claim is valid
//! ```
//!
//! `shelf.rs` is the handler, `http.rs` what it is asked. SIGTERM hands the partitions over; until the last of them is given
//! up it goes on answering for what it has.

mod http;
mod shelf;

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use kafka_assigner_client::kafka::{KafkaOptions, KafkaRunner};
use kafka_assigner_client::{Consumer, ConsumerOptions, KeyHash, stop};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Serves the last value of each key.
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
    /// The topic
    #[arg(long)]
    topic: String,
    /// The producers of the topic hash keys as Java's do, and not as librdkafka's
    #[arg(long)]
    java_keys: bool,
    /// The address on which HTTP is served
    #[arg(long)]
    listen: SocketAddr,
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> anyhow::Result<()> {
    let listener = TcpListener::bind(options.listen).await?;
    let consumer = ConsumerOptions {
        group: options.group,
        topics: vec![options.topic],
        // For those who ask the service who owns a partition.
        endpoint: options.listen.to_string(),
        ..ConsumerOptions::new(options.name, options.endpoints)
    };
    let kafka = KafkaOptions::for_consumer(&consumer, options.brokers);
    let runner = KafkaRunner::new(&kafka, shelf::Keeper)?;
    let consumer = Consumer::new(consumer)?;
    let hash = if options.java_keys { KeyHash::Murmur2 } else { KeyHash::Crc32 };
    let routes = http::routes(runner.handle(), hash).merge(http::probes(consumer.handle()));
    let closed = CancellationToken::new();
    let served = axum::serve(listener, routes).with_graceful_shutdown(closed.clone().cancelled_owned());
    let serving = tokio::spawn(served.into_future());
    consumer.run(runner, stop::on_signal()?).await?;
    // Nothing is owned any more, so nothing more can be answered.
    closed.cancel();
    Ok(serving.await??)
}
