//! `cargo xtask bench strategies`: this project's strategies and Kafka's own assignors on the same groups; see
//! `verification/compare`.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kafka_assigner_rig::Process;

use super::java;
use crate::interrupt::Interrupt;
use crate::{run, tools};

/// The package of this project's side.
const PACKAGE: &str = "kafka-assigner-compare";

/// The quick part ends by itself within four minutes.
const QUICK_BOUND: Duration = Duration::from_secs(10 * 60);

/// The whole grid has some thousand cells of at most 40 s.
const BOUND: Duration = Duration::from_secs(5 * 24 * 60 * 60);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Strategies to measure; all by default.
    strategies: Vec<String>,
    /// The rows of 2 000 members with 100 000 and a million partitions, in less than four minutes.
    #[arg(long)]
    quick: bool,
    /// One JSON object a line in place of a table.
    #[arg(long)]
    json: bool,
}

/// Builds both sides and compares them. Where there is no Java or no Kafka, only this project's side is measured.
pub(super) fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode> {
    let program = run::build(&[PACKAGE], run::Profile::Dist, interrupt)?.join(PACKAGE);
    let classpath = classpath(interrupt);
    interrupt.check()?;
    let classpath =
        classpath.inspect_err(|error| eprintln!("nothing of Kafka's is measured: {error:#}")).ok();
    let mut command = command(&program, classpath, arguments);
    let bound = if arguments.quick { QUICK_BOUND } else { BOUND };
    let mut process = Process::spawn(&mut command).context("failed to start the comparison")?;
    let status = interrupt.wait("the comparison", bound, || Ok(process.exit_status()?))?;
    if !status.success() {
        bail!("the comparison ended with {status}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Compiles Kafka's side, and returns where Java finds it and Kafka's classes.
fn classpath(interrupt: &Interrupt) -> Result<OsString> {
    java::compile("compare", &tools::Kafka::provide(interrupt)?.jars, interrupt)
}

fn command(program: &Path, classpath: Option<OsString>, arguments: &Arguments) -> Command {
    let mut command = Command::new(program);
    let switches = [(arguments.quick, "--quick"), (arguments.json, "--json")];
    command.args(switches.iter().filter(|(is_on, _)| *is_on).map(|(_, switch)| switch));
    if let Some(classpath) = classpath {
        command.arg("--classpath").arg(classpath);
    }
    command.arg("--").args(&arguments.strategies).stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(classpath: Option<&str>) -> Vec<OsString> {
        let arguments = Arguments { strategies: vec!["range".to_owned()], quick: true, json: false };
        let command = command(Path::new("compare"), classpath.map(OsString::from), &arguments);
        command.get_args().map(OsString::from).collect()
    }

    #[test]
    fn the_comparison_is_told_where_kafkas_classes_are() {
        assert_eq!(told(Some("a:b/*")), ["--quick", "--classpath", "a:b/*", "--", "range"]);
        assert_eq!(told(None), ["--quick", "--", "range"]);
    }
}
