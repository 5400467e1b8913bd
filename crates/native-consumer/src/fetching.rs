//! One fetch from one broker: the request, and the records of its answer.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::time::Duration;

use kafka_assigner_group_member::ReadPosition;
use kafka_assigner_kafka::messages::{FetchRequest, FetchResponse, FetchedPartition, FetchedTopic};
use kafka_assigner_kafka::records::{BatchDecoder, BatchError, Isolation, KafkaRecord, VisibleBatches};
use kafka_assigner_kafka::{
    BrokerAddress, BrokerLane, BrokerPool, Error, FetchPlace, FetchSession, FetchTarget,
};
use kafka_assigner_types::id::{Offset, TopicPartition};
use tokio::task::spawn_blocking;

use crate::PartitionBatch;
use crate::batch::payload_of;

/// The time beside the broker's own wait in which an answer has to begin.
const PATIENCE: Duration = Duration::from_secs(30);

/// The limits of a fetch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FetchLimits {
    pub(crate) wait: Duration,
    pub(crate) least_bytes: i32,
    pub(crate) most_bytes: i32,
    pub(crate) isolation: Isolation,
    pub(crate) decoding: DecodingLimits,
}

/// The bytes of keys and values after which no more of an answer is decoded: what is compressed may become a thousand times
/// as much. One batch comes whatever its size; what is left is fetched again. Answers that are not compressed are not
/// longer than was asked for, and nothing of them is left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecodingLimits {
    /// Of one partition.
    pub(crate) partition_bytes: usize,
    /// Of the whole answer.
    pub(crate) all_bytes: usize,
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

/// Fetches, and decodes the records on a thread for work that takes long: heartbeats don't wait for it. The session is told
/// of a failure.
pub(crate) async fn fetch(
    pool: &BrokerPool,
    broker: &BrokerAddress,
    session: &mut FetchSession,
    wanted: WantedPartitions,
    limits: FetchLimits,
) -> Result<Vec<FetchedPart>, FetchFailure> {
    let places = wanted.values().map(|(target, place, _)| (target.clone(), *place)).collect();
    let asked = pool.ask(
        broker,
        BrokerLane::Polls,
        |version| request(session, places, version, limits),
        limits.wait.saturating_add(PATIENCE),
    );
    match asked.await {
        Ok((answer, _)) if session.answered(&answer) => Ok(decoded(answer, wanted, limits).await),
        Ok((answer, _)) => Err(FetchFailure::Refused(answer.error_code)),
        Err(error) => {
            session.reset();
            Err(FetchFailure::NoAnswer(error))
        }
    }
}

/// The parts of an answer; a panic there is one of the caller's task.
async fn decoded(answer: FetchResponse, wanted: WantedPartitions, limits: FetchLimits) -> Vec<FetchedPart> {
    let decoding = spawn_blocking(move || parts(&answer, &wanted, limits.isolation, limits.decoding));
    decoding.await.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        // The runtime ends, and this task with it.
        Err(_) => Vec::new(),
    })
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

/// The parts of an answer. Partitions that were not asked for are left out, and so are those for which the answer has no
/// room left.
pub(crate) fn parts(
    answer: &FetchResponse,
    wanted: &WantedPartitions,
    isolation: Isolation,
    limits: DecodingLimits,
) -> Vec<FetchedPart> {
    let (asked, mut parts, mut bytes) = (AskedPartitions::new(wanted), Vec::new(), 0);
    for topic in &answer.responses {
        for partition in &topic.partitions {
            let Some((name, from)) = asked.find(topic, partition.partition_index) else { continue };
            if bytes >= limits.all_bytes && partition.error_code == 0 {
                continue;
            }
            let part = part(name, from, partition, isolation, limits.partition_bytes);
            let records = part.batch.iter().flat_map(|batch| &batch.records);
            bytes += records.map(payload_of).sum::<usize>();
            parts.push(part);
        }
    }
    parts
}

/// The partitions that were asked for, by either name of their topic and their number.
struct AskedPartitions<'a> {
    by_name: BTreeMap<(&'a str, i32), (&'a TopicPartition, ReadPosition)>,
    by_id: BTreeMap<([u8; 16], i32), (&'a TopicPartition, ReadPosition)>,
}

impl<'a> AskedPartitions<'a> {
    fn new(wanted: &'a WantedPartitions) -> Self {
        let (mut by_name, mut by_id) = (BTreeMap::new(), BTreeMap::new());
        for (name, (target, _, from)) in wanted {
            by_name.insert((target.topic.as_str(), target.partition), (name, *from));
            by_id.insert((target.topic_id.0, target.partition), (name, *from));
        }
        Self { by_name, by_id }
    }

    /// Newer versions name a topic by its id alone.
    fn find(&self, topic: &FetchedTopic, number: i32) -> Option<(&'a TopicPartition, ReadPosition)> {
        let found = if topic.topic.is_empty() {
            self.by_id.get(&(topic.topic_id.0, number))
        } else {
            self.by_name.get(&(topic.topic.as_str(), number))
        };
        found.copied()
    }
}

fn part(
    name: &TopicPartition,
    from: ReadPosition,
    answer: &FetchedPartition,
    isolation: Isolation,
    most_bytes: usize,
) -> FetchedPart {
    let error = answer.error_code;
    let nothing =
        FetchedPart { partition: name.clone(), from, error, next: None, batch: None, unreadable: None };
    if error != 0 {
        return nothing;
    }
    let mut read = DecodedRecords { records: Vec::new(), bytes: 0, next: from.offset };
    let unreadable =
        read.read(answer, from.offset, isolation, most_bytes).err().map(|error| error.to_string());
    let next = Some(read.next).filter(|next| *next > from.offset);
    let is_batch = !read.records.is_empty();
    let batch = is_batch.then(|| PartitionBatch::new(name.clone(), read.records, read.next));
    FetchedPart { next, batch, unreadable, ..nothing }
}

/// Records that were decoded, and the offset after everything that was looked at.
struct DecodedRecords {
    records: Vec<KafkaRecord>,
    /// The bytes of their keys and values.
    bytes: usize,
    next: Offset,
}

impl DecodedRecords {
    /// Reads the batches up to the first that can't be, or until there are `most_bytes`. The first one may begin before
    /// `from`.
    fn read(
        &mut self,
        answer: &FetchedPartition,
        from: Offset,
        isolation: Isolation,
        most_bytes: usize,
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
            self.bytes += self.records[before..].iter().map(payload_of).sum::<usize>();
            self.next = self.next.max(Offset::new(batch.header.next_offset()).unwrap_or_default());
            if self.bytes >= most_bytes {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "fetching_test.rs"]
mod fetching_test;
