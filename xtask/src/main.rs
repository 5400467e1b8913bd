//! The project's own tasks: `cargo xtask --help` lists them.
//!
//! Start reading at the module `test`, the task that everything else here serves: `tools` finds or makes etcd
//! and Kafka, `servers` starts them, `suites` reads what cargo's test suites say.

mod interrupt;
mod run;
mod servers;
mod suites;
mod test;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::interrupt::Interrupt;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks for working on Kafka Assigner", version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every test, with a real etcd and a real Kafka.
    Test(test::Arguments),
}

fn main() -> ExitCode {
    match perform(Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::install()?;
    match task {
        Task::Test(arguments) => test::run(&arguments, &interrupt),
    }
}
