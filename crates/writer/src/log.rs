//! The log: one topic of Kafka.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, TryFutureExt as _};
use kafka_assigner_client::kafka::KafkaOptions;
use kafka_assigner_types::id::{Offset, TopicPartition};
use rdkafka::consumer::stream_consumer::StreamPartitionQueue;
use rdkafka::consumer::{Consumer as _, ConsumerContext, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::BorrowedMessage;
use rdkafka::metadata::Metadata;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::util::DefaultRuntime;
use rdkafka::{ClientConfig, ClientContext, Message as _, TopicPartitionList};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::entry::{Entry, EntryKind};

/// The settings for writing entries: in order, each once, and acknowledged when every replica in sync has it. One that
/// is not acknowledged in time has an unknown outcome, and the writer that waited for it reads its log again.
const WRITING: [(&str, &str); 4] = [
    ("acks", "all"),
    ("enable.idempotence", "true"),
    ("linger.ms", "0"),
    // A drain waits for it, so it is shorter than a phase of a handoff (30 s).
    ("message.timeout.ms", "10000"),
];

/// The group that reading names, since librdkafka wants one: nothing is committed under it, and nobody subscribes.
const GROUP: &str = "single-writer";

/// The wait of a start for brokers.
const CONNECTING: Duration = Duration::from_secs(5);

/// The reason why the log can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Kafka refused, or could not be reached in time.
    #[error("the log can't be used")]
    Kafka(#[from] KafkaError),
    /// An entry of a newer program, or something else. Going on without it could lose an acknowledged addition.
    #[error("entry at offset {offset} of {at} can't be read")]
    Entry {
        /// The partition.
        at: TopicPartition,
        /// The offset.
        offset: Offset,
        /// The error of reading it.
        #[source]
        source: serde_json::Error,
    },
    /// It was given up before the answer came: nobody knows whether it is in the log.
    #[error("nobody waited for the answer")]
    Abandoned,
}

/// Hears what librdkafka tells of itself: errors of brokers, from which it recovers, and every end of a partition.
#[derive(Debug)]
struct Quiet;

impl ClientContext for Quiet {
    fn error(&self, error: KafkaError, reason: &str) {
        tracing::trace!(%error, reason, "kafka");
    }
}

impl ConsumerContext for Quiet {}

/// Writes entries and reads them; cheap to clone.
#[derive(Clone)]
pub struct Log {
    producer: FutureProducer,
    consumer: Arc<StreamConsumer<Quiet>>,
    _serving: Arc<DropGuard>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl Log {
    /// The log that is `topic` on `brokers`, as "host:port,host:port", once they have said who leads its partitions, or
    /// have had five seconds to do so: if they are away, they are tried all the time. Must be called within a
    /// runtime.
    ///
    /// Cancel safe; the questions run on beside the runtime until they are answered, or that time is over.
    ///
    /// # Errors
    ///
    /// [`LogError::Kafka`]: librdkafka can't be set up.
    pub async fn connect(brokers: &str, topic: &str) -> Result<Self, LogError> {
        let log = Self::on(brokers)?;
        // Otherwise the first entry would wait: who leads a topic that it has not heard of librdkafka finds out with the
        // next of its rounds, which are a second apart.
        let (writer, reader) = (log.producer.clone(), log.consumer.clone());
        tokio::join!(
            ask(topic, move |topic| writer.client().fetch_metadata(Some(topic), CONNECTING)),
            ask(topic, move |topic| reader.fetch_metadata(Some(topic), CONNECTING)),
        );
        Ok(log)
    }

    fn on(brokers: &str) -> Result<Self, LogError> {
        // As the runner of the client library reads: the end of a partition is told, and a beginning that retention has
        // removed is an error, since the counters can't be known then.
        let reading = KafkaOptions::new(brokers, GROUP).client_config();
        let consumer = Arc::new(reading.create_with_context::<_, StreamConsumer<Quiet>>(Quiet)?);
        let serving = CancellationToken::new();
        tokio::spawn(serving.clone().run_until_cancelled_owned(serve_events(consumer.clone())));
        Ok(Self { producer: writing(brokers).create()?, consumer, _serving: Arc::new(serving.drop_guard()) })
    }

    /// Writes an entry. It has its place in the log from this call on; what is returned waits until it is there, and
    /// gives its offset.
    ///
    /// # Errors
    ///
    /// At once: nothing is written. From the future: it may be in the log.
    pub fn append(
        &self,
        at: &TopicPartition,
        entry: &Entry,
    ) -> Result<impl Future<Output = Result<Offset, LogError>> + Send + use<>, LogError> {
        let payload = serde_json::to_vec(entry).expect("an entry has no map with keys that are no text");
        let key = match &entry.what {
            EntryKind::Opened => None,
            EntryKind::Added(addition) => Some(addition.key.as_str()),
        };
        let mut record = FutureRecord::to(at.topic.as_str()).partition(at.kafka_number()).payload(&payload);
        record.key = key;
        let written = self.producer.send_result(record).map_err(|(error, _)| error)?;
        let written = written.map_err(|_| LogError::Abandoned);
        Ok(written.map(|written| Ok(offset_of(written?.map_err(|(error, _)| error)?.offset))))
    }

    /// Reads a partition from `offset` on. Quick, since no broker is asked.
    ///
    /// # Errors
    ///
    /// [`LogError::Kafka`].
    pub(crate) fn read(&self, at: &TopicPartition, offset: Offset) -> Result<LogReader, LogError> {
        // Before it is assigned: librdkafka then never forwards it to the common queue.
        let queue = self.consumer.split_partition_queue(at.topic.as_str(), at.kafka_number());
        let queue = queue.ok_or(KafkaError::Subscription(at.to_string()))?;
        self.consumer.incremental_assign(&list(at, rdkafka::Offset::Offset(offset.get()))?)?;
        Ok(LogReader { queue: Some(queue), log: self.clone(), at: at.clone() })
    }
}

fn writing(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (key, value) in WRITING {
        config.set(key, value);
    }
    config.set("bootstrap.servers", brokers);
    config
}

/// Waits for what is known of a topic. Brokers that do not answer, and a topic that is missing so far, will be asked for
/// again.
async fn ask(topic: &str, fetch: impl FnOnce(&str) -> KafkaResult<Metadata> + Send + 'static) {
    let topic = topic.to_owned();
    let fetched = tokio::task::spawn_blocking(move || fetch(&topic)).await;
    if let Ok(Err(error)) = fetched {
        tracing::warn!(%error, "nothing is known of the topic yet");
    }
}

/// The offset of a record that Kafka keeps or has just taken.
fn offset_of(number: i64) -> Offset {
    Offset::new(number).expect("a record of a log has an offset from 0")
}

fn list(at: &TopicPartition, offset: rdkafka::Offset) -> KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(at.topic.as_str(), at.kafka_number(), offset)?;
    Ok(list)
}

async fn serve_events(consumer: Arc<StreamConsumer<Quiet>>) {
    loop {
        if let Err(error) = consumer.recv().await {
            tracing::debug!(%error, "kafka");
        }
    }
}

/// Reads one partition.
pub(crate) struct LogReader {
    /// Taken only when it is dropped.
    queue: Option<StreamPartitionQueue<Quiet, DefaultRuntime>>,
    log: Log,
    at: TopicPartition,
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogReader").field("at", &self.at).finish_non_exhaustive()
    }
}

