//! The faults of routers.

use anyhow::Result;
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::Track;
use crate::fault::Fault;
use crate::routers::{Routers, router};
use crate::schedule::Step;
use crate::stage::Stage;

impl Track for Routers {
    const FAULTS: &'static [Fault] = Fault::OF_ROUTERS;

    async fn take(&mut self, stage: &Stage, step: &Step) -> Result<bool> {
        let Some(place) = step.choice.checked_rem(self.len()) else { return Ok(false) };
        let name = router(place);
        if let Some(disturbance) = step.fault.disturbance() {
            let disturbed = stage.network.disturb_from(&name, disturbance);
            stage.tell(&format!("{name}: {disturbance:?} for {:?}", step.lasts));
            sleep(step.lasts).await;
            return Ok(disturbed.was_felt());
        }
        if step.fault == Fault::RouterKilled {
            self.kill(place);
            stage.tell(&format!("{name} is killed for {:?}", step.lasts));
            sleep(step.lasts).await;
            self.start_at(place).await?;
        } else {
            block_in_place(|| self.running(place)?.freeze())?;
            stage.tell(&format!("{name} is frozen for {:?}", step.lasts));
            sleep(step.lasts).await;
            self.running(place)?.thaw()?;
        }
        Ok(true)
    }
}
