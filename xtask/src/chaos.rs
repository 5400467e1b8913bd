//! `cargo xtask chaos`: real instances and consumers as processes, under every fault; see `verification/chaos`.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use kafka_assigner_rig::{self as testkit, Process};

use crate::interrupt::Interrupt;
use crate::{run, servers, tools};

/// The packages whose programs take part: an instance, and the one that plays and is the consumers too.
const PACKAGES: [&str; 2] = ["kafka-assigner-cli", "kafka-assigner-chaos"];

/// Starting takes a quarter of a minute, coming to rest half a minute at most; each has a bound of its own, and on a
/// very busy machine they add up to this.
const AROUND: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The time during which faults happen, in seconds; in 120 each kind takes place
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Decides which faults happen to whom, and when
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The mode of the group: overlap, exclusive or routed
    #[arg(long, default_value = "overlap")]
    mode: String,
    /// Print nothing on the standard output but the report
    #[arg(long)]
    json: bool,
}

/// Builds, starts Kafka and plays; the last line printed is the report.
pub(crate) fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode> {
    let programs = run::build(&PACKAGES, run::Profile::Release, interrupt)?;
    let etcd = tools::Etcd::provide(interrupt)?;
    let (_tool, kafka) = servers::start_kafka(interrupt)?;
    let folder = tempfile::Builder::new().prefix("kafka-assigner-chaos-").tempdir()?;
    let mut command = command(&programs, &etcd, &kafka, folder.path(), arguments);
    let mut process = Process::spawn(&mut command).context("failed to start the run")?;
    let bound = Duration::from_secs(arguments.seconds) + AROUND;
    let status = interrupt.wait("the run", bound, || Ok(process.exit_status()?))?;
    if status.success() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("logs and histories are kept in {}", folder.keep().display());
    Ok(ExitCode::FAILURE)
}

fn command(
    programs: &Path,
    etcd: &tools::Etcd,
    kafka: &testkit::Kafka,
    folder: &Path,
    arguments: &Arguments,
) -> Command {
    let mut command = Command::new(programs.join("kafka-assigner-chaos"));
    command.arg("play").arg("--etcd").arg(&etcd.binary).args(["--kafka", &kafka.address()]);
    command.arg("--server").arg(programs.join("kafka-assigner")).arg("--folder").arg(folder);
    command.args(["--seconds", &arguments.seconds.to_string(), "--seed", &arguments.seed.to_string()]);
    command.args(["--mode", &arguments.mode]).args(arguments.json.then_some("--json"));
    command.stdin(Stdio::null());
    command
}
