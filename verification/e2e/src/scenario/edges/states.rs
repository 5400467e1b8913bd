//! States: one that takes long to build, one whose records fail at a switch, and one that is changed by halves.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::notes::{EdgeDeed, EdgeNote};
use super::report::{EdgeCase, FAILING_CATCH_UP, SLOW_REBUILD, TWO_CHANGES};
use super::stage::{Ground, Stage};
use crate::scenario::workers::Workers;

/// The deadlines of a group whose states take longer to build than all of them together.
const SHORT_DEADLINES: [&str; 8] =
    ["--warm-deadline", "2s", "--phase-deadline", "4s", "--drain-deadline", "4s", "--session-timeout", "6s"];

/// The time that each of the [`REBUILT`] records takes in a rebuild: half a minute for a partition.
const CATCH_UP_MS: &str = "10";

/// Records of each partition before anybody rebuilds.
const REBUILT: usize = 3_000;

/// The time between two records of a partition.
const INTERVAL: Duration = Duration::from_millis(10);

/// A consumer works alone for so long.
const ALONE: Duration = Duration::from_secs(3);

/// All consumers work on for so long after a move.
const PEACE: Duration = Duration::from_secs(5);

/// A partition moves to a consumer that builds its state for longer than every deadline.
pub(super) async fn slow_rebuild(ground: Ground<'_>) -> Result<EdgeCase> {
    let mut stage = ground.stage(SLOW_REBUILD, 2, &SHORT_DEADLINES).await?;
    stage.fill(REBUILT).await?;
    let supply = stage.supply(INTERVAL * 10)?;
    let mut workers = stage.workers();
    workers.join(&stage.worker(1))?;
    stage.sees("all that was there", |notes| notes.len() >= 2 * REBUILT).await?;
    workers = workers.with("--catch-up-ms", CATCH_UP_MS);
    workers.join(&stage.worker(2))?;
    stage.settles(2).await?;
    sleep(PEACE).await;
    stage.take(supply).await?;
    stage.accounts_for_all().await?;
    let case = stage.judge(&BTreeSet::new())?;
    let by_second = handled_by(&stage.notes()?, &stage.worker(2));
    workers.end().await?;
    Ok(case.concluded(by_second))
}

/// Records fail while a new owner reads the rest of the log.
pub(super) async fn failing_catch_up(ground: Ground<'_>) -> Result<EdgeCase> {
    let mut stage = ground.stage(FAILING_CATCH_UP, 6, &[]).await?;
    let supply = stage.supply(INTERVAL)?;
    let mut workers = stage.workers().with("--switch-failures", "6");
    second_joins(&stage, &mut workers).await?;
    workers.leave(&stage.worker(1)).await?;
    stage.settles(1).await?;
    stage.take(supply).await?;
    stage.accounts_for_all().await?;
    workers.end().await?;
    let failed = failures(&stage.notes()?);
    Ok(stage.judge(&BTreeSet::new())?.concluded(failed))
}

/// Records fail once between the two changes of the state that each makes.
pub(super) async fn two_changes(ground: Ground<'_>) -> Result<EdgeCase> {
    let mut stage = ground.stage(TWO_CHANGES, 4, &[]).await?;
    let supply = stage.supply(INTERVAL)?;
    let mut workers = stage.workers().with("--torn-every", "101");
    second_joins(&stage, &mut workers).await?;
    stage.take(supply).await?;
    stage.accounts_for_all().await?;
    workers.end().await?;
    let failed = failures(&stage.notes()?);
    Ok(stage.judge(&BTreeSet::new())?.concluded(failed))
}

/// One consumer works alone for a while, and then with another one.
async fn second_joins(stage: &Stage<'_>, workers: &mut Workers) -> Result<()> {
    workers.join(&stage.worker(1))?;
    stage.settles(1).await?;
    sleep(ALONE).await;
    workers.join(&stage.worker(2))?;
    stage.settles(2).await?;
    sleep(PEACE).await;
    Ok(())
}

/// The number of records that failed as they were asked to.
pub(super) fn failures(notes: &[EdgeNote]) -> usize {
    notes.iter().filter(|note| matches!(note.deed, EdgeDeed::Failed { .. })).count()
}

/// The number of records that the consumer `name` has handled.
fn handled_by(notes: &[EdgeNote], name: &str) -> usize {
    let process = format!("{name}#");
    let is_it = |note: &&EdgeNote| {
        note.process.starts_with(&process) && matches!(note.deed, EdgeDeed::Handled { .. })
    };
    notes.iter().filter(is_it).count()
}
