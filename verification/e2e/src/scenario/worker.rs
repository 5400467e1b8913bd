//! A process of a scenario: one consumer for each group that it is given.

use std::time::Duration;

use anyhow::Result;
use futures::future::try_join_all;
use kafka_assigner_client::kafka::{
    KafkaOptions, KafkaRunner, OpenedState, PartitionContext, Preparation, Record, RecordError,
    RecordHandler, StateSnapshot,
};
use kafka_assigner_client::{Consumer, ConsumerOptions, TopicPartition, stop};
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::journal::Journal;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::settings::WorkerSettings;
use super::sink::{Deed, Effect, path};

/// Runs until SIGTERM, and then until everything was handed over.
pub(crate) async fn work(settings: WorkerSettings) -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let stop = stop::on_signal()?;
    let consumers = settings.groups.iter().map(|group| consume(&settings, group, stop.clone()));
    try_join_all(consumers).await?;
    Ok(())
}

async fn consume(settings: &WorkerSettings, group: &str, stop: CancellationToken) -> Result<()> {
    let handler = Worker {
        process: format!("{}#{}", settings.name, std::process::id()),
        sink: Journal::open(&path(&settings.sinks, group))?,
        record: settings.record(),
        state: settings.state(),
    };
    let options = ConsumerOptions {
        group: group.to_owned(),
        topics: vec![group.to_owned()],
        ..ConsumerOptions::new(&settings.name, settings.endpoints.clone())
    };
    let mut kafka = KafkaOptions::new(&settings.brokers, group);
    kafka.settings.push(("fetch.wait.max.ms".to_owned(), settings.fetch_wait_ms.to_string()));
    let runner = KafkaRunner::new(&kafka, handler)?;
    Consumer::new(options)?.run(runner, stop).await?;
    Ok(())
}

/// Takes its time with each record, and writes down what it does.
#[derive(Debug)]
struct Worker {
    process: String,
    sink: Journal,
    record: Duration,
    state: Duration,
}

/// The record is not handled; it is tried again for as long as the partition is owned.
#[derive(Debug, thiserror::Error)]
#[error("the claim ended while the record was in the works")]
struct ClaimOver;

impl Worker {
    fn write(&self, context: &PartitionContext, deed: Deed) -> std::io::Result<()> {
        self.sink.write(&Effect {
            process: self.process.clone(),
            partition: context.partition().partition,
            epoch: context.epoch().0,
            at: wall(),
            deed,
        })
    }
}

impl RecordHandler for Worker {
    type State = ();

    /// The wait stands for a state that is built from elsewhere.
    async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<()>, RecordError> {
        sleep(self.state).await;
        Ok(OpenedState::empty(()))
    }

    /// The sink has the effects of what others handled.
    async fn catch_up(&self, _: &TopicPartition, (): &mut (), _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        (): &mut (),
        record: &Record,
    ) -> Result<(), RecordError> {
        let id = id(record);
        if !self.record.is_zero() {
            self.write(context, Deed::Begun { id })?;
            sleep(self.record).await;
        }
        if !context.may_act() {
            return Err(ClaimOver.into());
        }
        self.write(context, Deed::Handled { id, offset: record.offset().get() })?;
        Ok(())
    }
}

/// The payload of a record is its id.
pub(in crate::scenario) fn id(record: &Record) -> u64 {
    let payload = record.value().and_then(|payload| std::str::from_utf8(payload).ok());
    payload.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}
