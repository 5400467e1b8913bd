//! Topics that are deleted and created again, with fewer, as many or more partitions, after a moment or half a minute,
//! in groups of every mode side by side.

mod report;

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;
use kafka_assigner_audit::Micros;
use kafka_assigner_core::key::{DEFAULT_PREFIX, Key, Layout};
use kafka_assigner_core::record::{Topic, decode};
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::{topics, until, within};
use kafka_assigner_types::kv::{Change, Revision};
use kafka_assigner_types::mode::Mode;
use tokio::task::block_in_place;
use tokio::time::sleep;

use self::report::{Growth, RecreateCase, RecreateReport};
use super::chronicle::{Chronicle, Seen};
use super::settings::Settings;
use super::sink;
use super::site::{Group, Site};
use super::supply::Supply;
use super::workers::Workers;

/// Partitions of each topic at first.
const PARTITIONS: u32 = 4;

/// Consumers of each group.
const CONSUMERS: usize = 2;

/// The time between two records of a partition.
const INTERVAL: Duration = Duration::from_millis(100);

/// The ids of the second topic's records begin here.
const SECOND: u64 = 1 << 40;

/// The time for which a topic is away: less than anybody looks, or longer than it takes to believe that it is gone.
const AWAY: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(30)];

/// The time from one group's turn to the next one's: together they fall on all moments between two looks at Kafka.
const STEP: Duration = Duration::from_millis(700);

/// Groups settle within seconds, on a machine that starts 36 consumers at once.
const SETTLES: Duration = Duration::from_secs(90);

/// Topics are looked at every ten seconds, and another id is believed at the second look.
const SEEN: Duration = Duration::from_secs(90);

/// How often the chronicle is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How much is done in each group.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// The records of the first topic that are handled before it is deleted: the second topic has several times as many, so
    /// that an offset of the first one would skip some of it.
    first_records: usize,
    /// How long the group works on the second topic in peace.
    peace: Duration,
}

const FULL: Scale = Scale { first_records: 200, peace: Duration::from_secs(10) };

const SHORT: Scale = Scale { first_records: 40, peace: Duration::from_secs(1) };

/// Nobody handles records of which none was handled for so long.
const STANDSTILL: Duration = Duration::from_secs(20);

/// The first sight of the second topic's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sight {
    at: Micros,
    revision: Revision,
}

/// Plays it.
pub(crate) async fn play(settings: &Settings) -> Result<RecreateReport> {
    let site = Site::start(settings, "recreate").await?;
    let chronicle = site.chronicle().await?;
    let turns = turns(site.name(), settings.short);
    let groups = try_join_all(turns.iter().map(|turn| turn.group(&site))).await?;
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    let mut workers: Workers = site.workers(&names);
    for number in 1..=CONSUMERS {
        workers.join(&format!("{}-{number}", site.name()))?;
    }
    let cases = turns.iter().zip(&groups).map(|(turn, group)| turn.play(settings, &site, &chronicle, group));
    let cases = try_join_all(cases).await?;
    workers.end().await?;
    site.stop().await?;
    Ok(RecreateReport { cases, wanted: turns.len() })
}

/// The turn of one group.
#[derive(Debug)]
struct Turn {
    name: String,
    mode: Mode,
    growth: Growth,
    away: Duration,
    /// How long it waits, so that groups have their turns one after the other.
    wait: Duration,
    scale: Scale,
}

/// The turns of all groups; of a short run, two that are back at once.
fn turns(site: &str, short: bool) -> Vec<Turn> {
    let is_short = |(mode, growth, away): &(Mode, Growth, Duration)| {
        *away == AWAY[0]
            && [(Mode::Overlap, Growth::More), (Mode::Exclusive, Growth::Same)].contains(&(*mode, *growth))
    };
    let scale = if short { SHORT } else { FULL };
    let of_mode = |mode| Growth::ALL.map(|growth| AWAY.map(|away| (mode, growth, away)));
    let all = Mode::ALL.into_iter().flat_map(of_mode).flatten().filter(|turn| !short || is_short(turn));
    let turn = |(number, (mode, growth, away)): (u32, (Mode, Growth, Duration))| Turn {
        name: format!("{site}-{mode}-{growth}-{}", away.as_millis()),
        mode,
        growth,
        away,
        wait: STEP * number,
        scale,
    };
    (0..).zip(all).map(turn).collect()
}

