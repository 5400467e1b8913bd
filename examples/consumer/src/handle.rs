//! All that this consumer does with records.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use kafka_assigner_client::kafka::{Message as _, Record, RecordHandler};
use kafka_assigner_client::{HandlerError, OwnedContext, PartitionHandler, TopicPartition};
use serde_json::json;

/// Counts records by key and writes down what it handled.
#[derive(Debug)]
pub(crate) struct Counting {
    log: File,
    process: String,
}

impl Counting {
    pub(crate) fn new(log: File) -> Self {
        Self { log, process: std::process::id().to_string() }
    }
}

#[async_trait]
impl PartitionHandler for Counting {
    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }
}

#[async_trait]
impl RecordHandler for Counting {
    /// How many records each key had.
    type State = BTreeMap<Vec<u8>, u64>;

    fn catch_up(
        &self,
        _: &TopicPartition,
        counts: &mut Self::State,
        record: &Record,
    ) -> Result<(), HandlerError> {
        *counts.entry(record.key().unwrap_or_default().to_vec()).or_default() += 1;
        Ok(())
    }

    async fn process(
        &self,
        owned: &OwnedContext,
        counts: &mut Self::State,
        record: &Record,
    ) -> Result<(), HandlerError> {
        self.catch_up(owned.partition(), counts, record)?;
        let payload = String::from_utf8_lossy(record.payload().unwrap_or_default());
        let line = json!({
            "at": u64::try_from(UNIX_EPOCH.elapsed()?.as_micros())?,
            "process": self.process,
            "topic": record.topic(),
            "partition": record.partition(),
            "epoch": owned.epoch(),
            "offset": record.offset(),
            // The payload's first word.
            "id": payload.split(' ').next().and_then(|word| word.parse::<u64>().ok()),
        });
        // One write for each line, so that lines of several partitions never mix.
        (&self.log).write_all(format!("{line}\n").as_bytes())?;
        Ok(())
    }
}
