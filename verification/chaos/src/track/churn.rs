//! Consumers come and go, as they do on any day.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::time::{Instant, sleep};

use crate::stage::Stage;

/// The number of consumers, at least and at most.
const CONSUMERS: (usize, usize) = (4, 7);

/// The time between two, in milliseconds: long enough that most of the moves that follow end before the next.
const PAUSE_MS: (u64, u64) = (1_500, 4_000);

/// Lets consumers join and leave until then.
pub(crate) async fn churn(stage: Arc<Stage>, until: Instant) -> Result<()> {
    let mut dice = StdRng::seed_from_u64(stage.settings.seed);
    loop {
        let pause = Duration::from_millis(dice.random_range(PAUSE_MS.0..=PAUSE_MS.1));
        if Instant::now() + pause > until {
            return Ok(());
        }
        sleep(pause).await;
        let (joins, choice) = (dice.random_bool(0.5), dice.random_range(0..usize::MAX));
        let count = stage.crew.names().len();
        if count < CONSUMERS.0 || (joins && count < CONSUMERS.1) {
            let name = stage.crew.join().await?;
            stage.tell(&format!("{name} joins"));
        } else if count > CONSUMERS.0 {
            leave(&stage, choice).await?;
        }
    }
}

async fn leave(stage: &Stage, choice: usize) -> Result<()> {
    let Some(worker) = stage.crew.take(choice) else { return Ok(()) };
    let name = worker.name.clone();
    stage.tell(&format!("{name} is asked to leave"));
    if let Some(accident) = stage.crew.leave(worker).await? {
        stage.accident(accident);
    }
    stage.tell(&format!("{name} is gone"));
    Ok(())
}
