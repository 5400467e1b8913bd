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
//! `cargo xtask e2e` provides the servers, builds the programs and starts this one. Whatever is started here ends with
//! this process, however that ends. Start reading at [`story`], then [`world`].

mod arguments;
mod consumers;
mod instances;
mod load;
#[cfg(test)]
mod outage_test;
mod report;
mod routers;
mod scale;
mod story;
mod work;
mod world;

use std::process::ExitCode;

use clap::Parser as _;
use kafka_assigner_rig::report::conclude;

use crate::arguments::Arguments;
use crate::report::Report;
use crate::world::World;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments).await {
        Ok(report) => conclude(&report.failures(arguments.scale()), &report),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> anyhow::Result<Report> {
    let mut world = World::start(arguments).await?;
    story::play(&mut world).await?;
    world.end().await
}
