//! The measured costs of the service: `cargo xtask bench` runs this with a real etcd.
//!
//! | scenario | what it measures |
//! | --- | --- |
//! | `event` | one change of a record at growing sizes of the group, and a plan; no store, no network |
//! | `scale` | a fresh plan of 10 000 partitions over 100 consumers on etcd, and one consumer that joins |
//! | `failover` | a leader that dies while 1 000 moves are under way |
//! | `idle` | the memory of 1 000 connected consumers next to as many bare streams, and what they write |
//! | `fleet` | 10, 100 and 1 000 groups on one and three instances, while others write to the same etcd; only when named |
//!
//! Figures are told with the machine, since they mean nothing without it, and beside a reference from the same run
//! where there is one. No scenario passes or fails. The command `client` does: it measures the client library next to a
//! plain consumer of librdkafka, and needs Kafka as well. Start reading at the scenario that you are after.

mod child;
mod client;
mod consumer;
mod event;
mod failover;
mod fleet;
mod http;
mod idle;
mod instance;
mod machine;
mod report;
mod rounds;
mod scale;
mod stopwatch;

use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};

use crate::machine::Machine;
use crate::report::Report;

#[derive(Parser)]
#[command(about = "Measures what Kafka Assigner costs", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    /// The scenarios to measure; everything but `fleet` by default.
    scenarios: Vec<Scenario>,
    /// The URL of an etcd that nobody else uses; `event` needs none.
    #[arg(long, value_name = "URL")]
    etcd: Option<String>,
    /// One JSON object a line in place of a table.
    #[arg(long)]
    json: bool,
    /// Measure `fleet` for less time.
    #[arg(long)]
    quick: bool,
    #[command(subcommand)]
    apart: Option<Apart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    Event,
    Scale,
    Failover,
    Idle,
    Fleet,
}

/// The measurements apart from the service, and processes of their own.
#[derive(Subcommand)]
enum Apart {
    /// Measure the client library.
    Client(client::Arguments),
    /// Read until killed.
    #[command(hide = true)]
    Reader(client::reader::ReaderArguments),
    /// Serve an instance until killed.
    #[command(hide = true)]
    Instance { listen: SocketAddr, etcd: String, prefix: String, http: Option<SocketAddr> },
    /// Serve bare tonic streams until killed.
    #[command(hide = true)]
    Bare { listen: SocketAddr },
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.apart {
        Some(Apart::Client(arguments)) => return client::run(arguments).await,
        Some(Apart::Reader(arguments)) => client::reader::run(arguments).await?,
        Some(Apart::Instance { listen, etcd, prefix, http }) => {
            instance::serve_forever(listen, &etcd, &prefix, http).await?;
        }
        Some(Apart::Bare { listen }) => idle::bare::serve_forever(listen).await?,
        None => measure(&arguments).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let report = Report::begin(arguments.json, &Machine::look()?)?;
    let all = [Scenario::Event, Scenario::Scale, Scenario::Failover, Scenario::Idle];
    let chosen = if arguments.scenarios.is_empty() { &all[..] } else { &arguments.scenarios };
    let etcd = || arguments.etcd.as_deref().context("this scenario needs --etcd");
    for scenario in chosen {
        match scenario {
            Scenario::Event => event::run(&report)?,
            Scenario::Scale => scale::run(&report, etcd()?).await?,
            Scenario::Failover => failover::run(&report, etcd()?).await?,
            Scenario::Idle => idle::run(&report, etcd()?).await?,
            Scenario::Fleet => fleet::run(&report, etcd()?, arguments.quick).await?,
        }
    }
    Ok(())
}
