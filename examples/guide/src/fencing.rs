//! `docs/guide/fencing.md`: effects that are records of Kafka.

use kafka_assigner_client::kafka::rdkafka::producer::FutureRecord;
use kafka_assigner_client::kafka::{FencedProducers, KafkaRunnerError, WriteError};
use kafka_assigner_client::prelude::*;

/// Writes the running total of each key.
#[derive(Debug)]
pub struct Totals {
    producers: FencedProducers,
}

/// A runner whose handler writes through the producers that the runner keeps.
///
/// # Errors
/// [`KafkaRunnerError::Client`], [`KafkaRunnerError::Empty`].
pub fn runner(kafka: &KafkaOptions) -> Result<KafkaRunner<Totals>, KafkaRunnerError> {
    let producers = FencedProducers::new(kafka, &[])?;
    let totals = Totals { producers: producers.clone() };
    Ok(KafkaRunner::new(kafka, totals)?.with_producers(producers))
}

impl Totals {
    async fn write(&self, context: &PartitionContext, key: &[u8], total: u64) -> Result<(), WriteError> {
        let value = total.to_string();
        let record = FutureRecord::to("totals").key(key).payload(value.as_bytes());
        self.producers.write_for(context, vec![record]).await
    }
}

impl RecordHandler for Totals {
    type State = u64;

    async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<u64>, RecordError> {
        Ok(OpenedState::empty(0))
    }

    async fn catch_up(&self, _: &TopicPartition, total: &mut u64, _: &Record) -> Result<(), RecordError> {
        *total += 1;
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        total: &mut u64,
        record: &Record,
    ) -> Result<(), RecordError> {
        self.write(context, record.key().unwrap_or_default(), *total + 1).await.unchanged()?;
        *total += 1;
        Ok(())
    }
}
