//! An etcd that is put back to an earlier state while instances and consumers are at work: by a copy of its data folder, or
//! with `etcdutl`, which hides it behind a higher revision.

mod report;

use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::future::try_join_all;
use kafka_assigner_audit::Micros;
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::{EtcdBackup, within};
use kafka_assigner_store::Store as _;
use kafka_assigner_types::kv::{Op, Txn};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::micros;
use tokio::task::block_in_place;
use tokio::time::sleep;

use self::report::{RestoredCase, RestoredReport, Way};
use super::settings::Settings;
use super::sink;
use super::site::Site;
use super::supply::Supply;

/// Partitions of each topic.
const PARTITIONS: u32 = 6;

/// The time between two records of a partition.
const INTERVAL: Duration = Duration::from_millis(50);

/// The time to live of the sessions of consumers, which is also the longest that one may ask for: so long strict grants
/// wait.
const TTL: Duration = Duration::from_secs(10);

/// The same in a short run.
const SHORT_TTL: Duration = Duration::from_secs(4);

/// What has to come on top of times to live.
const GRACE: Duration = Duration::from_secs(10);

/// Groups settle within seconds.
const SETTLES: Duration = Duration::from_secs(60);

/// What is written after the backup was made, beside what the group writes: the lost revisions are more than anybody
/// writes within a second.
const WRITES: u32 = 200;

/// By how much `etcdutl` raises the revision: far above every one that was lost.
const BUMP: u64 = 1_000_000_000;

/// The words of an instance that begins to serve another history.
const NOTICED: &str = "everything is loaded anew";

/// Nobody handles records of which none was handled for so long.
const STANDSTILL: Duration = Duration::from_secs(20);

/// Plays it: each group has servers of its own.
pub(crate) async fn play(settings: &Settings) -> Result<RestoredReport> {
    let of_mode = |mode| Way::ALL.map(|way| (mode, way));
    let all = [Mode::Overlap, Mode::Exclusive].into_iter().flat_map(of_mode);
    // A short run has no etcdutl.
    let all: Vec<_> = all.filter(|of| !settings.short || *of == (Mode::Exclusive, Way::Folder)).collect();
    let cases = all.iter().map(|(mode, way)| case(settings, *mode, *way));
    Ok(RestoredReport { cases: try_join_all(cases).await?, wanted: all.len() })
}

async fn case(settings: &Settings, mode: Mode, way: Way) -> Result<RestoredCase> {
    let name = format!("restored-{way}-{mode}");
    let mut site = Site::start(settings, &name).await?;
    let session = if settings.short { SHORT_TTL } else { TTL };
    let ttl = format!("{}s", session.as_secs());
    let times = ["--session-timeout", &ttl, "--max-session-timeout", &ttl];
    let group = site.group(&name, mode, PARTITIONS.cast_signed(), &times).await?;
    let supply = Supply::start(&settings.kafka, &name, PARTITIONS.cast_signed(), INTERVAL, 0)?;
    let mut workers = site.workers(&[&name]);
    for number in [1, 2] {
        workers.join(&format!("{name}-{number}"))?;
    }
    group.settles(&site, 2, PARTITIONS, SETTLES).await?;
    let backup = block_in_place(|| site.etcd().back_up())?;
    workers.join(&format!("{name}-3"))?;
    group.settles(&site, 3, PARTITIONS, SETTLES).await?;
    write_more(&site).await?;

    let lost_epoch = highest_epoch(settings, &name)?;
    let back = put_back(settings, &mut site, &backup, way).await?;
    let noticed = noticed(&site).await?.map(|at| Duration::from_micros(at.saturating_sub(back)));
    let wait = session * if mode.is_strict() { 2 } else { 1 } + GRACE;
    sleep(wait.saturating_sub(Duration::from_micros(wall().saturating_sub(back)))).await;
    let restarts = workers.deaths()? + site.deaths()?;
    let supplied = supply.stop().await?;
    supplied.is_handled(&settings.folder, STANDSTILL).await?;
    site.tell(&format!("{name}: over"));
    workers.end().await?;
    site.stop().await?;
    let effects = sink::read(&settings.folder, &name)?;
    let case = RestoredCase { restarts, ..RestoredCase::new(mode, way, noticed) };
    let deadline = back + micros(wait);
    Ok(case.count(&name, &effects, &supplied.ids()).standing(&effects, lost_epoch, deadline, PARTITIONS))
}

async fn write_more(site: &Site) -> Result<()> {
    let store = site.store()?;
    for number in 0..WRITES {
        store.txn(Txn::guarded(Vec::new(), vec![Op::put(format!("/elsewhere/{number}"), "")])).await?;
    }
    Ok(())
}

fn highest_epoch(settings: &Settings, group: &str) -> Result<u64> {
    let effects = sink::read(&settings.folder, group)?;
    effects.iter().map(|effect| effect.epoch).max().context("nothing was handled")
}

/// Puts the store back; returns when it answered again. The instances notice a revision that is lower by themselves; of
/// one that is higher, they have to be told.
async fn put_back(settings: &Settings, site: &mut Site, backup: &EtcdBackup, way: Way) -> Result<Micros> {
    site.tell(&format!("{}: is put back", site.name()));
    block_in_place(|| match way {
        Way::Folder => Ok(site.etcd().put_back(backup)?),
        Way::Snapshot => {
            let etcdutl = settings.etcdutl.as_deref().context("--etcdutl is needed")?;
            site.etcd().restore(etcdutl, backup, BUMP)?;
            anyhow::Ok(())
        }
    })?;
    let back = wall();
    if way == Way::Snapshot {
        block_in_place(|| site.say_restored())?;
    }
    Ok(back)
}

/// Waits until every instance serves another history; `None` where that does not come.
async fn noticed(site: &Site) -> Result<Option<Micros>> {
    let all = || Ok(site.said(NOTICED)?.iter().all(|times| *times > 0).then(wall));
    within(SETTLES, Duration::from_millis(20), all).await
}
