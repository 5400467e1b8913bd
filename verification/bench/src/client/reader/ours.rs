//! The runner, as a user's program has it.

use std::sync::Arc;

use anyhow::Result;
use kafka_assigner_client::kafka::{BatchEnd, KafkaOptions, KafkaRunner};
use kafka_assigner_client::prelude::*;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::meter::{Meter, Tally};
use super::{BATCH, ReaderArguments, SLOW};
use crate::client::case::Case;

/// Counts records; the most of a batch are `N`.
struct Counter<const N: usize> {
    meter: Arc<Meter>,
    is_slow: bool,
}

impl<const N: usize> RecordHandler for Counter<N> {
    type State = Tally;

    const BATCH: usize = N;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Tally>, RecordError> {
        Ok(OpenedState::empty(Tally::default()))
    }

    /// Nothing is committed, so nothing comes.
    async fn catch_up(&self, _: &TopicPartition, _: &mut Tally, _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn begin(&self, _: &PartitionContext, _: &mut Tally) -> Result<(), RecordError> {
        self.meter.begin();
        Ok(())
    }

    async fn process(
        &self,
        _: &PartitionContext,
        tally: &mut Tally,
        record: &Record,
    ) -> Result<(), RecordError> {
        self.meter.count(tally, record.value());
        if self.is_slow {
            sleep(SLOW).await;
        }
        Ok(())
    }

    async fn process_batch(&self, _: &PartitionContext, tally: &mut Tally, records: &[Record]) -> BatchEnd {
        records.iter().for_each(|record| self.meter.count(tally, record.value()));
        BatchEnd { handled: records.len(), error: None }
    }
}

/// Reads until the process is killed.
pub(super) async fn read(arguments: &ReaderArguments, meter: Arc<Meter>) -> Result<()> {
    let is_slow = arguments.case == Case::Backlog;
    match arguments.case {
        Case::SmallBatch => run(arguments, Counter::<BATCH> { meter, is_slow }).await,
        _ => run(arguments, Counter::<1> { meter, is_slow }).await,
    }
}

async fn run<const N: usize>(arguments: &ReaderArguments, counter: Counter<N>) -> Result<()> {
    let runner = KafkaRunner::new(&KafkaOptions::new(&arguments.kafka, &arguments.group), counter)?;
    let options = ConsumerOptions {
        group: arguments.group.clone(),
        ..ConsumerOptions::new("reader", [arguments.instance.as_str()])
    };
    Consumer::new(options)?.run(runner, CancellationToken::new()).await?;
    Ok(())
}
