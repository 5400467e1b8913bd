//! The command line of Kafka Assigner: `kafka-assigner serve` runs an instance, every other command asks one.
//!
//! ```text
//! Arguments ─┬─ serve ───────── config (flags > environment > file > default) ──► an instance
//!            ├─ assign ──────── JSON lines ──► a strategy, no instance
//!            └─ AdminCommand ── commands (what is asked) ──► admin (the connection)
//!                                   └─ reports (what was found) ──► output (tables, JSON)
//! ```
//!
//! Start reading at [`commands`]. What goes wrong is a [`failure::Failure`], which knows its exit code.

mod admin;
mod assign;
mod commands;
mod config;
#[cfg(feature = "demo")]
mod demo;
mod failure;
mod output;
mod reports;
mod serve;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// Decides which consumer owns which Kafka partition and moves partitions without a processing gap.
#[derive(Debug, Parser)]
#[command(name = "kafka-assigner", version, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
#[cfg_attr(not(feature = "demo"), expect(clippy::large_enum_variant, reason = "there is one in a process"))]
enum Command {
    /// Show the whole way through in one process: consumers join, leave and die, and nothing is lost
    #[cfg(feature = "demo")]
    Demo(demo::Demo),
    /// Run an instance
    Serve(serve::Serve),
    /// Ask a strategy who should own what, offline: a JSON object a line in, one a line out
    Assign(assign::Assign),
    #[command(flatten)]
    Admin(commands::AdminCommand),
}

impl Command {
    async fn run(self) -> Result<(), Failure> {
        match self {
            #[cfg(feature = "demo")]
            Self::Demo(demo) => demo.run().await,
            Self::Serve(serve) => serve.run().await,
            Self::Assign(assign) => assign.run(),
            Self::Admin(command) => command.run().await,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match Arguments::parse().command.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // Where even the standard error is gone, the exit code still tells.
            let _ = writeln!(std::io::stderr(), "{}", output::lines(&failure.report()));
            ExitCode::from(failure.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Arguments::command().debug_assert();
    }
}
