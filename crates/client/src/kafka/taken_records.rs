//! Records that were taken from librdkafka, several at a time, and are lent to handlers as librdkafka has them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kafka_assigner_handler::{LentRecords, Offset, Record, RecordHeader, RecordTime, TopicPartition};
use rdkafka::Timestamp;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers as _, Message as _};
use self_cell::self_cell;

use super::events::KafkaEvents;

/// So many records are taken at once: enough to share what that costs by itself, and few enough to stay in a processor's
/// caches, since librdkafka has half a kilobyte beside each record.
const MOST_TAKEN: usize = 48;

/// Once keys and values have so many bytes, no more records are taken. librdkafka fetches others in place of them, for each of
/// a thousand partitions.
const MOST_BYTES: usize = 16 * 1024;

/// In place of a header whose name is no UTF-8.
const UNREADABLE: RecordHeader<'static> = RecordHeader { name: "\u{fffd}", value: None };

/// The queue of a partition, out of which its records are lent.
pub(super) struct LendingQueue {
    queue: PartitionQueue<KafkaEvents>,
    at: TopicPartition,
}

impl LendingQueue {
    pub(super) const fn new(queue: PartitionQueue<KafkaEvents>, at: TopicPartition) -> Self {
        Self { queue, at }
    }

    pub(super) const fn at(&self) -> &TopicPartition {
        &self.at
    }
}

/// The reason for which no more records were taken.
pub(super) enum TakingEnd {
    /// So many are enough.
    Enough,
    /// There are none just now.
    Nothing,
    /// The next item is no record: the end of the partition, or an error.
    Other(KafkaError),
}

self_cell!(
    /// Records that were taken in one go, with the queue that it is lent out of.
    struct Taken {
        owner: Arc<LendingQueue>,

        #[covariant]
        dependent: TakenMessages,
    }
);

struct TakenMessages<'a> {
    messages: Vec<BorrowedMessage<'a>>,
    /// Held while headers are asked for: librdkafka reads those of a message when they are asked for first, which no two
    /// threads may do at once.
    asking: Mutex<()>,
}

/// Takes records that are there, and tells why no more of them.
pub(super) fn take_records(queue: &Arc<LendingQueue>) -> (impl Iterator<Item = Record> + use<>, TakingEnd) {
    let mut end = TakingEnd::Enough;
    let taken = Arc::new(Taken::new(queue.clone(), |queue| {
        let mut messages = Vec::with_capacity(MOST_TAKEN);
        end = fill(&mut messages, &queue.queue);
        TakenMessages { messages, asking: Mutex::default() }
    }));
    let count = taken.borrow_dependent().messages.len();
    ((0..count).map(move |place| record_at(&taken, place)), end)
}

fn fill<'a>(messages: &mut Vec<BorrowedMessage<'a>>, queue: &'a PartitionQueue<KafkaEvents>) -> TakingEnd {
    let mut bytes = 0;
    while messages.len() < MOST_TAKEN && bytes < MOST_BYTES {
        match queue.poll(Duration::ZERO) {
            Some(Ok(message)) => {
                bytes += message.key_len() + message.payload_len();
                messages.push(message);
            }
            Some(Err(other)) => return TakingEnd::Other(other),
            None => return TakingEnd::Nothing,
        }
    }
    TakingEnd::Enough
}

/// # Panics
///
/// The offset is negative: no log has such a record, and librdkafka delivers records of logs.
fn record_at(taken: &Arc<Taken>, place: usize) -> Record {
    let message = &taken.borrow_dependent().messages[place];
    let offset = Offset::new(message.offset()).expect("a record of a log has an offset from 0");
    Record::lent(taken.clone(), place, offset)
}

impl LentRecords for Taken {
    fn at(&self) -> &TopicPartition {
        self.borrow_owner().at()
    }

    fn time(&self, place: usize) -> RecordTime {
        let message = self.borrow_dependent().messages.get(place);
        message.map_or(RecordTime::None, |message| time_of(message.timestamp()))
    }

    fn key(&self, place: usize) -> Option<&[u8]> {
        self.borrow_dependent().messages.get(place)?.key()
    }

    fn value(&self, place: usize) -> Option<&[u8]> {
        self.borrow_dependent().messages.get(place)?.payload()
    }

    fn header(&self, place: usize, number: usize) -> Option<RecordHeader<'_>> {
        let TakenMessages { messages, asking } = self.borrow_dependent();
        let _one_at_a_time = asking.lock().unwrap_or_else(PoisonError::into_inner);
        let headers = messages.get(place)?.headers()?;
        // rdkafka panics at a name that is no UTF-8, which any producer may write.
        let read = catch_unwind(AssertUnwindSafe(|| headers.try_get(number)));
        match read {
            Ok(header) => header.map(|header| RecordHeader { name: header.key, value: header.value }),
            Err(_) => Some(UNREADABLE),
        }
    }
}

const fn time_of(timestamp: Timestamp) -> RecordTime {
    match timestamp {
        Timestamp::NotAvailable => RecordTime::None,
        Timestamp::CreateTime(millis) => RecordTime::Created(millis),
        Timestamp::LogAppendTime(millis) => RecordTime::Appended(millis),
    }
}
