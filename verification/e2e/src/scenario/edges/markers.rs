//! A log that ends with the markers of transactions, which are no records.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use tokio::task::block_in_place;

use super::report::{EdgeCase, MARKERS};
use super::stage::{Ground, Stage};

/// Partitions of the topic.
const PARTITIONS: u32 = 2;

/// Transactions of each lot, every third of which is aborted: that of the last one of so many is a marker of an abort, and
/// of one more that of a commit.
const TRANSACTIONS: u64 = 20;

/// Records of each transaction in each partition.
const RECORDS: u64 = 5;

/// A transaction takes milliseconds.
const BOUND: Duration = Duration::from_secs(30);

/// Partitions move while their logs end with a marker, of a commit or of an abort.
pub(super) async fn play(ground: Ground<'_>) -> Result<EdgeCase> {
    let mut stage = ground.stage(MARKERS, PARTITIONS, &[]).await?;
    let mut writer = block_in_place(|| TransactionWriter::new(stage.kafka(), &stage.name))?;
    let mut workers = stage.workers();
    let mut ends = 0;
    for number in 1..=3 {
        let log = writer.write_lot(TRANSACTIONS + number as u64 % 2).await?;
        stage.truth.add(log);
        ends += block_in_place(|| marked_ends(&stage))?;
        workers.join(&stage.worker(number))?;
        stage.accounts_for_all().await?;
        if number > 1 {
            stage.settles(2).await?;
            workers.leave(&stage.worker(number - 1)).await?;
        }
        stage.settles(1).await?;
    }
    workers.end().await?;
    Ok(stage.judge(&BTreeSet::new())?.concluded(ends))
}

/// The number of partitions whose last offset before the end is no record.
fn marked_ends(stage: &Stage<'_>) -> Result<usize> {
    let consumer: BaseConsumer = ClientConfig::new().set("bootstrap.servers", stage.kafka()).create()?;
    let mut marked = 0;
    for partition in 0..PARTITIONS.cast_signed() {
        let (_, end) = consumer.fetch_watermarks(&stage.name, partition, BOUND)?;
        marked += usize::from(end > stage.truth.end());
    }
    Ok(marked)
}

/// Writes transactions.
struct TransactionWriter {
    producer: FutureProducer,
    topic: String,
    /// The id of the next record.
    next: u64,
}

impl TransactionWriter {
    fn new(kafka: &str, topic: &str) -> Result<Self> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", kafka).set("transactional.id", topic).set("linger.ms", "0");
        let producer: FutureProducer = config.create()?;
        producer.init_transactions(BOUND)?;
        Ok(Self { producer, topic: topic.to_owned(), next: 0 })
    }

    /// Writes so many transactions; returns what was committed, by partition and offset.
    async fn write_lot(&mut self, transactions: u64) -> Result<BTreeMap<u32, BTreeMap<i64, u64>>> {
        let mut log = BTreeMap::<u32, BTreeMap<i64, u64>>::new();
        for number in 0..transactions {
            self.producer.begin_transaction()?;
            let written = self.write_all().await?;
            if number % 3 == 1 {
                block_in_place(|| self.producer.abort_transaction(BOUND))?;
                continue;
            }
            block_in_place(|| self.producer.commit_transaction(BOUND))?;
            for (partition, offset, id) in written {
                log.entry(partition).or_default().insert(offset, id);
            }
        }
        Ok(log)
    }

    /// The records of one transaction: partition, offset and id.
    async fn write_all(&mut self) -> Result<Vec<(u32, i64, u64)>> {
        let mut written = Vec::new();
        for partition in 0..PARTITIONS {
            for _ in 0..RECORDS {
                let offset = self.write(partition).await?;
                written.push((partition, offset, self.next));
                self.next += 1;
            }
        }
        Ok(written)
    }

    async fn write(&self, partition: u32) -> Result<i64, KafkaError> {
        let payload = self.next.to_string();
        let record =
            FutureRecord::<(), _>::to(&self.topic).partition(partition.cast_signed()).payload(&payload);
        let delivery = self.producer.send(record, BOUND).await.map_err(|(error, _)| error)?;
        Ok(delivery.offset)
    }
}
