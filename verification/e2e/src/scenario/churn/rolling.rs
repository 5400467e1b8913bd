//! A rolling restart: each consumer in turn is asked to leave, killed where it has not after the grace that Kubernetes
//! gives, and replaced.

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_types::mode::Mode;

use super::{ChurnCase, Ground, ROLLING, Size, Stage};

/// The grace.
const GRACE: Duration = Duration::from_secs(30);

/// Replaces so many consumers. There are two at least: nobody could take what one has that is alone.
pub(super) async fn play(ground: Ground<'_>, size: Size) -> Result<ChurnCase> {
    let mut stage = Stage::start(ground, ROLLING, Mode::Exclusive, size).await?;
    let consumers = size.rounds.max(2);
    for number in 0..consumers {
        stage.workers.join(&stage.worker(number))?;
    }
    stage.settles(consumers).await?;
    for number in 0..size.rounds {
        let (old, new) = (stage.worker(number), stage.worker(consumers + number));
        stage.tell(&format!("{old} is replaced"));
        stage.leaving.push(old.clone());
        let has_left = stage.workers.leaves_within(&old, GRACE).await?;
        stage.case.killed += usize::from(!has_left);
        stage.workers.join(&new)?;
        stage.settles(consumers).await?;
        stage.case.changes += 2;
    }
    stage.conclude().await
}
