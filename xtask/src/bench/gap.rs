//! `cargo xtask bench gap`: how long moved partitions stand still, here and under Kafka's own protocols; see
//! `verification/gap`.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use kafka_assigner_rig::{self as testkit, Process};
use tempfile::TempDir;

use super::java;
use crate::interrupt::Interrupt;
use crate::{run, servers};

/// The packages whose programs take part: an instance, and the one that measures and is its consumers.
const PACKAGES: [&str; 2] = ["kafka-assigner-cli", "kafka-assigner-gap"];

/// The broker decides how long members of its new protocol live without a sign of life, and takes no less than 45 s
/// unless it is told. All systems have the same time here.
const PROPERTIES: [&str; 2] =
    ["group.consumer.min.session.timeout.ms=10000", "group.consumer.session.timeout.ms=10000"];

/// The quick part ends by itself within five minutes.
const QUICK_BOUND: Duration = Duration::from_secs(10 * 60);

/// All of it takes half an hour.
const BOUND: Duration = Duration::from_secs(45 * 60);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Systems to measure; all by default.
    systems: Vec<String>,
    /// Somebody joins and somebody leaves, without a state, in less than five minutes.
    #[arg(long)]
    quick: bool,
    /// The only course of a whole run to measure: stateless, named, stateful, hundreds or large.
    #[arg(long, conflicts_with = "quick")]
    stage: Option<String>,
    /// One JSON object a line in place of a table.
    #[arg(long)]
    json: bool,
}

/// Builds both sides, starts the servers and measures.
pub(super) fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode> {
    let programs = run::build(&PACKAGES, run::Profile::Dist, interrupt)?;
    let (etcd_tool, etcd) = servers::start_etcd(interrupt)?;
    interrupt.check()?;
    let (kafka_tool, kafka) = servers::start_kafka_with(&PROPERTIES, interrupt)?;
    let classpath = java::compile("gap", &kafka_tool.jars, interrupt)?;
    eprintln!("etcd {}, Kafka {}", etcd_tool.version, kafka_tool.version);
    let folder = tempfile::Builder::new().prefix("kafka-assigner-gap-").tempdir()?;
    let mut command = command(&programs, &etcd, &kafka, folder.path(), arguments);
    command.arg("--classpath").arg(classpath);
    let bound = if arguments.quick { QUICK_BOUND } else { BOUND };
    let mut process = Process::spawn(&mut command).context("failed to start the measurement")?;
    let status = interrupt.wait("the measurement", bound, || Ok(process.exit_status()?))?;
    if status.success() {
        return Ok(ExitCode::SUCCESS);
    }
    keep(folder);
    Ok(ExitCode::FAILURE)
}

fn keep(folder: TempDir) {
    eprintln!("logs and histories are kept in {}", folder.keep().display());
}

fn command(
    programs: &Path,
    etcd: &testkit::Etcd,
    kafka: &testkit::Kafka,
    folder: &Path,
    arguments: &Arguments,
) -> Command {
    let mut command = Command::new(programs.join("kafka-assigner-gap"));
    command.arg("measure").args(["--etcd", &etcd.endpoint(), "--kafka", &kafka.address()]);
    command.arg("--server").arg(programs.join("kafka-assigner")).arg("--folder").arg(folder);
    let switches = [(arguments.quick, "--quick"), (arguments.json, "--json")];
    command.args(switches.iter().filter(|(is_on, _)| *is_on).map(|(_, switch)| switch));
    command.args(arguments.stage.iter().flat_map(|stage| ["--stage", stage]));
    command.args(&arguments.systems).stdin(Stdio::null());
    command
}
