//! Consumers that are killed: two in each of ten groups in `overlap`, one in each of five in `exclusive`, and the owner of
//! one partition a third time.

mod report;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::future::try_join_all;
use kafka_assigner_audit::Micros;
use kafka_assigner_core::key::{DEFAULT_PREFIX, Layout};
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::within;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::micros;
use tokio::task::block_in_place;
use tokio::time::sleep;

use self::report::{CrashGap, KilledReport};
use super::chronicle::Chronicle;
use super::settings::Settings;
use super::sink::{self, times};
use super::site::{Group, Site};
use super::supply::Supply;
use super::workers::{Killed, Workers};

/// Groups in `overlap`, without a state.
const OVERLAP: u32 = 10;

/// Groups in `exclusive`, each partition with a state of [`STATE`].
const EXCLUSIVE: u32 = 5;

/// The time that a state takes to build.
const STATE: Duration = Duration::from_secs(5);

/// Consumers of each group.
const CONSUMERS: usize = 3;

/// Partitions of each topic.
const PARTITIONS: u32 = 6;

/// The partition whose owner is killed each time.
const WATCHED: u32 = 0;

/// The time to live of sessions, which is the default.
const TTL: Duration = Duration::from_secs(30);

/// Two kills in one group are further apart than a time to live: within one, only so many are taken over.
const PAUSE: Duration = Duration::from_secs(33);

/// The time between the first kills of two groups: an instance of which several streams end at once suspects nobody.
const STEP: Duration = Duration::from_millis(1_500);

/// The time between two records of a partition.
const INTERVAL: Duration = Duration::from_millis(100);

/// The time that Kafka may wait for records: 45 consumers that each ask fifty times a second would keep a small machine
/// busy.
const FETCH_WAIT: Duration = Duration::from_millis(100);

/// Groups settle within seconds, on a machine that starts 45 consumers at once.
const SETTLES: Duration = Duration::from_secs(90);

/// A partition that nobody handles for so long after a kill has no owner in time to come.
const LONGEST_GAP: Duration = Duration::from_secs(50);

/// How often a sink is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// The words with which a partition is shown that is not taken over, since its owners die.
const OWNERS_DIE: &str = "owners die";

/// Nobody handles records of which none was handled for so long.
const STANDSTILL: Duration = Duration::from_secs(20);

/// What came of one group.
#[derive(Debug)]
struct Outcome {
    lost: usize,
    gaps: Vec<CrashGap>,
    /// The gap after the third kill, and if it was shown that the owners die.
    third: Option<(CrashGap, bool)>,
}

/// Plays it.
pub(crate) async fn play(settings: &Settings) -> Result<KilledReport> {
    let site = Site::start(settings, "killed").await?;
    let chronicle = site.chronicle().await?;
    // A short run has one kill.
    let counts = if settings.short { (1, 0) } else { (OVERLAP, EXCLUSIVE) };
    let overlap = (0..counts.0).map(|number| (Mode::Overlap, number));
    let exclusive = (0..counts.1).map(|number| (Mode::Exclusive, number));
    let turns = (0..).zip(overlap.chain(exclusive));
    let groups = turns.map(|(turn, (mode, number))| {
        let name = format!("{}-{mode}-{number}", site.name());
        KilledGroup { settings, site: &site, chronicle: &chronicle, name, mode, wait: STEP * turn }
            .play(number == 0 && !settings.short)
    });
    let outcomes: Vec<Outcome> = try_join_all(groups).await?;
    site.stop().await?;
    let (gaps, third): (Vec<_>, Vec<_>) =
        outcomes.iter().map(|outcome| (outcome.gaps.clone(), outcome.third.clone())).unzip();
    let lost = outcomes.iter().map(|outcome| outcome.lost).sum();
    let report = KilledReport::count(lost, &gaps.concat(), third.into_iter().flatten().next(), TTL);
    Ok(KilledReport { is_short: settings.short, ..report })
}

/// A group whose consumers are killed.
struct KilledGroup<'a> {
    settings: &'a Settings,
    site: &'a Site,
    chronicle: &'a Chronicle,
    name: String,
    mode: Mode,
    wait: Duration,
}

