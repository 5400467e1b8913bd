//! The end-to-end run: real instances and real consumers as processes, next to a real etcd and a real Kafka.
//!
//! ```text
//!  story ─► world ─┬─► instances (2 × kafka-assigner serve) ──► etcd ◄── observer: who leads, what moves
//!  (who joins,     └─► consumers (3… × the example consumer) ◄── Kafka ◄── producer: what was produced
//!   leaves, dies)          └─► journals: what was handled, what the states were
//!                                        ledger ◄── all of it ──► report
//! ```
//!
//! In the mode `routed` the consumers are writers, the producer is a number of callers, and there are routers between them:
//!
//! ```text
//!  traffic (callers) ──► routers (2… × the example router) ──► writers (3… × the example writer) ──► Kafka
//!        └── what was acknowledged ──► judge ◄── what is in the log
//! ```
//!
//! With `--scenario` it plays one situation in many groups side by side instead: start reading at [`scenario`].
//!
//! `cargo xtask e2e` provides the servers, builds the programs and starts this one. Whatever is started here ends with
//! this process, however that ends. Start reading at [`story`], then [`world`].

mod arguments;
mod consumers;
mod instances;
mod load;
#[cfg(test)]
mod outage_test;
mod program;
mod report;
mod routers;
mod scale;
mod scenario;
mod story;
mod work;
mod world;

use std::process::ExitCode;

use clap::Parser as _;
use kafka_assigner_rig::report::conclude;

use crate::arguments::Arguments;
use crate::program::Program;
use crate::report::Report;
use crate::world::World;

#[tokio::main]
async fn main() -> ExitCode {
    let result = match Program::parse() {
        Program::Play(arguments) => run(&arguments).await,
        Program::Scenario(settings) => scenario::play(&settings).await,
        Program::Serve(settings) => scenario::serve(settings).await.map(|()| ExitCode::SUCCESS),
        Program::EdgeWork(settings) => scenario::work_edges(settings).await.map(|()| ExitCode::SUCCESS),
        Program::Work(settings) => scenario::work(settings).await.map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

async fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let report = play(arguments).await?;
    Ok(conclude(&report.failures(arguments.scale()), &report))
}

async fn play(arguments: &Arguments) -> anyhow::Result<Report> {
    let mut world = World::start(arguments).await?;
    story::play(&mut world).await?;
    world.end().await
}
