//! The topic that is deleted and created again, and the records in it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_kafka::{Cluster, Options, TopicAnswer};
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_rig::producer::Production;
use kafka_assigner_rig::topics;
use kafka_assigner_types::topic_id::TopicId;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::fault::Fault;
use crate::load::{self, RETURNING};
use crate::schedule::Step;
use crate::stage::Stage;
use crate::track::Track;

/// The numbers of partitions of the generations, one after the other.
const PARTITIONS: [i32; 4] = [4, 2, 6, 3];

/// The shortest and the longest time for which the topic is away, in milliseconds.
const AWAY_MS: (u64, u64) = (200, 5_000);

/// The longest time for a broker that runs to show a topic that it has created.
const SHOWN: Duration = Duration::from_secs(10);

/// The time between two looks at it.
const LOOK: Duration = Duration::from_millis(10);

/// One generation of the topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generation {
    /// Kafka's id of it.
    pub(crate) topic_id: String,
    /// The time from which it was there for certain.
    pub(crate) from: Moment,
    /// The time at which its deletion began; `None`: it is there still.
    pub(crate) to: Option<Moment>,
}

/// The generations of the topic, by their numbers.
pub(crate) type Generations = BTreeMap<i32, Generation>;

/// The topic as it is now.
#[derive(Debug)]
pub(crate) struct Returning {
    kafka: String,
    generation: i32,
    generations: Generations,
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
        let generations = Generations::new();
        Self { kafka: kafka.to_owned(), generation: 0, generations, production: None }
    }

    /// All that there were, with the one that is there.
    pub(crate) fn generations(&self) -> Generations {
        self.generations.clone()
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
        let shown = timeout(SHOWN, self.until_shown()).await;
        let topic_id = shown.context("the broker does not show the topic that it has created")??;
        let generation = Generation { topic_id, from: Moment::now(), to: None };
        self.generations.insert(self.generation, generation);
        Ok(())
    }

    /// Waits until the broker shows the topic with an id that none had before; returns the id.
    async fn until_shown(&self) -> Result<String> {
        let cluster = Cluster::new(&Options::new(vec![self.kafka.parse()?]))?;
        let names = BTreeSet::from([RETURNING.to_owned()]);
        loop {
            let answers = cluster.topics(&names).await?;
            if let Some(TopicAnswer::Exists { id: Some(id), .. }) = answers.topics.get(RETURNING)
                && let Some(id) = TopicId::new(id.0).map(|id| id.to_string())
                && self.generations.values().all(|before| before.topic_id != id)
            {
                return Ok(id);
            }
            sleep(LOOK).await;
        }
    }

    async fn delete(&mut self) -> Result<()> {
        if let Some(generation) = self.generations.get_mut(&self.generation) {
            generation.to = Some(Moment::now());
        }
        topics::delete(&self.kafka, RETURNING).await
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
        // A record that nobody has handled by then is gone with the topic.
        let _gone = self.end().await?;
        self.delete().await?;
        let away = AWAY_MS.0 + step.choice as u64 % (AWAY_MS.1 - AWAY_MS.0);
        stage.tell(&format!("the topic {RETURNING} is away for {away} ms"));
        sleep(Duration::from_millis(away)).await;
        self.create().await?;
        stage.tell(&format!("the topic {RETURNING} is there again with {} partitions", self.count()));
        sleep_until(until).await;
        Ok(true)
    }
}
