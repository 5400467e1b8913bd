//! The faults of instances.

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_rig::Disturbance;
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_rig::until;
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::Track;
use crate::fault::Fault;
use crate::instances::{INSTANCES, Instances, server};
use crate::schedule::Step;
use crate::stage::Stage;

/// The longest wait for a leader that could be killed: longer than any election takes.
const LED: Duration = Duration::from_secs(10);

impl Track for Instances {
    const FAULTS: &'static [Fault] = Fault::OF_INSTANCES;

    async fn take(&mut self, stage: &Stage, step: &Step) -> Result<bool> {
        let trouble = match step.fault {
            Fault::LeaderKilled => leader(stage, self).await.and_then(|place| stage.troubled.at(place)),
            _ => stage.troubled.any(step.choice),
        };
        let Some(trouble) = trouble else { return Ok(false) };
        if let Some(disturbance) = step.fault.disturbance() {
            return Ok(disturb_links(stage, step, disturbance, trouble.place).await);
        }
        match step.fault {
            Fault::InstanceFrozen => freeze(stage, step, self, trouble.place).await,
            _ => kill(stage, step, self, trouble.place).await,
        }
    }
}

/// Either between the instance and the store, or between everybody and the instance.
async fn disturb_links(stage: &Stage, step: &Step, disturbance: Disturbance, place: usize) -> bool {
    let name = server(place);
    let is_the_store = (step.choice / INSTANCES).is_multiple_of(2);
    let (disturbed, what) = if is_the_store {
        (stage.network.disturb_from(&name, disturbance), "between it and etcd")
    } else {
        (stage.network.disturb_to(&name, disturbance), "between consumers and it")
    };
    let from = Moment::now();
    stage.tell(&format!("{name}: {disturbance:?} {what} for {:?}", step.lasts));
    sleep(step.lasts).await;
    let was_felt = disturbed.was_felt();
    drop(disturbed);
    if is_the_store {
        stage.was_away(&name, from);
    }
    was_felt
}

async fn kill(stage: &Stage, step: &Step, instances: &mut Instances, place: usize) -> Result<bool> {
    instances.kill(place);
    stage.tell(&format!("{:?}: {} is gone for {:?}", step.fault, server(place), step.lasts));
    sleep(step.lasts).await;
    instances.start_at(place).await?;
    Ok(true)
}

async fn freeze(stage: &Stage, step: &Step, instances: &Instances, place: usize) -> Result<bool> {
    let from = Moment::now();
    block_in_place(|| instances.running(place)?.freeze())?;
    stage.tell(&format!("{} is frozen for {:?}", server(place), step.lasts));
    sleep(step.lasts).await;
    instances.running(place)?.thaw()?;
    stage.was_away(&server(place), from);
    Ok(true)
}

/// The place of the one that leads, as soon as one does.
async fn leader(stage: &Stage, instances: &Instances) -> Option<usize> {
    let led = || Ok(stage.observer.look().leader().and_then(|id| instances.place_of(&id)));
    until("a leadership", LED, led).await.ok()
}
