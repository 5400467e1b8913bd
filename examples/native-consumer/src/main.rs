//! A member of a Kafka group without a service and without librdkafka: a task for each partition that it owns, and a line
//! for each batch and each rebalance. SIGTERM gives the partitions up, commits, and leaves the group.

mod events;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use events::{Event, EventLog};
use kafka_assigner_native_consumer::{
    BrokerAddress, GroupProtocol, KafkaConnection, NativeConsumer, NativeOptions, OwnedPartition, StartAt,
    TopicChoice,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// The time to give everything up at the end; less than a supervisor waits.
const CLOSES_WITHIN: Duration = Duration::from_secs(15);

/// Reads topics as a member of a Kafka group.
#[derive(Debug, Parser)]
struct Arguments {
    /// Brokers, as "host:port", separated by commas
    #[arg(long, value_delimiter = ',', required = true)]
    bootstrap: Vec<BrokerAddress>,
    /// The group
    #[arg(long)]
    group: String,
    /// Topics, separated by commas
    #[arg(long, value_delimiter = ',', required_unless_present = "pattern", conflicts_with = "pattern")]
    topics: Vec<String>,
    /// A pattern that the whole name of a topic has to match
    #[arg(long)]
    pattern: Option<String>,
    /// Strategies, the preferred one first: range, roundrobin, sticky, cooperative-sticky, balanced, copartitioned-sticky
    #[arg(long, value_delimiter = ',', default_value = "balanced")]
    strategy: Vec<String>,
    /// The instance id of a static member
    #[arg(long)]
    instance_id: Option<String>,
    /// classic: a member plans; consumer: the broker does (KIP-848)
    #[arg(long, default_value = "classic", value_parser = ["classic", "consumer"])]
    protocol: String,
    /// Another option by its name in Kafka's own client, as "name=value"; may be repeated
    #[arg(long)]
    property: Vec<String>,
    /// One object of JSON for each event
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn options(arguments: &Arguments) -> Result<NativeOptions> {
    let topics = match &arguments.pattern {
        Some(pattern) => TopicChoice::matching(pattern)?,
        None => TopicChoice::named(arguments.topics.iter().map(String::as_str))?,
    };
    let is_classic = arguments.protocol == "classic";
    let mut options = NativeOptions {
        strategies: arguments.strategy.clone(),
        instance_id: arguments.instance_id.clone(),
        protocol: if is_classic { GroupProtocol::Classic } else { GroupProtocol::Consumer },
        start_at: StartAt::Earliest,
        ..NativeOptions::new(KafkaConnection::new(arguments.bootstrap.clone()), &arguments.group, topics)
    };
    for property in &arguments.property {
        let (name, value) = property.split_once('=').with_context(|| format!("{property:?} has no \"=\""))?;
        options.set([(name, value)])?;
    }
    Ok(options)
}

async fn run(arguments: &Arguments) -> Result<()> {
    let log = EventLog::new(arguments.json);
    let mut consumer = NativeConsumer::start_with(options(arguments)?, log)?;
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            next = consumer.next_partition() => match next? {
                Some(partition) => drop(tasks.spawn(read(partition, log))),
                None => break,
            },
            // The tasks of partitions that were given up.
            Some(ended) = tasks.join_next() => ended?,
            _ = terminated.recv() => break,
            _ = interrupted.recv() => break,
        }
    }
    consumer.close(CLOSES_WITHIN).await?;
    log.tell(&Event::plain("closed"));
    Ok(())
}

/// Handles the records of a partition until it is to be given up. Dropped at the end, it is released.
async fn read(mut partition: OwnedPartition, log: EventLog) {
    while let Some(batch) = partition.next_batch().await {
        log.tell(&Event::records(&partition, &batch));
        if let Err(error) = partition.done_through(batch.last_offset()) {
            log.tell(&Event::error(&error));
        }
    }
}
