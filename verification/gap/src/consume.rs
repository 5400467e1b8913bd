//! A consumer of this project: reads with the client library's runner and writes down what it handled.

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_client::kafka::{
    KafkaOptions, KafkaRunner, OpenedState, PartitionContext, Preparation, Record, RecordError,
    RecordHandler, StateSnapshot,
};
use kafka_assigner_client::{Consumer, ConsumerOptions, OnStop, TopicPartition, stop};

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

impl RecordHandler for Handler {
    type State = ();

    /// The rebuild stands for whatever a state needs: no record is read for it.
    async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<()>, RecordError> {
        tokio::time::sleep(self.rebuild).await;
        Ok(OpenedState::without_history(()))
    }

    async fn catch_up(&self, _: &TopicPartition, (): &mut (), _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn process(&self, _: &PartitionContext, (): &mut (), record: &Record) -> Result<(), RecordError> {
        Ok(self.history.handled(record.at().kafka_number(), record.offset().get())?)
    }
}
