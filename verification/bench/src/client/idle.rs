//! The cost of partitions without records: for the process, and for the broker that it asks.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::time::sleep;

use super::case::Case;
use super::cpu_share::{self, per_cent};
use super::reader::Side;
use super::row::{Aim, Row, median};
use super::stage::Stage;

/// The runs of each side, which take turns.
const RUNS: usize = 5;

/// The time of a look at the broker without a reader.
const ALONE: Duration = Duration::from_secs(10);

/// Measures 900 silent partitions.
pub(super) async fn measure(stage: &Stage) -> Result<Row> {
    stage.provide(Case::Idle).await?;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let alone = broker_alone(stage).await?;
        plain.push(both(stage, Side::Plain).await? - alone);
        ours.push(both(stage, Side::Ours).await? - alone);
    }
    Ok(Row::new(Case::Idle, (median(ours), median(plain)), "% of a core", Aim::RatioTo(1.5)))
}

async fn broker_alone(stage: &Stage) -> Result<f64> {
    let (before, begun) = (cpu_share::of(stage.broker())?, Instant::now());
    sleep(ALONE).await;
    Ok(per_cent(cpu_share::of(stage.broker())? - before, begun.elapsed()))
}

/// The shares of the reading process and of the broker together, once the reader has begun.
async fn both(stage: &Stage, side: Side) -> Result<f64> {
    let mut reader = stage.start(side, Case::Idle).await?;
    reader.line("ready").await?;
    // The work that the beginning has left over goes into the first look.
    reader.number("rested").await?;
    reader.line("rest").await?;
    let (before, begun) = (cpu_share::of(stage.broker())?, Instant::now());
    let used = Duration::from_nanos(reader.number("rested").await?);
    let span = begun.elapsed();
    let (process, broker) = (per_cent(used, span), per_cent(cpu_share::of(stage.broker())? - before, span));
    eprintln!("{}: {side:?} {process:.2} %, broker {broker:.2} %", Case::Idle);
    Ok(process + broker)
}
