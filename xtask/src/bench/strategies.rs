//! `cargo xtask bench strategies`: this project's strategies and Kafka's own assignors on the same groups; see
//! `crates/compare`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kafka_assigner_testkit::Process;

use crate::interrupt::Interrupt;
use crate::{run, tools};

/// The package of this project's side.
const PACKAGE: &str = "kafka-assigner-compare";

/// Everything that it needs, built anew on two cores, takes two minutes.
const BUILD_BOUND: Duration = Duration::from_secs(15 * 60);

/// The Java side has six short files.
const JAVAC_BOUND: Duration = Duration::from_secs(120);

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
    let program = build(interrupt)?;
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

/// Builds this project's side for release, and returns the program.
fn build(interrupt: &Interrupt) -> Result<PathBuf> {
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--package", PACKAGE]).current_dir(run::workspace());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut process = Process::spawn(&mut command).context("failed to start cargo")?;
    let status = interrupt.wait("cargo build", BUILD_BOUND, || Ok(process.exit_status()?))?;
    if !status.success() {
        bail!("cargo build ended with {status}");
    }
    Ok(run::workspace().join("target/release").join(PACKAGE))
}

/// Compiles Kafka's side, and returns where Java finds it and Kafka's classes.
fn classpath(interrupt: &Interrupt) -> Result<OsString> {
    let kafka = tools::Kafka::provide(interrupt)?;
    let jars = kafka.jars.join("*");
    let classes = run::workspace().join("target/compare/classes");
    fs::create_dir_all(&classes)?;
    let mut command = Command::new("javac");
    // A constructor that is on its way out is the only one that all versions of Kafka have.
    command.args(["-nowarn", "-Xlint:-removal", "-d"]).arg(&classes).arg("-cp").arg(&jars);
    command.args(sources(&run::workspace().join("crates/compare/java"))?);
    run::output(&mut command, JAVAC_BOUND, interrupt).context("a JDK is needed, of Java 17 or newer")?;
    Ok(std::env::join_paths([classes, jars])?)
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder).with_context(|| format!("failed to look into {}", folder.display()))?;
    let mut files = files.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
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

    #[test]
    fn every_file_of_kafkas_side_is_compiled() {
        let sources = sources(&run::workspace().join("crates/compare/java")).unwrap();
        assert!(sources.iter().any(|file| file.ends_with("Compare.java")));
        assert!(sources.iter().all(|file| file.extension().is_some_and(|extension| extension == "java")));
    }
}
