//! `cargo xtask model`: the handoff protocol explored state by state.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::run;

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// The arguments of the model check; `cargo xtask model --help` shows them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds the model with optimisation and hands over to it; its verdict is ours.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut command = Command::new("cargo");
    command.args(["run", "--release", "--quiet", "-p", "kafka-assigner-model", "--"]);
    command.args(&arguments.arguments).current_dir(run::workspace());
    let status = command.status().context("failed to start cargo")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
