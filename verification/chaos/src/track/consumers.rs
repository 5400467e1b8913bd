//! The faults of consumers.

use anyhow::Result;
use kafka_assigner_rig::Disturbance;
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_store::Store as _;
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::Track;
use crate::consumers::Worker;
use crate::fault::Fault;
use crate::schedule::Step;
use crate::stage::{Revoked, Stage};

/// The consumers, whoever is there just now.
#[derive(Debug)]
pub(crate) struct Consumers;

impl Track for Consumers {
    const FAULTS: &'static [Fault] = Fault::OF_CONSUMERS;

    async fn take(&mut self, stage: &Stage, step: &Step) -> Result<bool> {
        match stage.crew.take(step.choice) {
            Some(worker) => disturb(stage, step, worker).await,
            None => Ok(false),
        }
    }
}

async fn disturb(stage: &Stage, step: &Step, worker: Worker) -> Result<bool> {
    if let Some(disturbance) = step.fault.disturbance() {
        return Ok(disturb_links(stage, step, worker, disturbance).await);
    }
    match step.fault {
        Fault::ConsumerKilled => kill(stage, step, worker).await,
        Fault::ConsumerFrozen => freeze(stage, step, worker).await,
        _ => revoke(stage, step, worker).await,
    }
}

async fn disturb_links(stage: &Stage, step: &Step, worker: Worker, disturbance: Disturbance) -> bool {
    let (disturbed, from) = (stage.network.disturb_from(&worker.name, disturbance), Moment::now());
    stage.tell(&format!("{}: {disturbance:?} for {:?}", worker.name, step.lasts));
    sleep(step.lasts).await;
    let was_felt = disturbed.was_felt();
    drop(disturbed);
    stage.was_away(worker.id(), from);
    stage.crew.put(worker);
    was_felt
}

async fn kill(stage: &Stage, step: &Step, worker: Worker) -> Result<bool> {
    let dead = stage.crew.kill(worker);
    stage.tell(&format!("{} is killed for {:?}", dead.0, step.lasts));
    sleep(step.lasts).await;
    stage.crew.revive(dead).await?;
    Ok(true)
}

async fn freeze(stage: &Stage, step: &Step, worker: Worker) -> Result<bool> {
    let from = Moment::now();
    block_in_place(|| worker.process.freeze())?;
    stage.tell(&format!("{} is frozen for {:?}", worker.name, step.lasts));
    sleep(step.lasts).await;
    worker.process.thaw()?;
    stage.was_away(worker.id(), from);
    stage.crew.put(worker);
    Ok(true)
}

/// The consumer is cut off, so that it hears late of what it has lost: meanwhile it believes that it may act. Whoever
/// has no session just now has nothing to lose.
async fn revoke(stage: &Stage, step: &Step, worker: Worker) -> Result<bool> {
    let registered = stage.observer.look().state.registration(&worker.name.parse()?).cloned();
    let Some(registered) = registered else {
        stage.crew.put(worker);
        return Ok(false);
    };
    let process = worker.id().to_owned();
    stage.tell(&format!("the lease of {process} is revoked, which it hears {:?} later", step.lasts));
    let (cut, from) = (stage.network.disturb_from(&worker.name, Disturbance::Cut), Moment::now());
    stage.events.add().revoked.push(Revoked { process, at: from });
    let revoked = stage.store.revoke(registered.lease).await;
    sleep(step.lasts).await;
    drop(cut);
    stage.was_away(worker.id(), from);
    stage.crew.put(worker);
    Ok(revoked.is_ok())
}
