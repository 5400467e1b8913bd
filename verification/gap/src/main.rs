//! The time for which moved partitions stand still: this project's consumers and the Java consumer under Kafka's own
//! protocols, on one broker, in one run, under the same load. `cargo xtask bench gap` provides the servers and
//! starts this.
//!
//! ```text
//!  bench ─► for each system, for each stage:
//!             group ─┬─► members: processes, ours (consume.rs) or Java (java/Member.java) ◄── Kafka ◄── producer
//!                    └─◄ histories: a line for each handled record, followed while they are written
//!             check: moves, gaps, what was twice or lost ─► rows
//! ```
//!
//! Both kinds of members write the same history by the same clock, and everything that is told comes from there:
//! nobody's own records are asked. Start reading at [`bench`](mod@bench), then [`check`] for what each number means.

mod arguments;
mod bench;
mod check;
mod consume;
mod event;
mod group;
mod history;
mod member;
mod row;
mod stage;
mod system;
mod watch;

use anyhow::Result;
use clap::Parser as _;

use crate::arguments::{Arguments, Task};

#[tokio::main]
async fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Measure(arguments) => bench::run(&arguments).await,
        Task::Consume(arguments) => consume::run(arguments).await,
    }
}
