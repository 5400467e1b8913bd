//! A group of one case, on the servers of its site.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kafka_assigner_rig::{topics, within};
use kafka_assigner_types::mode::Mode;
use tokio::time::sleep;

use super::notes::{self, EdgeNote};
use super::report::EdgeCase;
use super::verdict::{Place, Truth};
use crate::scenario::settings::Settings;
use crate::scenario::site::{Group, Site};
use crate::scenario::supply::Supply;
use crate::scenario::workers::Workers;

/// Groups settle within seconds, on a machine that plays ten cases at once.
pub(super) const SETTLES: Duration = Duration::from_secs(120);

/// Nobody handles records of which none was handled for so long.
const STANDSTILL: Duration = Duration::from_secs(40);

/// The time between two looks at notes, which are read whole each time.
const LOOK: Duration = Duration::from_millis(500);

/// The same for the number of records that Kafka has taken, so that few more come than are wanted.
const FILL_LOOK: Duration = Duration::from_millis(5);

/// The time between two records where many are wanted at once: a producer that is asked for more piles them up.
const AT_ONCE: Duration = Duration::from_micros(250);

/// The ids of each further supply begin so much later.
const IDS: u64 = 1 << 32;

/// The servers on which a case is played.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) settings: &'a Settings,
    pub(super) site: &'a Site,
}

/// A group with its topic.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    ground: Ground<'a>,
    case: &'static str,
    pub(super) name: String,
    pub(super) partitions: u32,
    pub(super) group: Group,
    /// The number of supplies so far.
    supplies: u64,
    pub(super) truth: Truth,
}

impl<'a> Ground<'a> {
    /// A group in `exclusive` with these settings, and its topic.
    pub(super) async fn stage(self, case: &'static str, partitions: u32, with: &[&str]) -> Result<Stage<'a>> {
        self.stage_in(case, Mode::Exclusive, partitions, with).await
    }

    /// The same in any mode.
    pub(super) async fn stage_in(
        self,
        case: &'static str,
        mode: Mode,
        partitions: u32,
        with: &[&str],
    ) -> Result<Stage<'a>> {
        let name = format!("{case}-{mode}");
        let group = self.site.group(&name, mode, partitions.cast_signed(), with).await?;
        Ok(self.with(case, name, partitions, group))
    }

    /// A group in `exclusive` of a topic with a partition on each of these brokers.
    pub(super) async fn stage_on(self, case: &'static str, brokers: &[i32]) -> Result<Stage<'a>> {
        topics::place(&self.settings.kafka, case, brokers, "delete").await?;
        let group = self.site.group_of(case, Mode::Exclusive, &[])?;
        Ok(self.with(case, case.to_owned(), u32::try_from(brokers.len())?, group))
    }

    fn with(self, case: &'static str, name: String, partitions: u32, group: Group) -> Stage<'a> {
        Stage { ground: self, case, name, partitions, group, supplies: 0, truth: Truth::default() }
    }
}

impl Stage<'_> {
    /// Tells what happens.
    pub(super) fn tell(&self, text: &str) {
        self.ground.site.tell(&format!("{}: {text}", self.name));
    }

    /// Runs a command of `kafka-assigner` that operators have; returns what it prints. Blocks until it ends.
    pub(super) fn operates(&self, arguments: &[&str]) -> Result<String> {
        self.ground.site.operates(arguments)
    }

    /// The address of Kafka.
    pub(super) fn kafka(&self) -> &str {
        &self.ground.settings.kafka
    }

    /// The name of a consumer.
    pub(super) fn worker(&self, number: usize) -> String {
        format!("{}-{number}", self.name)
    }

    /// Nobody yet.
    pub(super) fn workers(&self) -> Workers {
        self.ground.site.workers(&[&self.name]).playing("edge-work")
    }

    /// A supply that goes on until it is [taken](Self::take).
    pub(super) fn supply(&mut self, interval: Duration) -> Result<Supply> {
        let first = self.supplies * IDS;
        self.supplies += 1;
        Supply::start(self.kafka(), &self.name, self.partitions.cast_signed(), interval, first)
    }

    /// Stops a supply; its records are in the log.
    pub(super) async fn take(&mut self, supply: Supply) -> Result<()> {
        self.truth.add(supply.stop().await?.log());
        Ok(())
    }

    /// So many records, or a few more, in each partition.
    pub(super) async fn fill(&mut self, rounds: usize) -> Result<()> {
        let (supply, all) = (self.supply(AT_ONCE * self.partitions)?, rounds * self.partitions as usize);
        let filled = within(SETTLES, FILL_LOOK, || Ok((supply.count() >= all).then_some(()))).await?;
        filled.with_context(|| format!("{}: Kafka took no {all} records", self.name))?;
        self.take(supply).await
    }

    /// Removes the records before `offset`, as retention does.
    pub(super) async fn remove_before(&mut self, offset: i64) -> Result<()> {
        topics::delete_records(self.kafka(), &self.name, self.partitions.cast_signed(), offset).await?;
        self.truth.begins_at(offset);
        self.tell(&format!("the logs begin at {offset}"));
        Ok(())
    }

    /// The notes so far.
    pub(super) fn notes(&self) -> Result<Vec<EdgeNote>> {
        notes::read(&self.ground.settings.folder, &self.name)
    }

    /// Waits until the notes are as they should be.
    pub(super) async fn sees(&self, what: &str, is_seen: impl Fn(&[EdgeNote]) -> bool) -> Result<()> {
        let seen = within(SETTLES, LOOK, || Ok(is_seen(&self.notes()?).then_some(()))).await?;
        seen.with_context(|| format!("{}: {what} was not seen", self.name))
    }

    /// Waits until so many consumers have even shares.
    pub(super) async fn settles(&self, consumers: usize) -> Result<()> {
        self.group.settles(self.ground.site, consumers, self.partitions, SETTLES).await
    }

    /// Waits until each record was handled or told as gone, for as long as that goes on. What is missing then is for
    /// the verdict.
    pub(super) async fn accounts_for_all(&self) -> Result<()> {
        let (mut least, mut since) = (usize::MAX, Instant::now());
        while since.elapsed() < STANDSTILL {
            let missing = self.truth.missing(&self.notes()?);
            if missing == 0 {
                return Ok(());
            }
            if missing < least {
                (least, since) = (missing, Instant::now());
            }
            sleep(LOOK).await;
        }
        self.tell(&format!("{least} records are missing"));
        Ok(())
    }

    /// The case as the notes have it, of which these records are in the dead-letter topic.
    pub(super) fn judge(&self, letters: &BTreeSet<Place>) -> Result<EdgeCase> {
        let notes = self.notes()?;
        if notes.is_empty() {
            bail!("{}: nobody worked", self.name);
        }
        Ok(self.truth.judge(self.case, &notes, letters))
    }
}