/// The next item of a log.
#[derive(Debug)]
pub(crate) enum Read {
    /// An entry, at its offset.
    Entry(Offset, Entry),
    /// Nothing, just now.
    End,
}

impl LogReader {
    /// Waits for the next entry, or the end.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// [`LogError`], by variant. Brokers that are away are waited for.
    pub(crate) async fn next(&self) -> Result<Read, LogError> {
        let queue = self.queue.as_ref().expect("taken only when dropped");
        loop {
            match queue.recv().await {
                Ok(record) => return self.entry(&record),
                Err(KafkaError::PartitionEOF(_)) => return Ok(Read::End),
                Err(error) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::AutoOffsetReset) => {
                    return Err(error.into());
                }
                // librdkafka goes on by itself.
                Err(error) => tracing::warn!(at = %self.at, %error, "reading failed"),
            }
        }
    }

    fn entry(&self, record: &BorrowedMessage<'_>) -> Result<Read, LogError> {
        let (offset, payload) = (offset_of(record.offset()), record.payload().unwrap_or_default());
        let failed = |source| LogError::Entry { at: self.at.clone(), offset, source };
        serde_json::from_slice(payload).map_err(failed).map(|entry| Read::Entry(offset, entry))
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        drop(self.queue.take());
        let ended = list(&self.at, rdkafka::Offset::Invalid)
            .and_then(|list| self.log.consumer.incremental_unassign(&list));
        if let Err(error) = ended {
            tracing::debug!(at = %self.at, %error, "not unassigned");
        }
    }
}
