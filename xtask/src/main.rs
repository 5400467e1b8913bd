//! The project's own tasks: `cargo xtask --help` lists them.
//!
//! Start reading at the module `test`, the task that everything else here serves: `tools` finds or makes etcd
//! and Kafka, `servers` starts them, `suites` reads what cargo's test suites say. `sim` hands over to the
//! simulation, and `model` to the model check.

mod bench;
mod chaos;
mod check;
mod e2e;
#[cfg(test)]
mod generated;
mod interrupt;
mod metadata;
mod model;
mod package;
mod run;
mod servers;
mod sim;
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
    /// Check the rules of the house over the sources, and print their counts.
    Check,
    /// Make the package of every crate that ships, and build what is in it.
    Package(package::Arguments),
    /// Run every test, with a real etcd and a real Kafka.
    Test(test::Arguments),
    /// Measure what the service costs, next to a real etcd; or strategies, next to Kafka's own.
    Bench(bench::Arguments),
    /// Play with real instances and consumers, next to a real etcd and a real Kafka, and count what is lost.
    E2e(e2e::Arguments),
    /// Do every harm to real instances, consumers and etcd members, and check what they wrote down.
    Chaos(chaos::Arguments),
    /// Run simulated groups under faults, many seeds of them.
    Sim(sim::Arguments),
    /// Explore the handoff protocol state by state, whole and with one rule taken out at a time.
    Model(model::Arguments),
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
        Task::Check => check::run(),
        Task::Package(arguments) => package::run(&arguments, &interrupt),
        Task::Test(arguments) => test::run(&arguments, &interrupt),
        Task::Bench(arguments) => bench::run(&arguments, &interrupt),
        Task::E2e(arguments) => e2e::run(&arguments, &interrupt),
        Task::Chaos(arguments) => chaos::run(&arguments, &interrupt),
        Task::Sim(arguments) => sim::run(&arguments),
        Task::Model(arguments) => model::run(&arguments),
    }
}
