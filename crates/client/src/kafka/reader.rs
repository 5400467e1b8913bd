//! Reads one partition in order, with one record of looking ahead.

use futures::FutureExt as _;
use rdkafka::consumer::stream_consumer::StreamPartitionQueue;
use rdkafka::error::KafkaError;
use rdkafka::message::Message as _;
use rdkafka::util::DefaultRuntime;
use tracing::warn;

use super::Record;
use super::client::Events;
use crate::partition::TopicPartition;

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    /// A record with this offset.
    Record(i64),
    /// Nothing just now: everything up to the end of the partition was read.
    End,
}

/// The reader of one partition.
pub(super) struct Reader {
    queue: StreamPartitionQueue<Events, DefaultRuntime>,
    partition: TopicPartition,
    next: i64,
    held: Option<Record>,
    at_end: bool,
}

impl Reader {
    pub(super) const fn new(
        queue: StreamPartitionQueue<Events, DefaultRuntime>,
        partition: TopicPartition,
        next: i64,
    ) -> Self {
        Self { queue, partition, next, held: None, at_end: false }
    }

    /// The offset after the last record that was taken.
    pub(super) const fn next(&self) -> i64 {
        self.next
    }

    /// Waits until there is a record or the end was reached.
    ///
    /// Cancel safe.
    pub(super) async fn ahead(&mut self) -> Ahead {
        loop {
            if let Some(ahead) = self.ahead_now() {
                return ahead;
            }
            let received = self.queue.recv().await.map(|record| record.detach());
            self.received(received);
        }
    }

    /// Waits until there is a record.
    ///
    /// Cancel safe.
    pub(super) async fn record(&mut self) -> i64 {
        loop {
            match self.ahead_now() {
                Some(Ahead::Record(offset)) => return offset,
                Some(Ahead::End) | None => {
                    let received = self.queue.recv().await.map(|record| record.detach());
                    self.received(received);
                }
            }
        }
    }

    /// What is known without waiting.
    pub(super) fn ahead_now(&mut self) -> Option<Ahead> {
        while self.held.is_none() {
            let Some(received) = self.queue.recv().now_or_never() else { break };
            let received = received.map(|record| record.detach());
            self.received(received);
        }
        match &self.held {
            Some(record) => Some(Ahead::Record(record.offset())),
            None => self.at_end.then_some(Ahead::End),
        }
    }

    /// Takes the record that is ahead; `None` where none was waited for.
    pub(super) fn take(&mut self) -> Option<Record> {
        let record = self.held.take()?;
        self.next = record.offset() + 1;
        Some(record)
    }

    /// Undoes [`take`](Self::take).
    pub(super) fn put_back(&mut self, record: Record) {
        self.next = record.offset();
        self.held = Some(record);
    }

    fn received(&mut self, received: Result<Record, KafkaError>) {
        match received {
            Ok(record) => {
                self.at_end = false;
                self.held = Some(record);
            }
            Err(KafkaError::PartitionEOF(_)) => self.at_end = true,
            // librdkafka goes on by itself.
            Err(error) => warn!(partition = %self.partition, %error, "reading failed"),
        }
    }
}
