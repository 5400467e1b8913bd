//! Brokers: one that asks for TLS and a login, one that hangs, and one that is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use kafka_assigner_audit::Micros;
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::topics;
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::cluster::{Cluster, SHAKY, STEADY};
use super::notes::{EdgeDeed, EdgeNote};
use super::poison::{letters, play, poisoned};
use super::report::{BROKER_FROZEN, EdgeCase, LEADERLESS, SECURED};
use super::stage::Ground;

/// Partitions on each broker of the case in which one hangs.
const ON_EACH: usize = 3;

/// The time between two records of a partition.
const INTERVAL: Duration = Duration::from_millis(20);

/// The broker hangs for so long: long enough to be taken for dead by the other one.
const FROZEN: Duration = Duration::from_secs(20);

/// Everybody works on for so long after that.
const PEACE: Duration = Duration::from_secs(10);

/// Partitions that lose their leader, and come first by their numbers.
const WITHOUT_LEADER: usize = 70;

/// Partitions that keep theirs.
const HEALTHY: usize = 30;

/// Records are read, letters written and offsets committed over TLS, with a login.
pub(super) async fn secured(ground: Ground<'_>, cluster: &Cluster) -> Result<EdgeCase> {
    let mut stage = ground.stage_on(SECURED, &[STEADY; 4]).await?;
    let topic = format!("{SECURED}.dead");
    topics::place(stage.kafka(), &topic, &[STEADY], "delete").await?;
    let (address, settings) = cluster.secured();
    let workers = poisoned(&mut stage).await?.instead("--brokers", address);
    let workers = workers.with("--remedy", "dead-letter").with("--dead-letters", &topic);
    let workers = settings.iter().fold(workers, |workers, setting| workers.with("--setting", setting));
    play(&mut stage, workers).await?;
    let letters = block_in_place(|| letters(stage.kafka(), &topic))?;
    let case = stage.judge(&letters)?;
    let buried = case.dead_lettered;
    Ok(case.concluded(buried))
}

/// A broker hangs while a consumer joins, and another one leaves when it is back.
pub(super) async fn frozen(ground: Ground<'_>, cluster: &Cluster) -> Result<EdgeCase> {
    let brokers = [[SHAKY; ON_EACH], [STEADY; ON_EACH]].concat();
    let mut stage = ground.stage_on(BROKER_FROZEN, &brokers).await?;
    let supply = stage.supply(INTERVAL)?;
    let mut workers = stage.workers();
    workers.join(&stage.worker(1))?;
    workers.join(&stage.worker(2))?;
    stage.settles(2).await?;
    let all = |notes: &[EdgeNote]| healthy_since(notes, 0, 0).len() == brokers.len();
    stage.sees("work in every partition", all).await?;
    stage.tell("a broker hangs");
    cluster.freeze()?;
    let frozen = wall();
    workers.join(&stage.worker(3))?;
    sleep(FROZEN).await;
    let meanwhile = healthy_since(&stage.notes()?, ON_EACH, frozen);
    cluster.thaw()?;
    stage.tell("it goes on");
    stage.settles(3).await?;
    sleep(PEACE).await;
    workers.leave(&stage.worker(1)).await?;
    stage.take(supply).await?;
    stage.accounts_for_all().await?;
    workers.end().await?;
    let all_went_on = meanwhile.len() == ON_EACH;
    Ok(stage.judge(&BTreeSet::new())?.concluded(usize::from(all_went_on)))
}

/// A consumer starts while most of its partitions, which come first, have no leader.
pub(super) async fn leaderless(ground: Ground<'_>, cluster: &mut Cluster) -> Result<EdgeCase> {
    let brokers = [[SHAKY; WITHOUT_LEADER].as_slice(), &[STEADY; HEALTHY]].concat();
    let mut stage = ground.stage_on(LEADERLESS, &brokers).await?;
    stage.fill(5).await?;
    let mut workers = stage.workers();
    workers.join(&stage.worker(1))?;
    stage.accounts_for_all().await?;
    workers.leave(&stage.worker(1)).await?;
    cluster.kill(&stage.name, WITHOUT_LEADER).await?;
    let supply = stage.supply(INTERVAL * 10)?;
    stage.tell("70 partitions have no leader");
    let begun = wall();
    workers.join(&stage.worker(1))?;
    let all = |notes: &[EdgeNote]| healthy_since(notes, WITHOUT_LEADER, begun).len() == HEALTHY;
    stage.sees("work in the healthy partitions", all).await?;
    let started = healthy_since(&stage.notes()?, WITHOUT_LEADER, begun).into_values().max();
    cluster.restart()?;
    stage.tell("the broker is back");
    sleep(PEACE).await;
    stage.take(supply).await?;
    stage.accounts_for_all().await?;
    workers.end().await?;
    let case = stage.judge(&BTreeSet::new())?;
    let healthy_started_ms = started.map(|at| at.saturating_sub(begun) / 1_000);
    Ok(EdgeCase { healthy_started_ms, ..case }.concluded(WITHOUT_LEADER))
}

/// The first time at which each partition from a number on had a record handled since a time.
fn healthy_since(notes: &[EdgeNote], from: usize, since: Micros) -> BTreeMap<u32, Micros> {
    let mut first = BTreeMap::new();
    for note in notes.iter().filter(|note| note.at > since) {
        match note.deed {
            EdgeDeed::Handled { partition, .. } if partition as usize >= from => {
                first.entry(partition).or_insert(note.at);
            }
            _ => {}
        }
    }
    first
}
