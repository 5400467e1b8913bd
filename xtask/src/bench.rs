//! `cargo xtask bench`: what the service costs, measured next to a real etcd; what the client library and strategies cost;
//! and how long moved partitions stand still.

mod client;
mod gap;
mod java;
mod strategies;

use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kafka_assigner_rig::Process;

use crate::interrupt::Interrupt;
use crate::run;
use crate::servers;

/// A new two-core machine builds everything in ten minutes and measures for two; twice that means a hang.
const BOUND: Duration = Duration::from_secs(25 * 60);

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    apart: Option<Apart>,
    /// The scenarios to measure: event, scale, failover, idle, fleet; everything but fleet by default.
    scenarios: Vec<String>,
    /// One JSON object a line in place of a table.
    #[arg(long)]
    json: bool,
    /// Measure fleet for less time: ten minutes at most after the build.
    #[arg(long)]
    quick: bool,
}

/// The measurements apart from the service.
#[derive(Debug, clap::Subcommand)]
enum Apart {
    /// Measure what the client library costs, next to a plain consumer of librdkafka.
    Client(client::Arguments),
    /// Measure strategies next to Kafka's own.
    Strategies(strategies::Arguments),
    /// Measure how long moved partitions stand still, next to Kafka's own protocols.
    Gap(gap::Arguments),
}

/// Builds the benchmarks as programs are shipped, and runs them.
pub(crate) fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode> {
    match &arguments.apart {
        Some(Apart::Client(arguments)) => client::run(arguments, interrupt),
        Some(Apart::Strategies(arguments)) => strategies::run(arguments, interrupt),
        Some(Apart::Gap(arguments)) => gap::run(arguments, interrupt),
        None => service(arguments, interrupt),
    }
}

fn service(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode> {
    let (_tool, etcd) = servers::start_etcd(interrupt)?;
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--profile", run::Profile::Dist.name()]);
    command.args(["--package", "kafka-assigner-bench", "--"]);
    command.arg("--etcd").arg(etcd.endpoint()).args(arguments.json.then_some("--json"));
    command.args(arguments.quick.then_some("--quick"));
    command.args(&arguments.scenarios).current_dir(run::workspace());
    let mut process = Process::spawn(&mut command).context("failed to start cargo")?;
    let status = interrupt.wait("the benchmark", BOUND, || Ok(process.exit_status()?))?;
    if !status.success() {
        bail!("the benchmark ended with {status}");
    }
    Ok(ExitCode::SUCCESS)
}
