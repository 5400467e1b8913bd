//! `cargo xtask package`: the packages of all crates that ship, as a registry would get them.

use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::Process;

use crate::interrupt::Interrupt;
use crate::metadata::Metadata;
use crate::run;

/// Every dependency is built anew, once; that takes ten minutes on two cores, and thrice that next to other work.
const BOUND: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Make the packages without building what is in them; seconds instead of minutes
    #[arg(long)]
    no_verify: bool,
    /// Package changes that are not committed
    #[arg(long)]
    allow_dirty: bool,
}

/// Packages `crates/*`, and leaves out verification, examples and this crate.
pub(crate) fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<ExitCode> {
    let mut command = command(&Metadata::read()?, arguments);
    let mut process = Process::spawn(&mut command).context("failed to start cargo")?;
    let status = interrupt.wait("cargo package", BOUND, || Ok(process.exit_status()?))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn command(metadata: &Metadata, arguments: &Arguments) -> Command {
    let mut command = Command::new("cargo");
    command.args(["package", "--workspace"]).current_dir(run::workspace()).stdin(Stdio::null());
    let left_out = metadata.packages.iter().filter(|package| !package.ships());
    command.args(left_out.flat_map(|package| ["--exclude", &package.name]));
    let switches = [(arguments.no_verify, "--no-verify"), (arguments.allow_dirty, "--allow-dirty")];
    command.args(switches.iter().filter(|(is_on, _)| *is_on).map(|(_, switch)| switch));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_does_not_ship_is_left_out() {
        let command = command(&Metadata::read().unwrap(), &Arguments { no_verify: true, allow_dirty: false });
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_str().unwrap()).collect();
        for left_out in ["xtask", "kafka-assigner-rig", "kafka-assigner-example-first"] {
            assert!(arguments.windows(2).any(|pair| pair == ["--exclude", left_out]), "{left_out}");
        }
        assert!(!arguments.contains(&"kafka-assigner-client") && arguments.contains(&"--no-verify"));
    }
}
