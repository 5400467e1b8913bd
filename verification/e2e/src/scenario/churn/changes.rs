//! A guest joins two consumers, again and again: some of its moves are aborted, and it leaves.

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_rig::within;
use kafka_assigner_types::mode::Mode;
use tokio::task::block_in_place;

use super::{CHANGES, ChurnCase, Ground, Size, Stage};

/// The most moves that are aborted after one change: each is a command of its own.
const ABORTED_AT_ONCE: usize = 8;

/// A guest that is given nothing within this time leaves all the same.
const MOVES: Duration = Duration::from_secs(10);

/// The time between two looks at the moves.
const LOOK: Duration = Duration::from_millis(20);

/// Plays so many changes.
pub(super) async fn play(ground: Ground<'_>, mode: Mode, size: Size) -> Result<ChurnCase> {
    let mut stage = Stage::start(ground, CHANGES, mode, size).await?;
    for number in [1, 2] {
        stage.workers.join(&stage.worker(number))?;
    }
    stage.settles(2).await?;
    for round in 0..size.rounds / 2 {
        let guest = stage.worker(format!("guest-{round}"));
        stage.workers.join(&guest)?;
        abort(&mut stage).await?;
        stage.leave(&guest).await?;
        stage.case.changes += 2;
    }
    stage.tell("everybody has come and gone");
    stage.settles(2).await?;
    stage.conclude().await
}

/// Aborts what moves to the guest.
async fn abort(stage: &mut Stage<'_>) -> Result<()> {
    let moving = || Ok(Some(stage.group.moving()).filter(|moving| !moving.is_empty()));
    let moving = within(MOVES, LOOK, moving).await?.unwrap_or_default();
    for partition in moving.into_iter().take(ABORTED_AT_ONCE) {
        let (name, partition) = (&stage.name, partition.to_string());
        let aborted = block_in_place(|| stage.ground.site.operates(&["abort", name, name, &partition]));
        // One that is over, or too far, is none.
        stage.case.aborted += usize::from(aborted.is_ok());
    }
    Ok(())
}