impl KilledGroup<'_> {
    async fn play(self, has_third: bool) -> Result<Outcome> {
        let partitions = PARTITIONS.cast_signed();
        let group = self.site.group(&self.name, self.mode, partitions, &[]).await?;
        let supply = Supply::start(&self.settings.kafka, &self.name, partitions, INTERVAL, 0)?;
        let mut workers =
            self.site.workers(&[&self.name]).with("--fetch-wait-ms", FETCH_WAIT.as_millis().to_string());
        if self.mode.is_strict() {
            workers = workers.with("--state-ms", STATE.as_millis().to_string());
        }
        for number in 1..=CONSUMERS {
            workers.join(&self.worker(number))?;
        }
        group.settles(self.site, CONSUMERS, PARTITIONS, SETTLES).await?;
        self.all_work().await?;
        sleep(self.wait).await;

        let mut gaps = Vec::new();
        let kills = if self.mode.is_strict() || self.settings.short { 1 } else { 2 };
        for kill in 1..=kills {
            let killed = self.kill(&group, &mut workers)?;
            gaps.extend(self.wait_for_others(&killed).await?);
            workers.join(&self.worker(CONSUMERS + kill))?;
            group.settles(self.site, CONSUMERS, PARTITIONS, SETTLES).await?;
            let pause = if self.settings.short { Duration::ZERO } else { PAUSE };
            sleep(pause.saturating_sub(Duration::from_micros(wall().saturating_sub(killed.0.at)))).await;
        }
        let third = match has_third && !self.mode.is_strict() {
            true => Some(self.third(&group, &mut workers).await?),
            false => None,
        };
        let supplied = supply.stop().await?;
        supplied.is_handled(&self.settings.folder, STANDSTILL).await?;
        workers.end().await?;
        self.site.tell(&format!("{}: over", self.name));
        let times = times(&sink::read(&self.settings.folder, &self.name)?);
        let lost = supplied.ids().iter().filter(|id| !times.contains_key(id)).count();
        Ok(Outcome { lost, gaps, third })
    }

    fn worker(&self, number: usize) -> String {
        format!("{}-{number}", self.name)
    }

    /// Waits until a record of each partition was handled.
    async fn all_work(&self) -> Result<()> {
        let all = || {
            let effects = sink::read(&self.settings.folder, &self.name)?;
            let worked = (0..PARTITIONS).all(|at| effects.iter().any(|effect| effect.partition == at));
            Ok(worked.then_some(()))
        };
        within(SETTLES, LOOK, all).await?.with_context(|| format!("{}: nobody works", self.name))
    }

    /// Kills the owner of the watched partition; returns who it was and what it owned.
    fn kill(&self, group: &Group, workers: &mut Workers) -> Result<(Killed, Vec<u32>)> {
        let name = group.owner_of(WATCHED).context("the partition has no owner")?;
        let owned =
            group.owners().into_iter().filter(|(_, owner)| *owner == name).map(|(at, _)| at).collect();
        let killed = workers.kill(&name)?;
        self.site.tell(&format!("{name} is killed"));
        Ok((killed, owned))
    }

    /// Waits until others handle what the killed one owned, and tells for each partition how long that took.
    async fn wait_for_others(&self, (killed, owned): &(Killed, Vec<u32>)) -> Result<Vec<CrashGap>> {
        let gaps = || {
            let effects = sink::read(&self.settings.folder, &self.name)?;
            let gap = |at: &u32| {
                let others = effects
                    .iter()
                    .filter(|effect| effect.partition == *at && effect.process != killed.process);
                others.map(|effect| effect.at).filter(|at| *at > killed.at).min()
            };
            Ok::<Vec<Option<Micros>>, anyhow::Error>(owned.iter().map(gap).collect())
        };
        within(LONGEST_GAP, LOOK, || Ok(gaps()?.iter().all(Option::is_some).then_some(()))).await?;
        let late = killed.at + micros(LONGEST_GAP);
        let ended = self.ended(killed)?;
        let gap = |(partition, again): (&u32, Option<Micros>)| CrashGap {
            mode: self.mode,
            partition: *partition,
            gap: Duration::from_micros(again.unwrap_or(late).saturating_sub(killed.at)),
            session: ended.map(|ended| Duration::from_micros(ended.saturating_sub(killed.at))),
        };
        Ok(owned.iter().zip(gaps()?).map(gap).collect())
    }

    /// When the session of a killed consumer was over.
    fn ended(&self, killed: &Killed) -> Result<Option<Micros>> {
        let layout = Layout::new(DEFAULT_PREFIX, self.name.parse()?);
        let seen = self.chronicle.read()?;
        Ok(report::end_of_session(&seen, &layout, &killed.name, killed.at))
    }

    /// True if it is shown that the owners of the partition die: by `explain`, or as what the plan waits for.
    fn owners_die(&self) -> Result<bool> {
        let counted = format!("plan_deferred{{group=\"{}\",reason=\"owners_die\"}} ", self.name);
        let metrics = self.site.metrics()?;
        let count =
            metrics.lines().filter_map(|line| line.split_once(&counted)?.1.parse::<u64>().ok()).sum::<u64>();
        Ok(count > 0 || self.site.explains(&self.name, WATCHED)?.contains(OWNERS_DIE))
    }

    /// The third kill of an owner of the same partition: `explain` is asked while others are waited for.
    async fn third(&self, group: &Group, workers: &mut Workers) -> Result<(CrashGap, bool)> {
        let killed = self.kill(group, workers)?;
        let (is_over, is_shown) = (AtomicBool::new(false), AtomicBool::new(false));
        let waiting = async {
            let gaps = self.wait_for_others(&killed).await;
            is_over.store(true, Ordering::Relaxed);
            gaps
        };
        let watching = async {
            while !is_over.load(Ordering::Relaxed) {
                is_shown.fetch_or(block_in_place(|| self.owners_die())?, Ordering::Relaxed);
                sleep(Duration::from_secs(1)).await;
            }
            anyhow::Ok(())
        };
        let (gaps, watched) = futures::join!(waiting, watching);
        watched?;
        let watched_one = gaps?.into_iter().find(|gap| gap.partition == WATCHED);
        Ok((watched_one.context("it owned the partition")?, is_shown.into_inner()))
    }
}
