//! Reads one partition in order, a few records ahead.

use std::sync::Arc;

use kafka_assigner_handler::Record;
use kafka_assigner_types::id::{Offset, TopicPartition};
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::util::current_time_millis;
use tokio::sync::Notify;
use tracing::{error, warn};

use super::cursor::{Ahead, Cursor, ReadFailure};
use super::events::KafkaEvents;
use super::taken_records::{LendingQueue, TakingEnd, take_records};

/// A partition whose last record is not older than this is in use: its next one is worth waiting for.
const IN_USE_MS: i64 = 500;

/// The reader of one partition.
pub(super) struct PartitionReader {
    queue: Arc<LendingQueue>,
    /// Told when the queue is not empty any more.
    filled: Arc<Notify>,
    cursor: Cursor,
}

impl PartitionReader {
    pub(super) fn new(
        mut queue: PartitionQueue<KafkaEvents>,
        partition: &TopicPartition,
        next: Offset,
    ) -> Self {
        let filled = Arc::new(Notify::new());
        let told = filled.clone();
        queue.set_nonempty_callback(move || told.notify_one());
        // What came before the callback was set.
        filled.notify_one();
        let queue = Arc::new(LendingQueue::new(queue, partition.clone()));
        Self { queue, filled, cursor: Cursor::at(next) }
    }

    /// The offset after the last record that was taken.
    #[inline]
    pub(super) const fn next(&self) -> Offset {
        self.cursor.next()
    }

    /// The reason for which nothing behind [`next`](Self::next) can be read, in this preparation or another one.
    pub(super) fn damage(&self) -> Option<ReadFailure> {
        self.cursor.failure().filter(|failure| matches!(failure, ReadFailure::Damaged(_)))
    }

    /// True if a record was written a moment ago, by the clock of whoever wrote it.
    pub(super) fn is_in_use(&self) -> bool {
        self.cursor.written_ms().is_some_and(|written| is_recent(written, current_time_millis()))
    }

    /// Waits until there is a record or the end was reached.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// [`ReadFailure`].
    pub(super) async fn ahead(&mut self) -> Result<Ahead, ReadFailure> {
        loop {
            if let Some(ahead) = self.ahead_now()? {
                return Ok(ahead);
            }
            self.filled.notified().await;
        }
    }

    /// Waits until there is a record.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// [`ReadFailure`].
    pub(super) async fn record(&mut self) -> Result<(), ReadFailure> {
        while !matches!(self.ahead_now()?, Some(Ahead::Record(_))) {
            self.filled.notified().await;
        }
        Ok(())
    }

    /// The next item, if it is known without waiting.
    ///
    /// # Errors
    ///
    /// [`ReadFailure`].
    #[inline]
    pub(super) fn ahead_now(&mut self) -> Result<Option<Ahead>, ReadFailure> {
        while self.cursor.needs_more() && self.receive_now() {}
        self.cursor.ahead()
    }

    /// Takes the record that is ahead; `None` where none was waited for.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Record> {
        self.cursor.take()
    }

    /// Takes the records that are ahead and were received already, up to `most`.
    pub(super) fn take_some(&mut self, most: usize, into: &mut Vec<Record>) {
        self.cursor.take_some(most, into);
    }

    /// Undoes [`take`](Self::take).
    pub(super) fn put_back(&mut self, record: Record) {
        self.cursor.put_back(record);
    }

    /// Copies what was received and is to wait for long.
    pub(super) fn keep(&mut self) {
        self.cursor.keep();
    }

    /// Takes in what comes next, if it is there; false = nothing is.
    fn receive_now(&mut self) -> bool {
        let (records, end) = take_records(&self.queue);
        let mut has_come = !matches!(end, TakingEnd::Nothing);
        for record in records {
            self.cursor.received(record);
            has_come = true;
        }
        match end {
            TakingEnd::Other(KafkaError::PartitionEOF(_)) => self.cursor.reached_end(),
            TakingEnd::Other(error) => self.failed(&error),
            TakingEnd::Enough | TakingEnd::Nothing => {}
        }
        has_come
    }

    fn failed(&mut self, error: &KafkaError) {
        let (partition, next) = (self.queue.at(), self.cursor.next());
        match error.rdkafka_error_code().and_then(failure_of) {
            Some(failure) => {
                error!(%partition, %next, %error, "reading ends");
                self.cursor.fail(failure);
            }
            // librdkafka goes on by itself.
            None => warn!(%partition, %error, "reading failed"),
        }
    }
}

/// True if a record of the time `written` was written a moment before `now`. A time in the future says nothing: it may be
/// that of the event of which the record tells.
fn is_recent(written: i64, now: i64) -> bool {
    (-IN_USE_MS..=IN_USE_MS).contains(&now.saturating_sub(written))
}

/// The failure that a code means for a reader; `None` = librdkafka recovers from it.
const fn failure_of(code: RDKafkaErrorCode) -> Option<ReadFailure> {
    match code {
        RDKafkaErrorCode::AutoOffsetReset
        | RDKafkaErrorCode::LogTruncation
        | RDKafkaErrorCode::OffsetOutOfRange => Some(ReadFailure::OutOfRange),
        RDKafkaErrorCode::BadMessage
        | RDKafkaErrorCode::BadCompression
        | RDKafkaErrorCode::InvalidMessage
        | RDKafkaErrorCode::NotImplemented
        | RDKafkaErrorCode::UnsupportedFeature => Some(ReadFailure::Damaged(code)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_an_old_record_nor_one_of_the_future_is_recent() {
        let now = 1_700_000_000_000;
        assert!([now, now - 500, now + 500].iter().all(|written| is_recent(*written, now)));
        assert!(
            ![now - 501, now + 501, 0, i64::MAX, i64::MIN].iter().any(|written| is_recent(*written, now))
        );
    }
}

#[cfg(test)]
#[path = "reader/reader_test.rs"]
mod reader_test;
