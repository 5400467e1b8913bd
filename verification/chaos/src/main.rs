//! The chaos run: real processes next to a real etcd cluster and a real Kafka, under everything that may befall them.
//!
//! ```text
//!  etcd ×3 ◄─ links ─► instances ×3 ◄─ links ─► consumers 4… ──► sink (refuses older epochs)
//!    ▲                                            ▲    │            │
//!    └── observer: who leads, what moves   Kafka ─┘    ▼            ▼
//!                                            ▲       their       what took
//!  tracks: faults and churn, by seed         │       history     effect, and what not
//!                                        producer       └──► check ◄──┘ ──► report
//! ```
//!
//! In the mode `routed` the consumers are writers, callers ask them over routers, which suffer on a track of their own,
//! and the sink is the writers' log, in which an older epoch comes too late.
//!
//! Three [tracks](track) of faults and one of joins and leaves run side by side, each a sequence that its seed
//! decides: at most one consumer, one instance and one etcd member suffer at a time, on purpose, and all three may at
//! once. Afterwards everything must come to rest, and [`check`] judges what the consumers and the sink wrote down; it
//! is pure, and so is the [schedule].
//!
//! The same program is the consumer: `play` starts it as `consumer`. `cargo xtask chaos` provides the servers and the
//! programs. Whatever is started here ends with this process, however that ends. Start reading at [`play`].

mod arguments;
mod check;
mod consumer;
mod consumers;
mod fault;
mod history;
mod instances;
mod listening;
mod load;
mod network;
mod play;
mod report;
mod returning;
mod router;
mod routers;
mod schedule;
mod sink;
mod stage;
mod track;
mod witness;
mod writer;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, Part};

#[tokio::main]
async fn main() -> ExitCode {
    let result = match Arguments::parse().part {
        Part::Play(settings) => play::play(&settings).await,
        Part::Consumer(settings) => consumer::run(settings).await.map(|()| ExitCode::SUCCESS),
        Part::Writer(settings) => writer::run(settings).await.map(|()| ExitCode::SUCCESS),
        Part::Router(settings) => router::run(settings).await.map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
