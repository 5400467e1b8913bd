//! One fetch from one broker: the request, and the records of its answer.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_group_member::ReadPosition;
use kafka_assigner_kafka::messages::{FetchRequest, FetchResponse, FetchedPartition};
use kafka_assigner_kafka::records::{BatchDecoder, BatchError, Isolation, VisibleBatches};
use kafka_assigner_kafka::{
    BrokerAddress, BrokerLane, BrokerPool, Error, FetchPlace, FetchSession, FetchTarget,
};
use kafka_assigner_types::id::{Offset, TopicPartition};

use crate::PartitionBatch;

/// The time beside the broker's own wait in which an answer has to begin.
const PATIENCE: Duration = Duration::from_secs(30);

/// The limits of a fetch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FetchLimits {
    pub(crate) wait: Duration,
    pub(crate) least_bytes: i32,
    pub(crate) most_bytes: i32,
    pub(crate) isolation: Isolation,
}

/// A partition that is fetched: its target, its place, and the position that it is read from.
pub(crate) type WantedPartitions = BTreeMap<TopicPartition, (FetchTarget, FetchPlace, ReadPosition)>;

/// The answer to a fetch for one partition.
#[derive(Debug)]
pub(crate) struct FetchedPart {
    pub(crate) partition: TopicPartition,
    /// The position that was read from.
    pub(crate) from: ReadPosition,
    /// Kafka's number of the error; 0: none.
    pub(crate) error: i16,
    /// The position after everything that came; `None`: nothing came.
    pub(crate) next: Option<Offset>,
    /// The records; `None` where there are none for the application.
    pub(crate) batch: Option<PartitionBatch>,
    /// The reason for which records could not be decoded; those before them are in the batch.
    pub(crate) unreadable: Option<String>,
}

/// A fetch without an answer for any partition.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchFailure {
    #[error("a fetch has no answer")]
    NoAnswer(#[source] Error),
    /// The broker refuses it as a whole; 0: it answers in another session.
    #[error("a fetch is refused as a whole, with error {0}")]
    Refused(i16),
}

/// Fetches, and decodes the records. The session is told of a failure.
pub(crate) async fn fetch(
    pool: &BrokerPool,
    broker: &BrokerAddress,
    session: &mut FetchSession,
    wanted: &WantedPartitions,
    limits: FetchLimits,
) -> Result<Vec<FetchedPart>, FetchFailure> {
    let places = wanted.values().map(|(target, place, _)| (target.clone(), *place)).collect();
    let asked = pool.ask(
        broker,
        BrokerLane::Polls,
        |version| request(session, places, version, limits),
        limits.wait + PATIENCE,
    );
    match asked.await {
        Ok((answer, _)) if session.answered(&answer) => Ok(parts(&answer, wanted, limits.isolation)),
        Ok((answer, _)) => Err(FetchFailure::Refused(answer.error_code)),
        Err(error) => {
            session.reset();
            Err(FetchFailure::NoAnswer(error))
        }
    }
}

fn request(
    session: &mut FetchSession,
    places: BTreeMap<FetchTarget, FetchPlace>,
    version: i16,
    limits: FetchLimits,
) -> FetchRequest {
    FetchRequest {
        max_wait_ms: i32::try_from(limits.wait.as_millis()).unwrap_or(i32::MAX),
        min_bytes: limits.least_bytes,
        max_bytes: limits.most_bytes,
        isolation_level: limits.isolation.number(),
        ..session.request(places, version)
    }
}

/// The parts of an answer. Partitions that were not asked for are left out.
pub(crate) fn parts(
    answer: &FetchResponse,
    wanted: &WantedPartitions,
    isolation: Isolation,
) -> Vec<FetchedPart> {
    let mut parts = Vec::new();
    for topic in &answer.responses {
        for partition in &topic.partitions {
            let is_meant = |(target, ..): &&(FetchTarget, FetchPlace, ReadPosition)| {
                target.partition == partition.partition_index
                    && (target.topic == topic.topic
                        || (topic.topic.is_empty() && target.topic_id == topic.topic_id))
            };
            let found = wanted.iter().find(|(_, wanted)| is_meant(wanted));
            parts.extend(found.map(|(name, (_, _, from))| part(name, *from, partition, isolation)));
        }
    }
    parts
}

fn part(
    name: &TopicPartition,
    from: ReadPosition,
    answer: &FetchedPartition,
    isolation: Isolation,
) -> FetchedPart {
    let error = answer.error_code;
    let nothing =
        FetchedPart { partition: name.clone(), from, error, next: None, batch: None, unreadable: None };
    if error != 0 {
        return nothing;
    }
    let mut read = DecodedRecords { records: Vec::new(), next: from.offset };
    let unreadable = read.read(answer, from.offset, isolation).err().map(|error| error.to_string());
    let next = Some(read.next).filter(|next| *next > from.offset);
    let is_batch = !read.records.is_empty();
    let batch = is_batch.then(|| PartitionBatch::new(name.clone(), read.records, read.next));
    FetchedPart { next, batch, unreadable, ..nothing }
}

/// Records that were decoded, and the offset after everything that was looked at.
struct DecodedRecords {
    records: Vec<kafka_assigner_kafka::records::KafkaRecord>,
    next: Offset,
}

impl DecodedRecords {
    /// Reads the batches up to the first that can't be. The first one may begin before `from`.
    fn read(
        &mut self,
        answer: &FetchedPartition,
        from: Offset,
        isolation: Isolation,
    ) -> Result<(), BatchError> {
        for batch in VisibleBatches::new(answer, isolation, BatchDecoder::default()) {
            let batch = batch?;
            let before = self.records.len();
            for record in batch.records() {
                let record = record.inspect_err(|_| self.records.truncate(before))?;
                if record.offset >= from.get() {
                    self.records.push(record);
                }
            }
            self.next = self.next.max(Offset::new(batch.header.next_offset()).unwrap_or_default());
        }
        Ok(())
    }
}
