//! The topic that is deleted and created again, and the records in it.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use kafka_assigner_rig::producer::Production;
use kafka_assigner_rig::topics;
use tokio::time::{Instant, sleep, sleep_until};

use crate::fault::Fault;
use crate::load::{self, RETURNING};
use crate::schedule::Step;
use crate::stage::Stage;
use crate::track::Track;

/// The numbers of partitions of the generations, one after the other.
const PARTITIONS: [i32; 4] = [4, 2, 6, 3];

/// How long the topic is away, at least and at most, in milliseconds.
const AWAY_MS: (u64, u64) = (200, 5_000);

/// The topic as it is now.
#[derive(Debug)]
pub(crate) struct Returning {
    kafka: String,
    generation: i32,
    /// `None` in the mode routed, which has no records, and once it is stopped.
    production: Option<Production>,
}

impl Returning {
    /// Creates the topic, and starts to produce records into it.
    pub(crate) async fn start(kafka: &str) -> Result<Self> {
        let mut returning = Self { production: None, ..Self::none(kafka) };
        returning.create().await?;
        Ok(returning)
    }

    /// No such topic.
    pub(crate) fn none(kafka: &str) -> Self {
        Self { kafka: kafka.to_owned(), generation: 0, production: None }
    }

    /// The numbers of its partitions, each with the one at the sink.
    pub(crate) fn partitions(&self) -> Vec<(i32, i32)> {
        let all = self.production.iter().flat_map(|_| 0..self.count());
        let numbers = |partition| load::sink_number(load::number(RETURNING, partition), self.generation);
        all.map(|partition| (partition, numbers(partition))).collect()
    }

    fn count(&self) -> i32 {
        PARTITIONS[self.generation.unsigned_abs() as usize % PARTITIONS.len()]
    }

    async fn create(&mut self) -> Result<()> {
        self.generation += 1;
        topics::create(&self.kafka, RETURNING, self.count()).await?;
        self.production = Some(load::start_generation(&self.kafka, self.generation, self.count())?);
        Ok(())
    }

    /// Stops the records; returns the ends of the partitions, by their numbers at the sink.
    pub(crate) async fn end(&mut self) -> Result<BTreeMap<i32, i64>> {
        let Some(mut production) = self.production.take() else { return Ok(BTreeMap::new()) };
        let ends = production.stop().await?.ends();
        let number = |partition| load::sink_number(load::number(RETURNING, partition), self.generation);
        Ok(ends.into_iter().map(|(partition, end)| (number(partition), end)).collect())
    }
}

impl Track for Returning {
    const FAULTS: &'static [Fault] = Fault::OF_KAFKA;

    async fn take(&mut self, stage: &Stage, step: &Step) -> Result<bool> {
        if self.production.is_none() {
            return Ok(false);
        }
        let until = Instant::now() + step.lasts;
        // What nobody has handled by then is gone with the topic.
        let _gone = self.end().await?;
        topics::delete(&self.kafka, RETURNING).await?;
        let away = AWAY_MS.0 + step.choice as u64 % (AWAY_MS.1 - AWAY_MS.0);
        stage.tell(&format!("the topic {RETURNING} is away for {away} ms"));
        sleep(Duration::from_millis(away)).await;
        self.create().await?;
        stage.tell(&format!("the topic {RETURNING} is there again with {} partitions", self.count()));
        sleep_until(until).await;
        Ok(true)
    }
}
