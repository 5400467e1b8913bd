//! Records that take longer than every deadline but that of drains, while partitions move: two consumers join, and one
//! leaves, in a group of each mode.

mod report;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;
use kafka_assigner_core::key::{DEFAULT_PREFIX, Layout};
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::until;
use kafka_assigner_types::mode::Mode;

use self::report::{SlowDrainCase, SlowDrainReport};
use super::chronicle::Chronicle;
use super::moves::GroupHistory;
use super::report::millis;
use super::settings::Settings;
use super::sink::{self, Deed, Effect};
use super::site::{Group, Site};
use super::supply::Supply;

/// Partitions of each topic.
const PARTITIONS: u32 = 4;

/// The times of a run.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// The time that a record takes: longer than every phase.
    record: Duration,
    /// The time between two records of a partition: owners are at work nearly all the time, and do not fall behind.
    interval: Duration,
    /// The settings of the groups.
    group: &'static [&'static str],
    /// The longest that a move may take: a record of the old owner, one of the new one, and what a machine takes.
    longest_move: Duration,
}

/// The phases of a group take 30 s by default.
const FULL: Times = Times {
    record: Duration::from_secs(40),
    interval: Duration::from_secs(42),
    group: &[],
    longest_move: Duration::from_secs(85),
};

/// A machine that plays other tests beside this one takes many times as long as one that does not.
const SHORT: Times = Times {
    record: Duration::from_secs(4),
    interval: Duration::from_millis(4_200),
    group: &["--phase-deadline", "2s"],
    longest_move: Duration::from_secs(40),
};

/// A change of the group has two records to wait for.
const SETTLES: Duration = Duration::from_secs(120);

/// The last record may have begun a moment ago, after another one.
const STANDSTILL: Duration = Duration::from_secs(100);

/// Plays it.
pub(crate) async fn play(settings: &Settings) -> Result<SlowDrainReport> {
    let site = Site::start(settings, "slow-drain").await?;
    let chronicle = site.chronicle().await?;
    let times = if settings.short { SHORT } else { FULL };
    let cases = Mode::ALL.map(|mode| case((settings, times), &site, &chronicle, mode));
    let cases = try_join_all(cases).await?;
    drop(chronicle);
    site.stop().await?;
    Ok(SlowDrainReport { cases, longest_move_ms: millis(times.longest_move) })
}

/// One group. Every change comes when records have just begun, which is when it has to wait longest.
async fn case(
    (settings, times): (&Settings, Times),
    site: &Site,
    chronicle: &Chronicle,
    mode: Mode,
) -> Result<SlowDrainCase> {
    let name = format!("{}-{mode}", site.name());
    let group = site.group(&name, mode, PARTITIONS.cast_signed(), times.group).await?;
    let mut workers = site.workers(&[&name]).with("--record-ms", times.record.as_millis().to_string());
    let worker = |number: usize| format!("{name}-{number}");
    let supply = Supply::start(&settings.kafka, &name, PARTITIONS.cast_signed(), times.interval, 0)?;

    workers.join(&worker(1))?;
    group.settles(site, 1, PARTITIONS, SETTLES).await?;
    for number in [2, 3] {
        records_begin(settings, times, &group).await?;
        site.tell(&format!("{mode}: a consumer joins"));
        workers.join(&worker(number))?;
        group.settles(site, number, PARTITIONS, SETTLES).await?;
    }
    records_begin(settings, times, &group).await?;
    site.tell(&format!("{mode}: a consumer is asked to leave"));
    let asked = Instant::now();
    workers.leave(&worker(1)).await?;
    let stop = asked.elapsed();
    group.settles(site, workers.size(), PARTITIONS, SETTLES).await?;
    let (seen, now) = (chronicle.read()?, wall());

    let supplied = supply.stop().await?;
    supplied.is_handled(&settings.folder, STANDSTILL).await?;
    let layout = Layout::new(DEFAULT_PREFIX, name.parse()?);
    let history = GroupHistory::read(&seen, &layout, &[&worker(1)]);
    let case = SlowDrainCase::count(mode, &history, now, stop);
    workers.end().await?;
    site.tell(&format!("{mode}: over"));
    Ok(case.with_records(&supplied.ids(), &sink::read(&settings.folder, &name)?))
}

/// Waits until a record of each partition has just begun.
async fn records_begin(settings: &Settings, times: Times, group: &Group) -> Result<()> {
    let since = wall();
    let began = || {
        let effects = sink::read(&settings.folder, &group.name)?;
        let begun = effects.iter().filter(|effect| effect.at > since && is_begin(effect));
        let begun: BTreeMap<u32, &Effect> = begun.map(|effect| (effect.partition, effect)).collect();
        Ok((begun.len() == PARTITIONS as usize).then_some(()))
    };
    until("a new record of every partition", times.record + times.interval + STANDSTILL, began).await
}

const fn is_begin(effect: &Effect) -> bool {
    matches!(effect.deed, Deed::Begun { .. })
}