impl Turn {
    async fn group(&self, site: &Site) -> Result<Group> {
        site.group(&self.name, self.mode, PARTITIONS.cast_signed(), &[]).await
    }

    async fn play(
        &self,
        settings: &Settings,
        site: &Site,
        chronicle: &Chronicle,
        group: &Group,
    ) -> Result<RecreateCase> {
        let supply = Supply::start(&settings.kafka, &self.name, PARTITIONS.cast_signed(), INTERVAL, 0)?;
        group.settles(site, CONSUMERS, PARTITIONS, SETTLES).await?;
        let enough = || {
            let handled = sink::times(&sink::read(&settings.folder, &self.name)?).len();
            Ok((handled >= self.scale.first_records).then_some(()))
        };
        within(SETTLES, LOOK, enough).await?;
        sleep(self.wait).await;
        drop(supply.stop().await?);

        let created = self.recreate(settings).await?;
        site.tell(&format!("{}: is back", self.name));
        let partitions = self.growth.after(PARTITIONS);
        let supply = Supply::start(&settings.kafka, &self.name, partitions.cast_signed(), INTERVAL, SECOND)?;
        let sight = self.sight(chronicle).await?;
        group.settles(site, CONSUMERS, partitions, SETTLES).await?;
        sleep(self.scale.peace).await;
        let supplied = supply.stop().await?;
        supplied.is_handled(&settings.folder, STANDSTILL).await?;
        site.tell(&format!("{}: over", self.name));
        let effects = sink::read(&settings.folder, &self.name)?;
        let seen_after = sight.map(|sight| Duration::from_micros(sight.at.saturating_sub(created)));
        let case = RecreateCase::new(self.mode, self.growth, self.away, seen_after);
        Ok(case.count(&supplied.ids(), &effects, sight.map_or(u64::MAX, |sight| sight.revision.0)))
    }

    /// Deletes the topic, and creates it again after its time; returns when it was there.
    async fn recreate(&self, settings: &Settings) -> Result<Micros> {
        topics::delete(&settings.kafka, &self.name).await?;
        sleep(self.away).await;
        let partitions = self.growth.after(PARTITIONS).cast_signed();
        let begun = Instant::now();
        // A broker that has not heard of the deletion yet refuses for a moment.
        while let Err(error) = topics::create(&settings.kafka, &self.name, partitions).await {
            if begun.elapsed() > SEEN {
                return Err(error);
            }
            sleep(Duration::from_millis(20)).await;
        }
        let created = wall();
        // Until it shows the new partitions, whoever asks may be told of the former ones.
        let wanted = usize::try_from(partitions)?;
        let is_shown = || {
            let shown = block_in_place(|| topics::partitions(&settings.kafka, &self.name))?;
            Ok((shown == wanted).then_some(()))
        };
        until("the new topic", SEEN, is_shown).await?;
        Ok(created)
    }

    async fn sight(&self, chronicle: &Chronicle) -> Result<Option<Sight>> {
        let layout = Layout::new(DEFAULT_PREFIX, self.name.parse()?);
        within(SEEN, LOOK, || Ok(second_id(&chronicle.read()?, &layout, &self.name))).await
    }
}

/// The first record of the topic that has partitions and another id than the first one.
fn second_id(seen: &[Seen], layout: &Layout, topic: &str) -> Option<Sight> {
    let mut first: Option<String> = None;
    for Seen { at, change } in seen {
        let (Some(Key::Topic(name)), Change::Put(record)) = (layout.decode(change.key()), change) else {
            continue;
        };
        let Ok(Topic { topic_id: Some(id), partitions, .. }) = decode(&record.value) else { continue };
        if name.as_str() != topic || partitions == 0 {
            continue;
        }
        if *first.get_or_insert_with(|| id.clone()) != id {
            return Some(Sight { at: *at, revision: record.mod_revision });
        }
    }
    None
}
