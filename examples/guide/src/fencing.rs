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
/// [`KafkaRunnerError::Client`].
pub fn runner(kafka: &KafkaOptions) -> Result<KafkaRunner<Totals>, KafkaRunnerError> {
    let producers = FencedProducers::new(kafka, &[]);
    let totals = Totals { producers: producers.clone() };
    Ok(KafkaRunner::new(kafka, totals)?.with_producers(producers))
}

impl Totals {
    async fn write(&self, context: &OwnedContext, key: &[u8], total: u64) -> Result<(), WriteError> {
        let value = total.to_string();
        self.producers
            .write(context, vec![FutureRecord::to("totals").key(key).payload(value.as_bytes())])
            .await
    }
}

#[async_trait]
impl PartitionHandler for Totals {
    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }
}

#[async_trait]
impl RecordHandler for Totals {
    type State = u64;

    fn catch_up(&self, _: &TopicPartition, total: &mut u64, _: &Record) -> Result<(), HandlerError> {
        *total += 1;
        Ok(())
    }

    async fn process(
        &self,
        context: &OwnedContext,
        total: &mut u64,
        record: &Record,
    ) -> Result<(), HandlerError> {
        self.write(context, record.key().unwrap_or_default(), *total + 1).await?;
        *total += 1;
        Ok(())
    }
}
