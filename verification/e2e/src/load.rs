//! The records of the run: numbered and keyed.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use kafka_assigner_audit::Record;
use kafka_assigner_rig::producer::{Content, Load, Produced, Production};
use kafka_assigner_types::id::TopicPartition;

use crate::scale::Scale;

/// The topic.
pub(crate) const TOPIC: &str = "e2e";

/// Distinct keys in each partition: enough that a warm-up has something to rebuild, few enough to compare.
const KEYS: usize = 16;

/// The record of a round in a partition.
fn record(partitions: i32, round: usize, partition: i32) -> Record {
    let id = round as u64 * u64::from(partitions.unsigned_abs()) + u64::from(partition.unsigned_abs());
    Record { id, key: format!("key-{partition}-{}", round % KEYS) }
}

/// Starts to produce them.
pub(crate) fn start(kafka: &str, scale: &Scale) -> Result<Production> {
    let Scale { partitions, interval, .. } = *scale;
    let load = Load { topic: TOPIC.to_owned(), partitions, interval, linger: Duration::ZERO };
    Production::start(kafka, load, move |round, partition| {
        let Record { id, key } = record(partitions, round, partition);
        Content { key: Some(key), value: format!("{id} record") }
    })
}

/// Everything that was produced, in the order of the offsets.
pub(crate) fn by_slot(produced: &Produced, scale: &Scale) -> BTreeMap<TopicPartition, Vec<Record>> {
    let of_partition = |(partition, rounds): (i32, Vec<usize>)| {
        let records = rounds.into_iter().map(|round| record(scale.partitions, round, partition)).collect();
        (TopicPartition::from_kafka(TOPIC, partition).expect("the topic has it"), records)
    };
    produced.rounds().into_iter().map(of_partition).collect()
}
