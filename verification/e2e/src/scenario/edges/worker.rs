//! A process of the edges: a consumer with the settings that a case asks for.

use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::future::try_join_all;
use kafka_assigner_client::kafka::{ErrorPolicy, KafkaOptions, KafkaRunner, Remedy, RunnerHandle};
use kafka_assigner_client::{Consumer, ConsumerOptions, stop};
use tokio::time::interval;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::handler::{EdgeFaults, EdgeHandler, Notes};
use super::notes::{EdgeDeed, EdgeState};
use crate::scenario::settings::WorkerSettings;

/// The time between two looks at the counts of the runner, which nobody announces.
const LOOK: Duration = Duration::from_millis(200);

/// The attempts at a record before the policy decides.
const ATTEMPTS: u32 = 2;

/// The settings of a process of the edges.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct EdgeWorkerSettings {
    #[command(flatten)]
    worker: WorkerSettings,
    /// The time that each record takes in a rebuild, in milliseconds
    #[arg(long, default_value_t = 0)]
    catch_up_ms: u64,
    /// The ids of records that can't be handled, with commas
    #[arg(long, value_delimiter = ',')]
    poison: Vec<u64>,
    /// Their fate: skip, dead-letter or stop; by default they are tried for ever
    #[arg(long)]
    remedy: Option<EdgeRemedy>,
    /// The topic of dead letters
    #[arg(long)]
    dead_letters: Option<String>,
    /// So many records fail once while the rest of a log is read at a switch
    #[arg(long, default_value_t = 0)]
    switch_failures: u32,
    /// Records whose ids are multiples of this fail once between their two changes of the state; 0 = none
    #[arg(long, default_value_t = 0)]
    torn_every: u64,
    /// The time after which the offset of a quiet partition is committed again, in milliseconds
    #[arg(long)]
    offset_refresh_ms: Option<u64>,
    /// Settings of librdkafka, as "name=value"
    #[arg(long)]
    setting: Vec<String>,
}

/// The fate of a record that can't be handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum EdgeRemedy {
    /// It is passed over.
    Skip,
    /// It is written to the dead-letter topic.
    DeadLetter,
    /// The partition stands.
    Stop,
}

impl EdgeWorkerSettings {
    fn kafka(&self, group: &str) -> Result<KafkaOptions> {
        let mut kafka = KafkaOptions::new(&self.worker.brokers, group);
        let refresh = self.offset_refresh_ms.map(Duration::from_millis);
        kafka.offset_refresh = refresh.unwrap_or(kafka.offset_refresh);
        for setting in &self.setting {
            let (name, value) = setting.split_once('=').context("a setting is name=value")?;
            kafka.settings.push((name.to_owned(), value.to_owned()));
        }
        Ok(kafka)
    }

    fn faults(&self) -> EdgeFaults {
        EdgeFaults {
            record: self.worker.record(),
            catch_up: Duration::from_millis(self.catch_up_ms),
            poison: self.poison.iter().copied().collect(),
            switch_failures: self.switch_failures,
            torn_every: self.torn_every,
        }
    }

    fn policy(&self) -> ErrorPolicy {
        let after = |remedy| ErrorPolicy::after(ATTEMPTS, remedy);
        match self.remedy {
            None => ErrorPolicy::default(),
            Some(EdgeRemedy::Skip) => after(Remedy::Skip),
            Some(EdgeRemedy::DeadLetter) => after(Remedy::DeadLetter),
            Some(EdgeRemedy::Stop) => after(Remedy::Stop),
        }
    }
}

/// Runs until SIGTERM, and then until everything was handed over.
pub(crate) async fn work(settings: EdgeWorkerSettings) -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let stop = stop::on_signal()?;
    let consumers = settings.worker.groups.iter().map(|group| consume(&settings, group, stop.clone()));
    try_join_all(consumers).await?;
    Ok(())
}

async fn consume(settings: &EdgeWorkerSettings, group: &str, stop: CancellationToken) -> Result<()> {
    let notes = Notes::open(&settings.worker, group)?;
    let options = ConsumerOptions {
        group: group.to_owned(),
        topics: vec![group.to_owned()],
        ..ConsumerOptions::new(&settings.worker.name, settings.worker.endpoints.clone())
    };
    let kafka = settings.kafka(group)?;
    let handler = EdgeHandler::new(settings.faults(), notes.clone());
    let mut runner = KafkaRunner::new(&kafka, handler)?.with_policy(settings.policy());
    if let Some(topic) = &settings.dead_letters {
        runner = runner.with_dead_letters(&kafka, topic.parse()?)?;
    }
    let handle = runner.handle();
    let counting = AbortOnDropHandle::new(tokio::spawn(count(notes.clone(), handle.clone())));
    Consumer::new(options)?.run(runner, stop).await?;
    drop(counting);
    // What was counted since the last look.
    notes.write(counted(&handle))?;
    Ok(())
}

/// Writes down what the runner has counted, whenever that has changed.
async fn count(notes: Notes, handle: RunnerHandle<EdgeState>) -> std::io::Result<()> {
    let (mut ticks, mut last) = (interval(LOOK), EdgeDeed::Counted { skipped: 0, standing: 0 });
    loop {
        ticks.tick().await;
        let now = counted(&handle);
        if now != last {
            notes.write(now)?;
            last = now;
        }
    }
}

fn counted(handle: &RunnerHandle<EdgeState>) -> EdgeDeed {
    EdgeDeed::Counted { skipped: handle.counts().skipped, standing: handle.stopped().len() }
}
