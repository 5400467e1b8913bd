//! A strategy of a user that panics in one of four groups, on three instances: the others do not notice.

mod report;
mod server;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::future::try_join_all;
use kafka_assigner_rig::{until, within};
use kafka_assigner_strategies::Registry;
use kafka_assigner_types::mode::Mode;
use tokio::time::sleep;

use self::report::{OtherGroups, PanicsReport, PoisonedGroup};
use self::server::PANICKING;
pub(crate) use self::server::serve;
use super::report::millis;
use super::settings::Settings;
use super::sink::{self, times};
use super::site::{Group, Site};
use super::supply::{Supplied, Supply};
use super::workers::Workers;

/// Instances.
const INSTANCES: usize = 3;

/// Groups, and as many in a short run; the strategy panics in the first.
const GROUPS: [usize; 2] = [4, 2];

/// Partitions of each topic.
const PARTITIONS: u32 = 6;

/// The time between two records of a partition.
const INTERVAL: Duration = Duration::from_millis(200);

/// Groups settle within seconds.
const SETTLES: Duration = Duration::from_secs(60);

/// A group that waits for its strategy is looked at for so long, and in a short run: several plans would have been made.
const STANDS: [Duration; 2] = [Duration::from_secs(25), Duration::from_secs(6)];

/// Nobody handles records of which none was handled for so long.
const STANDSTILL: Duration = Duration::from_secs(20);

/// How often something is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Plays it.
pub(crate) async fn play(settings: &Settings) -> Result<PanicsReport> {
    let mut site = Site::start_panicking(settings, "panics", INSTANCES).await?;
    let (count, stands) = (GROUPS[usize::from(settings.short)], STANDS[usize::from(settings.short)]);
    let names: Vec<String> = (0..count).map(|number| format!("{}-{number}", site.name())).collect();
    let mut groups = Vec::new();
    for name in &names {
        groups.push(site.group(name, Mode::Overlap, PARTITIONS.cast_signed(), &[]).await?);
    }
    let supplies: Vec<Supply> = names
        .iter()
        .map(|name| Supply::start(&settings.kafka, name, PARTITIONS.cast_signed(), INTERVAL, 0))
        .collect::<Result<_>>()?;
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut workers = site.workers(&all);
    for number in 1..=2 {
        workers.join(&worker(number))?;
    }
    settle(&site, &groups, 2).await?;

    let poisoned = poison(&mut site, &groups, &mut workers, stands).await?;
    let settled = try_join_all(groups[1..].iter().map(|group| is_shared(group, 3))).await?;
    let healed = heal(&site, &groups[0]).await?;

    let instances_ended = site.deaths()?;
    let supplied = try_join_all(supplies.into_iter().map(Supply::stop)).await?;
    let lost = lost(settings, &supplied).await?;
    workers.end().await?;
    site.stop().await?;
    let others = OtherGroups {
        groups: count - 1,
        shared_out: settled.into_iter().filter(|is_shared| *is_shared).count(),
        lost: lost[1..].iter().sum(),
    };
    let poisoned = PoisonedGroup { lost: lost[0], shared_out_after_ms: healed, ..poisoned };
    Ok(PanicsReport { instances_ended, poisoned, others })
}

fn worker(number: usize) -> String {
    format!("panics-worker-{number}")
}

async fn settle(site: &Site, groups: &[Group], consumers: usize) -> Result<()> {
    for group in groups {
        group.settles(site, consumers, PARTITIONS, SETTLES).await?;
    }
    Ok(())
}

/// The first group gets the strategy, a consumer joins all groups, and the leader of the first dies.
async fn poison(
    site: &mut Site,
    groups: &[Group],
    workers: &mut Workers,
    stands: Duration,
) -> Result<PoisonedGroup> {
    let group = &groups[0];
    let before = group.owners();
    site.set_group(&group.name, &["--strategy", PANICKING])?;
    site.tell("the strategy panics, and a consumer joins");
    workers.join(&worker(3))?;
    sleep(stands).await;
    let leader = group.leader().context("the group has no leader")?;
    let says_why = site.explains(&group.name, 0)?.contains("panicked");
    let shown = count_unplanned(site, &group.name)?;
    site.tell(&format!("{leader} is killed, which leads the group"));
    site.kill_instance(&leader)?;
    let led_again = || Ok(group.leader().filter(|other| *other != leader).map(drop));
    let led_again = within(SETTLES, LOOK, led_again).await?.is_some();
    sleep(stands).await;
    Ok(PoisonedGroup {
        assignments_kept: group.owners() == before,
        says_why: says_why && site.explains(&group.name, 0)?.contains("panicked"),
        shown_by: shown.min(count_unplanned(site, &group.name)?),
        led_again,
        ..PoisonedGroup::default()
    })
}

/// The instances whose metrics show that the group can't be planned.
fn count_unplanned(site: &Site, group: &str) -> Result<usize> {
    let line = format!("kafka_assigner_unplanned{{group=\"{group}\",reason=\"panicked\"}} 1");
    Ok(site.metrics()?.lines().filter(|shown| *shown == line).count())
}

/// True once so many consumers share the group.
async fn is_shared(group: &Group, consumers: usize) -> Result<bool> {
    Ok(within(SETTLES, LOOK, || Ok(group.is_shared(consumers, PARTITIONS).then_some(()))).await?.is_some())
}

/// The group gets another strategy; the time until it is shared out, in milliseconds.
async fn heal(site: &Site, group: &Group) -> Result<u64> {
    site.tell("the group gets another strategy");
    site.set_group(&group.name, &["--strategy", Registry::DEFAULT])?;
    let since = Instant::now();
    until("the group is shared out", SETTLES, || Ok(group.is_shared(3, PARTITIONS).then_some(()))).await?;
    Ok(millis(since.elapsed()))
}

/// The records of each group that nobody handled.
async fn lost(settings: &Settings, supplied: &[Supplied]) -> Result<Vec<usize>> {
    let mut lost = Vec::new();
    for supplied in supplied {
        supplied.is_handled(&settings.folder, STANDSTILL).await?;
        let times = times(&sink::read(&settings.folder, supplied.group())?);
        lost.push(supplied.ids().iter().filter(|id| !times.contains_key(id)).count());
    }
    Ok(lost)
}
