//! A consumer of this project: reads with the client library's runner and writes down what it handled.

use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use kafka_assigner_client::kafka::{
    KafkaOptions, KafkaRunner, Message as _, Record, RecordHandler, Restored,
};
use kafka_assigner_client::{
    Consumer, ConsumerOptions, HandlerError, OnStop, OwnedContext, PartitionHandler, TopicPartition,
    WarmContext, stop,
};

use crate::arguments::Consume;
use crate::history::Writer;

/// Runs until SIGTERM.
pub(crate) async fn run(arguments: Consume) -> Result<()> {
    let shutdown = stop::on_signal()?;
    let history = Writer::create(&arguments.history)?;
    let handler = Handler { rebuild: Duration::from_millis(arguments.rebuild_ms), history };
    let kafka = KafkaOptions::new(&arguments.kafka, &arguments.group);
    let consumer = Consumer::new(ConsumerOptions {
        group: arguments.group,
        topics: vec![arguments.topic],
        generation: arguments.generation,
        on_stop: if arguments.restart { OnStop::Restart } else { OnStop::Drain },
        ..ConsumerOptions::new(arguments.name, [arguments.endpoint])
    })?;
    handler.history.joining()?;
    consumer.run(KafkaRunner::new(&kafka, handler)?, shutdown).await?;
    Ok(())
}

struct Handler {
    history: Writer,
    rebuild: Duration,
}

#[async_trait]
impl PartitionHandler for Handler {
    async fn warm(&self, _: &WarmContext) -> Result<(), HandlerError> {
        tokio::time::sleep(self.rebuild).await;
        Ok(())
    }

    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }
}

#[async_trait]
impl RecordHandler for Handler {
    type State = ();

    /// The rebuild stands for whatever a state needs: no record is read for it.
    async fn restore(&self, _: &TopicPartition) -> Result<Restored<()>, HandlerError> {
        Ok(Restored { state: (), next_offset: None, topic_id: None })
    }

    fn catch_up(&self, _: &TopicPartition, (): &mut (), _: &Record) -> Result<(), HandlerError> {
        Ok(())
    }

    async fn process(&self, _: &OwnedContext, (): &mut (), record: &Record) -> Result<(), HandlerError> {
        Ok(self.history.handled(record.partition(), record.offset())?)
    }
}
