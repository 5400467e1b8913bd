//! `docs/guide/client.md`: a handler that says what may be committed.

use std::error::Error;

use kafka_assigner_client::kafka::CommitRule;
use kafka_assigner_client::prelude::*;

/// Gathers records, and writes a thousand of them at once.
#[derive(Debug)]
pub struct Lines;

impl Lines {
    async fn append(&self, gathered: &[Record]) -> std::io::Result<()> {
        println!("{} lines", gathered.len());
        Ok(())
    }

    async fn write(&self, context: &PartitionContext, gathered: &mut Vec<Record>) -> Result<(), RecordError> {
        let Some(last) = gathered.last() else { return Ok(()) };
        self.append(gathered).await?;
        context.confirm(last.offset().next());
        gathered.clear();
        Ok(())
    }
}

impl RecordHandler for Lines {
    type State = Vec<Record>;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Vec<Record>>, RecordError> {
        Ok(OpenedState::without_history(Vec::new()))
    }

    async fn catch_up(&self, _: &TopicPartition, _: &mut Vec<Record>, _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        gathered: &mut Vec<Record>,
        record: &Record,
    ) -> Result<(), RecordError> {
        gathered.push(record.clone());
        if gathered.len() >= 1_000 {
            self.write(context, gathered).await?;
        }
        Ok(())
    }

    async fn drained(
        &self,
        context: &PartitionContext,
        gathered: &mut Vec<Record>,
    ) -> Result<(), RecordError> {
        self.write(context, gathered).await
    }
}

/// A runner that commits what the handler confirms.
///
/// # Errors
///
/// A setting is refused.
pub fn runner(kafka: &KafkaOptions) -> Result<KafkaRunner<Lines>, Box<dyn Error>> {
    Ok(KafkaRunner::new(kafka, Lines)?.with_commits(CommitRule::Confirmed))
}
