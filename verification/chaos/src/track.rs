//! The tracks: sequences of what is done to the run, side by side.

mod churn;
mod consumers;
mod etcd;
mod instances;
mod routers;
mod ways;

use std::future::Future;
use std::sync::Arc;

use anyhow::Result;
use tokio::time::{Instant, sleep};

pub(crate) use churn::churn;
pub(crate) use consumers::Consumers;
pub(crate) use ways::Ways;

use crate::fault::Fault;
use crate::schedule::{Schedule, Step};
use crate::stage::Stage;

/// A track: those who suffer on it, one after the other.
pub(crate) trait Track: Send {
    /// The faults that may happen to them.
    const FAULTS: &'static [Fault];

    /// Lets a fault happen and end; says whether it took place.
    ///
    /// # Errors
    /// When the run can't go on.
    fn take(&mut self, stage: &Stage, step: &Step) -> impl Future<Output = Result<bool>> + Send;
}

/// Takes the steps of a track for as long as each ends before `until`, and gives the track back.
pub(crate) async fn follow<T: Track>(stage: Arc<Stage>, mut track: T, until: Instant) -> Result<T> {
    for step in Schedule::new(stage.settings.seed, T::FAULTS) {
        if Instant::now() + step.lasts > until {
            break;
        }
        if track.take(&stage, &step).await? {
            stage.count(step.fault);
        }
        sleep(step.rest.min(until.saturating_duration_since(Instant::now()))).await;
    }
    Ok(track)
}
