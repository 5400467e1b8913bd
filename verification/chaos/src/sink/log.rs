//! The log of the writers as a sink: an entry takes effect, or comes too late, by its place among the epochs.

use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_writer::Entry;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::{ClientConfig, Message as _, Offset, TopicPartitionList};
use tokio_util::sync::CancellationToken;

use super::Write;
use super::server::Book;
use crate::load::{PARTITIONS, TOPIC};

/// The time that one look for an entry takes.
const LOOK: Duration = Duration::from_millis(100);

/// Judges every entry of the log, as they come, until it is told to stop.
pub(super) fn follow(brokers: &str, book: Book, stop: CancellationToken) -> Result<()> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers).set("group.id", "chaos-sink").set("fetch.wait.max.ms", "20");
    let consumer: BaseConsumer = config.set("enable.auto.commit", "false").create()?;
    let mut all = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        all.add_partition_offset(TOPIC, partition, Offset::Beginning)?;
    }
    consumer.assign(&all)?;
    thread::Builder::new().name("log".to_owned()).spawn(move || {
        while !stop.is_cancelled() {
            // librdkafka goes on by itself after an error.
            if let Some(Ok(record)) = consumer.poll(LOOK) {
                judge(&book, record.partition(), record.offset(), record.payload().unwrap_or_default());
            }
        }
    })?;
    Ok(())
}

fn judge(book: &Book, partition: i32, offset: i64, payload: &[u8]) {
    // A payload that is no entry is found when the log is read at the end.
    if let Ok(Entry { epoch, .. }) = serde_json::from_slice(payload).context("no entry") {
        book.judge(Write { partition, epoch: epoch.0, offset, process: String::new() });
    }
}
