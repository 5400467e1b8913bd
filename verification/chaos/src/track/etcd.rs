//! The faults of etcd.

use anyhow::Result;
use kafka_assigner_rig::EtcdCluster;
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::Track;
use crate::fault::Fault;
use crate::schedule::Step;
use crate::stage::Stage;

impl Track for EtcdCluster {
    const FAULTS: &'static [Fault] = Fault::OF_ETCD;

    async fn take(&mut self, stage: &Stage, step: &Step) -> Result<bool> {
        match step.fault {
            Fault::EtcdMemberKilled => kill(stage, step, self).await,
            _ => Ok(compact(stage).await),
        }
    }
}

async fn kill(stage: &Stage, step: &Step, cluster: &mut EtcdCluster) -> Result<bool> {
    let member = step.choice % EtcdCluster::MEMBERS;
    cluster.members_mut()[member].kill();
    stage.tell(&format!("member {member} of etcd is killed for {:?}", step.lasts));
    sleep(step.lasts).await;
    block_in_place(|| cluster.members_mut()[member].restart())?;
    Ok(true)
}

/// Up to what those who watch for the run have seen: whoever else is behind it must list everything again.
async fn compact(stage: &Stage) -> bool {
    let revision = stage.observer.look().state.revision().min(stage.witness.revision());
    stage.tell(&format!("etcd is compacted up to {}", revision.0));
    stage.store.compact(revision).await.is_ok()
}
