//! The ways of single instances to etcd, each cut for far longer than a session lives.

use anyhow::Result;
use kafka_assigner_rig::Disturbance;
use kafka_assigner_rig::clock::Moment;
use tokio::time::sleep;

use super::Track;
use crate::fault::Fault;
use crate::instances::server;
use crate::schedule::Step;
use crate::stage::Stage;

/// The ways of all instances.
#[derive(Debug)]
pub(crate) struct Ways;

impl Track for Ways {
    const FAULTS: &'static [Fault] = Fault::OF_WAYS;

    async fn take(&mut self, stage: &Stage, step: &Step) -> Result<bool> {
        let Some(trouble) = stage.troubled.any(step.choice) else { return Ok(false) };
        let name = server(trouble.place);
        let (cut, from) = (stage.network.disturb_from(&name, Disturbance::Cut), Moment::now());
        stage.tell(&format!("{name} reaches no member of etcd for {:?}", step.lasts));
        sleep(step.lasts).await;
        let was_felt = cut.was_felt();
        drop(cut);
        stage.was_away(&name, from);
        Ok(was_felt)
    }
}
