//! Two changes in a row: a consumer joins, and the one that owned everything leaves, in the middle of the moves or right
//! after the last one.

use anyhow::Result;
use kafka_assigner_rig::until;
use kafka_assigner_types::mode::Mode;

use super::{ChurnCase, Ground, IN_A_ROW, SETTLES, Size, Stage};

/// Plays so many rounds of each kind.
pub(super) async fn play(ground: Ground<'_>, mode: Mode, size: Size) -> Result<ChurnCase> {
    let mut stage = Stage::start(ground, IN_A_ROW, mode, size).await?;
    stage.workers.join(&stage.worker(0))?;
    stage.settles(1).await?;
    for round in 1..=2 * size.rounds {
        let (owner, next) = (stage.worker(round - 1), stage.worker(round));
        stage.workers.join(&next)?;
        // Half of its share, or all of it.
        let wanted = size.partitions as usize / if round % 2 == 0 { 2 } else { 4 };
        let group = &stage.group;
        let owned = || group.owners().iter().filter(|(_, owner)| *owner == next).count();
        until("a part of the moves", SETTLES, || Ok((owned() >= wanted).then_some(()))).await?;
        stage.leave(&owner).await?;
        stage.settles(1).await?;
        stage.case.changes += 2;
    }
    stage.conclude().await
}
