//! The memory of records that were fetched, and that nobody takes.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::{Instant, sleep};

use super::case::Case;
use super::reader::Side;
use super::row::{Aim, Row};
use super::stage::Stage;
use crate::machine::resident_kib;

/// Memory that grew by less than a hundredth within this is all that comes.
const STILL: Duration = Duration::from_secs(8);

/// The longest wait for that.
const BOUND: Duration = Duration::from_secs(120);

/// The most that a process of many partitions may take, in megabytes.
const MOST_MB: f64 = 512.0;

/// Measures 1 000 partitions with a backlog.
pub(super) async fn measure(stage: &Stage) -> Result<Row> {
    stage.provide(Case::Backlog).await?;
    let plain = resident_mb(stage, Side::Plain).await?;
    let ours = resident_mb(stage, Side::Ours).await?;
    Ok(Row::new(Case::Backlog, (ours, plain), "MB", Aim::OursTo(MOST_MB)))
}

async fn resident_mb(stage: &Stage, side: Side) -> Result<f64> {
    let mut reader = stage.start(side, Case::Backlog).await?;
    reader.line("ready").await?;
    let begun = Instant::now();
    let mut last = resident_kib(reader.id())?;
    loop {
        sleep(STILL).await;
        let now = resident_kib(reader.id())?;
        if now <= last + last / 100 {
            return Ok(last.max(now) as f64 * 1024.0 / 1e6);
        }
        ensure!(begun.elapsed() < BOUND, "the memory of a reader still grows");
        last = now;
    }
}
