//! The CPU time of a record.

use anyhow::Result;

use super::case::Case;
use super::reader::Side;
use super::row::{Aim, Row, median};
use super::stage::Stage;

/// The runs of each side, which take turns.
const RUNS: usize = 5;

/// Measures one of the cases in which records are read as fast as they come.
pub(super) async fn measure(stage: &Stage, case: Case) -> Result<Row> {
    stage.provide(case).await?;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        plain.push(nanos_a_record(stage, Side::Plain, case).await?);
        ours.push(nanos_a_record(stage, Side::Ours, case).await?);
    }
    Ok(Row::new(case, (median(ours), median(plain)), "ns", Aim::RatioFrom(least(case))))
}

async fn nanos_a_record(stage: &Stage, side: Side, case: Case) -> Result<f64> {
    let mut reader = stage.start(side, case).await?;
    let nanos = reader.number("measured").await?;
    eprintln!("{case}: {side:?} {nanos} ns");
    Ok(nanos as f64)
}

/// A copy and the checks before each record cost less than a tenth of 1 KiB's way from the socket, and more than that of
/// 100 bytes'; batches share the checks.
const fn least(case: Case) -> f64 {
    match case {
        Case::Small => 0.7,
        _ => 0.9,
    }
}
