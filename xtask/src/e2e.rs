//! `cargo xtask e2e`: real instances and consumers as processes, next to real servers; see `verification/e2e`.

mod scenario;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use kafka_assigner_rig::{self as testkit, Process};
use tempfile::TempDir;

use crate::interrupt::Interrupt;
use crate::{run, servers, tools};

/// The packages whose programs take part: an instance, a consumer, writers with their routers, and the one that plays
/// with them.
const PACKAGES: [&str; 4] = [
    "kafka-assigner-cli",
    "kafka-assigner-example-consumer",
    "kafka-assigner-example-single-writer",
    "kafka-assigner-e2e",
];

/// A run bounds each of its own steps; in all it takes two minutes, and a quarter of an hour where each is slow.
const BOUND: Duration = Duration::from_secs(15 * 60);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Play one situation in many groups side by side
    #[arg(long, value_name = "NAME", value_parser = scenario::NAMES, conflicts_with = "mode")]
    scenario: Option<String>,
    /// Print nothing on the standard output but the report
    #[arg(long)]
    json: bool,
    /// The mode of the group: overlap, exclusive or routed
    #[arg(long, default_value = "overlap")]
    mode: String,
    /// About 20 000 records in half a minute, instead of more than 200 000; of a scenario, a small case in some seconds
    #[arg(long)]
    short: bool,
}

/// Builds, starts the servers and plays; the last line printed is the report.
pub(crate) fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode> {
    if let Some(scenario) = &arguments.scenario {
        return scenario::run(scenario, arguments, interrupt);
    }
    let programs = run::build(&PACKAGES, run::Profile::Release, interrupt)?;
    let servers = Servers::start(interrupt)?;
    let folder = folder()?;
    let command = command(&programs, &servers, folder.path(), arguments);
    play(command, folder, BOUND, interrupt)
}

fn folder() -> Result<TempDir> {
    Ok(tempfile::Builder::new().prefix("kafka-assigner-e2e-").tempdir()?)
}

/// Runs `command`, which writes to `folder`; it is kept where that fails.
fn play(mut command: Command, folder: TempDir, bound: Duration, interrupt: &Interrupt) -> Result<ExitCode> {
    let mut process = Process::spawn(&mut command).context("failed to start the run")?;
    let status = interrupt.wait("the run", bound, || Ok(process.exit_status()?))?;
    if status.success() {
        return Ok(ExitCode::SUCCESS);
    }
    keep(folder);
    Ok(ExitCode::FAILURE)
}

/// Servers of this run's own: it kills what leads in them, and counts everything in them.
struct Servers {
    etcd: (tools::Etcd, testkit::Etcd),
    kafka: (tools::Kafka, testkit::Kafka),
}

impl Servers {
    fn start(interrupt: &Interrupt) -> Result<Self> {
        let etcd = servers::start_etcd(interrupt)?;
        interrupt.check()?;
        Ok(Self { etcd, kafka: servers::start_kafka(interrupt)? })
    }
}

fn keep(folder: TempDir) {
    eprintln!("logs and journals are kept in {}", folder.keep().display());
}

fn command(programs: &Path, servers: &Servers, folder: &Path, arguments: &Arguments) -> Command {
    let Servers { etcd: (etcd_tool, etcd), kafka: (kafka_tool, kafka) } = servers;
    let mut command = Command::new(programs.join("kafka-assigner-e2e"));
    command.arg("play");
    command.args(["--etcd", &etcd.endpoint(), "--etcd-version", &etcd_tool.version]);
    command.args(["--kafka", &kafka.address(), "--kafka-version", &kafka_tool.version]);
    command.arg("--programs").arg(programs).arg("--folder").arg(folder).args(["--mode", &arguments.mode]);
    let switches = [(arguments.json, "--json"), (arguments.short, "--short")];
    command.args(switches.iter().filter(|(is_on, _)| *is_on).map(|(_, switch)| switch));
    command.stdin(Stdio::null());
    command
}
