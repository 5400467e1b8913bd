//! `cargo xtask test`: every test of the workspace, next to real servers.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use kafka_assigner_rig::{Process, REQUIRE_VARIABLE, SKIP_LOG_VARIABLE};

use crate::interrupt::Interrupt;
use crate::run;
use crate::servers::Servers;
use crate::suites::{Counts, Suites};

/// A new two-core machine builds and runs everything in 25 minutes; twice that means that something hangs.
const BOUND: Duration = Duration::from_secs(50 * 60);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Fail when a server can't be provided, instead of skipping the tests that need it.
    #[arg(long)]
    require_servers: bool,
}

/// Runs the tests and reports; the last line printed is `N passed, F failed, S skipped`.
pub(crate) fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode> {
    let servers = Servers::start(interrupt)?;
    println!("{}", servers.report());
    let skips = tempfile::NamedTempFile::new()?;
    let (status, suites) = cargo_test(&servers, skips.path(), arguments, interrupt)?;
    let skipped = fs::read_to_string(skips.path())?;
    let tally = Tally::new(suites.total(), skipped.lines().count(), status.success());
    println!("\n{}", servers.report());
    report_suites(&suites);
    print!("{skipped}");
    println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
    Ok(tally.verdict(arguments.require_servers))
}

fn cargo_test(
    servers: &Servers,
    skips: &Path,
    arguments: &Arguments,
    interrupt: &Interrupt,
) -> Result<(ExitStatus, Suites)> {
    let (reader, writer) = std::io::pipe()?;
    let mut command = Command::new("cargo");
    command.args(["test", "--workspace", "--all-features", "--no-fail-fast"]).current_dir(run::workspace());
    command.envs(servers.variables()).env(SKIP_LOG_VARIABLE, skips);
    command.env(REQUIRE_VARIABLE, if arguments.require_servers { "1" } else { "0" });
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut process = Process::spawn(&mut command).context("failed to start cargo")?;
    // It holds the pipe's other end, which must close for the output to end.
    drop(command);
    let suites = thread::spawn(|| pass_on(reader));
    let status = interrupt.wait("cargo test", BOUND, || Ok(process.exit_status()?))?;
    // Whatever a test left running goes now: it may hold the pipe as well.
    drop(process);
    Ok((status, suites.join().map_err(|_| anyhow!("the reader of cargo's output died"))?))
}

/// Prints what cargo prints, as it comes, and reads it along the way.
fn pass_on(reader: PipeReader) -> Suites {
    let mut suites = Suites::default();
    for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        suites.read(&line);
    }
    suites
}

fn report_suites(suites: &Suites) {
    for suite in suites.worth_telling() {
        match suite.counts {
            Some(Counts { passed, failed, ignored }) => {
                println!("{:<48} {passed:>5} ran, {failed} failed, {ignored} ignored", suite.name);
            }
            None => println!("{:<48} died without a result", suite.name),
        }
    }
}

/// The counts of the last line.
#[derive(Debug, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    /// A test that skipped itself counts as passed for cargo; a failure without a failed test (the build's,
    /// say) still is one.
    const fn new(counts: Counts, skipped_themselves: usize, success: bool) -> Self {
        let failed = if counts.failed == 0 && !success { 1 } else { counts.failed };
        Self {
            passed: counts.passed.saturating_sub(skipped_themselves),
            failed,
            skipped: counts.ignored + skipped_themselves,
        }
    }

    fn verdict(&self, everything_must_run: bool) -> ExitCode {
        if self.failed > 0 || (everything_must_run && self.skipped > 0) {
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: Counts = Counts { passed: 10, failed: 0, ignored: 2 };

    #[test]
    fn a_test_that_skipped_itself_has_not_passed() {
        assert_eq!(Tally::new(COUNTS, 3, true), Tally { passed: 7, failed: 0, skipped: 5 });
    }

    #[test]
    fn a_build_that_fails_is_a_failure() {
        assert_eq!(Tally::new(Counts::default(), 0, false).failed, 1);
    }

    #[test]
    fn skips_fail_only_where_everything_must_run() {
        let tally = Tally::new(COUNTS, 0, true);
        assert_eq!(tally.verdict(false), ExitCode::SUCCESS);
        assert_eq!(tally.verdict(true), ExitCode::FAILURE);
    }
}
