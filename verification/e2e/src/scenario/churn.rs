//! Consumers that come and go: one change after the other, two in a row, and a rolling restart.
//!
//! ```text
//!  churn ─► Site ─┬─► changes    a guest joins, its moves are aborted, and it leaves     overlap, exclusive
//!                 ├─► in-a-row   the owner leaves while others are still taking over     overlap, exclusive
//!                 └─► rolling    each of some consumers with long records is replaced    exclusive
//!                       each group: records at a steady rate ─► sink ─► what came of them
//! ```

mod changes;
mod in_a_row;
mod report;
mod rolling;

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_core::key::{DEFAULT_PREFIX, Layout};
use kafka_assigner_types::mode::Mode;

pub(crate) use self::report::ChurnReport;
use self::report::{CHANGES, ChurnCase, IN_A_ROW, ROLLING};
use super::chronicle::Chronicle;
use super::moves::GroupHistory;
use super::settings::Settings;
use super::sink;
use super::site::{Group, Site};
use super::supply::Supply;
use super::workers::Workers;

/// Groups settle within seconds, on a machine that plays five of them.
const SETTLES: Duration = Duration::from_secs(120);

/// Nobody handles records of which none was handled for so long.
const STANDSTILL: Duration = Duration::from_secs(40);

/// The modes in which most of it is played.
const MODES: [Mode; 2] = [Mode::Overlap, Mode::Exclusive];

/// The size of a part.
#[derive(Debug, Clone, Copy)]
struct Size {
    partitions: u32,
    /// The time between two records of a partition.
    interval: Duration,
    /// The time that each record takes.
    record: Duration,
    /// Changes, rounds or consumers.
    rounds: usize,
}

/// The sizes of all parts.
#[derive(Debug, Clone, Copy)]
struct Scale {
    changes: Size,
    in_a_row: Size,
    rolling: Size,
}

const FULL: Scale = Scale {
    // Queues that are empty most of the time.
    changes: Size { partitions: 64, interval: Duration::from_secs(2), record: Duration::ZERO, rounds: 200 },
    in_a_row: Size {
        partitions: 100,
        interval: Duration::from_millis(200),
        record: Duration::ZERO,
        rounds: 4,
    },
    rolling: Size {
        partitions: 16,
        interval: Duration::from_secs(8),
        record: Duration::from_secs(5),
        rounds: 4,
    },
};

const SHORT: Scale = Scale {
    changes: Size { partitions: 8, interval: Duration::from_millis(500), record: Duration::ZERO, rounds: 4 },
    in_a_row: Size { partitions: 12, interval: Duration::from_millis(50), record: Duration::ZERO, rounds: 1 },
    rolling: Size {
        partitions: 2,
        interval: Duration::from_millis(1_500),
        record: Duration::from_secs(1),
        rounds: 1,
    },
};

/// Plays it.
pub(crate) async fn play(settings: &Settings) -> Result<ChurnReport> {
    let site = Site::start(settings, "churn").await?;
    let chronicle = site.chronicle().await?;
    let scale = if settings.short { SHORT } else { FULL };
    let ground = Ground { settings, site: &site, chronicle: &chronicle };
    let [overlap, exclusive] = MODES;
    let (first, second, third, fourth, fifth) = tokio::try_join!(
        changes::play(ground, overlap, scale.changes),
        changes::play(ground, exclusive, scale.changes),
        in_a_row::play(ground, overlap, scale.in_a_row),
        in_a_row::play(ground, exclusive, scale.in_a_row),
        rolling::play(ground, scale.rolling),
    )?;
    site.stop().await?;
    Ok(ChurnReport { cases: vec![first, second, third, fourth, fifth] })
}

/// The servers, and what is seen of the store.
#[derive(Debug, Clone, Copy)]
struct Ground<'a> {
    settings: &'a Settings,
    site: &'a Site,
    chronicle: &'a Chronicle,
}

/// One group at work.
#[derive(Debug)]
struct Stage<'a> {
    ground: Ground<'a>,
    case: ChurnCase,
    name: String,
    size: Size,
    group: Group,
    supply: Supply,
    workers: Workers,
    /// The consumers that were asked to leave.
    leaving: Vec<String>,
}

impl<'a> Stage<'a> {
    /// A group with a supply of records, and nobody yet.
    async fn start(ground: Ground<'a>, name: &'static str, mode: Mode, size: Size) -> Result<Self> {
        let case = ChurnCase::new(name, mode);
        let (name, partitions) =
            (format!("{}-{name}-{mode}", ground.site.name()), size.partitions.cast_signed());
        let group = ground.site.group(&name, mode, partitions, &[]).await?;
        let supply = Supply::start(&ground.settings.kafka, &name, partitions, size.interval, 0)?;
        let record = size.record.as_millis().to_string();
        let workers = ground.site.workers(&[&name]).with("--record-ms", record);
        Ok(Self { ground, case, name, size, group, supply, workers, leaving: Vec::new() })
    }

    fn tell(&self, text: &str) {
        self.ground.site.tell(&format!("{}: {text}", self.name));
    }

    fn worker(&self, name: impl std::fmt::Display) -> String {
        format!("{}-{name}", self.name)
    }

    async fn settles(&self, consumers: usize) -> Result<()> {
        self.group.settles(self.ground.site, consumers, self.size.partitions, SETTLES).await
    }

    /// The consumer is asked to leave; returns when it has.
    async fn leave(&mut self, name: &str) -> Result<()> {
        self.leaving.push(name.to_owned());
        self.workers.leave(name).await
    }

    /// The case as the sink and the store's history have it.
    async fn conclude(self) -> Result<ChurnCase> {
        let Self { ground, case, name, supply, mut workers, leaving, .. } = self;
        let ended = workers.deaths()?;
        let supplied = supply.stop().await?;
        supplied.is_handled(&ground.settings.folder, STANDSTILL).await?;
        let leaving: Vec<&str> = leaving.iter().map(String::as_str).collect();
        let layout = Layout::new(DEFAULT_PREFIX, name.parse()?);
        let history = GroupHistory::read(&ground.chronicle.read()?, &layout, &leaving);
        workers.end().await?;
        ground.site.tell(&format!("{name}: over"));
        let effects = sink::read(&ground.settings.folder, &name)?;
        Ok(ChurnCase { ended, ..case }.with_moves(&history).with_records(&supplied.ids(), &effects))
    }
}
