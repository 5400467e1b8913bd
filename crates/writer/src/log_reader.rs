//! Reads the log of the writers for an audit, in another way than writers read it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kafka_assigner_audit::requests::Written;
use kafka_assigner_types::id::{Epoch, Offset};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{ClientConfig, Message as _, TopicPartitionList};

use crate::entry::{Entry, EntryKind};

/// A broker that runs gives all of it within seconds.
const BOUND: Duration = Duration::from_secs(60);

/// The longest wait of one poll.
const LOOK: Duration = Duration::from_millis(200);

/// The additions in the log that count, by partition, in their order. Blocks.
///
/// An entry behind one with a higher epoch counts for nobody; that is told here in another way than writers tell it.
///
/// # Errors
///
/// Those of Kafka, an entry that makes no sense, and a log that does not come within a minute.
pub fn read(brokers: &str, topic: &str, partitions: i32) -> Result<BTreeMap<i32, Vec<Written>>> {
    let mut log: BTreeMap<i32, Vec<(Offset, Entry)>> = BTreeMap::new();
    let consumer = consumer(brokers, topic, partitions)?;
    let (mut open, deadline) = ((0..partitions).collect::<BTreeSet<i32>>(), Instant::now() + BOUND);
    while !open.is_empty() {
        match consumer.poll(LOOK) {
            Some(Ok(record)) => {
                let entry = serde_json::from_slice(record.payload().unwrap_or_default());
                let entry = entry.with_context(|| format!("offset {} makes no sense", record.offset()))?;
                log.entry(record.partition()).or_default().push((Offset::new(record.offset())?, entry));
            }
            Some(Err(KafkaError::PartitionEOF(partition))) => drop(open.remove(&partition)),
            Some(Err(error)) => return Err(error.into()),
            None if Instant::now() > deadline => bail!("the log was not read within {} s", BOUND.as_secs()),
            None => {}
        }
    }
    Ok(log.into_iter().map(|(partition, entries)| (partition, counting(entries))).collect())
}

fn consumer(brokers: &str, topic: &str, partitions: i32) -> Result<BaseConsumer> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers).set("group.id", "log-reader");
    config.set("enable.auto.commit", "false").set("enable.partition.eof", "true");
    let consumer: BaseConsumer = config.create()?;
    let mut all = TopicPartitionList::new();
    for partition in 0..partitions {
        all.add_partition_offset(topic, partition, rdkafka::Offset::Beginning)?;
    }
    consumer.assign(&all)?;
    Ok(consumer)
}

fn counting(entries: Vec<(Offset, Entry)>) -> Vec<Written> {
    let mut highest = Epoch::default();
    let mut written = Vec::new();
    for (offset, Entry { epoch, what }) in entries {
        let is_late = epoch < highest;
        highest = highest.max(epoch);
        if let (EntryKind::Added(addition), false) = (what, is_late) {
            let (caller, number, key) = (addition.caller, addition.number, addition.key);
            written.push(Written { offset, epoch, caller, number, key, amount: addition.amount });
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Addition;

    #[test]
    fn what_an_older_epoch_wrote_behind_a_newer_one_does_not_count() {
        let added = |epoch, number| {
            let addition = Addition { caller: "c".to_owned(), number, key: "k".to_owned(), amount: 1 };
            Entry { epoch: Epoch(epoch), what: EntryKind::Added(addition) }
        };
        let opened = Entry { epoch: Epoch(5), what: EntryKind::Opened };
        let entries = [added(1, 1), opened, added(1, 2), added(5, 3)];
        let entries = (0..).map(|number| Offset::new(number).unwrap()).zip(entries).collect();
        let numbers: Vec<u64> = counting(entries).iter().map(|written| written.number).collect();
        assert_eq!(numbers, [1, 3]);
    }
}
