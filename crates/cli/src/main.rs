//! The command line of Kafka Assigner: `kafka-assigner serve` runs an instance, every other command asks one.
//!
//! ```text
//! Arguments ─┬─ serve ───────── config (flags > environment > file > default) ──► an instance
//!            ├─ store ───────── the store itself, with the configuration of serve, no instance
//!            ├─ access ──────── tokens, and a look at an access file, no instance
//!            ├─ kafka-groups ── Kafka's brokers, no instance
//!            ├─ assign ──────── JSON lines ──► a strategy, no instance
//!            └─ AdminCommand ── commands (what is asked) ──► admin (the connection)
//!                                   └─ reports (what was found) ──► output (tables, JSON)
//! ```
//!
//! Start reading at [`commands`]. What goes wrong is a [`command_error::CommandError`], which knows its exit code.

mod access;
mod admin;
mod assign;
mod command_error;
mod commands;
mod config;
#[cfg(feature = "demo")]
mod demo;
mod kafka_groups;
mod output;
mod pem;
mod reports;
mod serve;
mod shell;
mod store;
mod suggestion;

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::ExitCode;

use clap::builder::{OsStr as Name, Resettable};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::command_error::CommandError;

/// Decides which consumer owns which Kafka partition and moves partitions without a processing gap.
#[derive(Debug, Parser)]
#[command(name = "kafka-assigner", version, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

impl Arguments {
    /// Reads the command line; ends the process if it is wrong.
    fn read() -> Self {
        let matches = without_empty_variables(Self::command()).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Deployment files pass variables that nobody has filled in: as good as none.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let unset = |arg: clap::Arg| match arg.get_env() {
        Some(name) if is_empty(name) => arg.env(Resettable::<Name>::Reset),
        _ => arg,
    };
    command.mut_args(unset).mut_subcommands(without_empty_variables)
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the whole way through in one process: consumers join, leave and die, and nothing is lost
    #[cfg(feature = "demo")]
    Demo(demo::Demo),
    /// Run an instance
    Serve(serve::Serve),
    /// Ask a strategy who should own what, offline: a JSON object a line in, one a line out
    Assign(assign::Assign),
    /// Work on the store itself, without an instance: after a backup was put back, or to move groups
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Make tokens for callers, and check an access file: who may do what
    #[command(subcommand)]
    Access(access::AccessCommand),
    /// Show Kafka's own groups, of all four types: asked of the brokers, without an instance
    #[command(subcommand)]
    KafkaGroups(kafka_groups::KafkaGroupsCommand),
    #[command(flatten)]
    Admin(commands::AdminCommand),
    /// Write what a shell needs to complete the commands; load it or keep it where the shell looks
    Completions(shell::Completions),
    /// Write the manual pages, one for each command, into a directory
    Man(shell::Man),
}

impl Command {
    async fn run(self) -> Result<(), CommandError> {
        match self {
            #[cfg(feature = "demo")]
            Self::Demo(demo) => demo.run().await,
            Self::Serve(serve) => serve.run().await,
            Self::Assign(assign) => assign.run(),
            Self::Store(command) => command.run().await,
            Self::Access(command) => command.run(),
            Self::KafkaGroups(command) => command.run().await,
            Self::Admin(command) => command.run().await,
            Self::Completions(completions) => completions.run(Arguments::command()),
            Self::Man(man) => man.run(Arguments::command()),
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match Arguments::read().command.run().await {
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
    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Arguments::command().debug_assert();
    }
}
