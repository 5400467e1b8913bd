//! The records of a group: numbered, at a steady rate in each partition of the topic with the group's name.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use kafka_assigner_rig::producer::{Content, Load, Produced, Production};
use tokio::time::sleep;

use super::sink;

/// How often a sink is looked at, which is read whole each time.
const LOOK: Duration = Duration::from_secs(2);

/// A supply of records that goes on until it is stopped.
#[derive(Debug)]
pub(crate) struct Supply {
    group: String,
    partitions: i32,
    first: u64,
    production: Production,
}

/// Everything that was supplied.
#[derive(Debug)]
pub(crate) struct Supplied {
    group: String,
    partitions: i32,
    first: u64,
    produced: Produced,
}

impl Supply {
    /// Begins. Ids rise from `first`.
    pub(crate) fn start(
        kafka: &str,
        group: &str,
        partitions: i32,
        interval: Duration,
        first: u64,
    ) -> Result<Self> {
        let load = Load { topic: group.to_owned(), partitions, interval, linger: Duration::ZERO };
        let content = move |round, partition| Content {
            key: None,
            value: id(first, partitions, round, partition).to_string(),
        };
        let production = Production::start(kafka, load, content)?;
        Ok(Self { group: group.to_owned(), partitions, first, production })
    }

    /// The records that Kafka has acknowledged so far.
    pub(crate) fn count(&self) -> usize {
        self.production.produced().count()
    }

    /// Stops.
    pub(crate) async fn stop(mut self) -> Result<Supplied> {
        let produced = self.production.stop().await?;
        let Self { group, partitions, first, .. } = self;
        Ok(Supplied { group, partitions, first, produced })
    }
}

impl Supplied {
    /// The group, and its topic.
    pub(crate) fn group(&self) -> &str {
        &self.group
    }

    /// The ids of the records that Kafka acknowledged.
    pub(crate) fn ids(&self) -> Vec<u64> {
        let of = |(partition, rounds): (i32, Vec<usize>)| {
            rounds.into_iter().map(move |round| id(self.first, self.partitions, round, partition))
        };
        self.produced.rounds().into_iter().flat_map(of).collect()
    }

    /// The ids of the records that Kafka acknowledged, by partition and offset.
    pub(crate) fn log(&self) -> BTreeMap<u32, BTreeMap<i64, u64>> {
        let of = |(partition, rounds): (i32, BTreeMap<i64, usize>)| {
            let ids =
                rounds.into_iter().map(|(at, round)| (at, id(self.first, self.partitions, round, partition)));
            (partition.unsigned_abs(), ids.collect())
        };
        self.produced.offsets().into_iter().map(of).collect()
    }

    /// Waits until all of it was handled, for as long as that goes on: no longer than `standstill` without progress.
    pub(crate) async fn is_handled(&self, sinks: &Path, standstill: Duration) -> Result<()> {
        let ids = self.ids();
        let (mut least, mut since) = (usize::MAX, Instant::now());
        while since.elapsed() < standstill {
            let times = sink::times(&sink::read(sinks, &self.group)?);
            let missing = ids.iter().filter(|id| !times.contains_key(id)).count();
            if missing == 0 {
                break;
            }
            if missing < least {
                (least, since) = (missing, Instant::now());
            }
            sleep(LOOK).await;
        }
        Ok(())
    }
}

fn id(first: u64, partitions: i32, round: usize, partition: i32) -> u64 {
    first + round as u64 * u64::from(partitions.unsigned_abs()) + u64::from(partition.unsigned_abs())
}
