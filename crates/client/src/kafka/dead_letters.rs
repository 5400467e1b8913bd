//! The dead-letter topic: records that nobody could handle, with what is known of them.

use std::time::Duration;

use kafka_assigner_handler::Record;
use kafka_assigner_types::id::Epoch;
use kafka_assigner_types::name::TopicName;
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};

use super::built_in;
use super::error::KafkaRunnerError;
use super::events::KafkaEvents;
use super::options::{KafkaOptions, without_secret};

/// Settings of the producer. A letter counts once every replica that is in sync has it; who waits for that is a partition
/// that stands meanwhile, so not for long, and it is tried again.
const SETTINGS: [(&str, &str); 4] =
    [("acks", "all"), ("enable.idempotence", "true"), ("linger.ms", "0"), ("message.timeout.ms", "10000")];

/// The wait for a place in the producer's queue; it is longer than a letter may take.
const QUEUE_BOUND: Duration = Duration::from_secs(15);

/// Writes dead letters; clones share the producer.
#[derive(Clone)]
pub(super) struct DeadLetters {
    topic: TopicName,
    group: String,
    producer: FutureProducer<KafkaEvents>,
}

/// A record with the reason for which it is in the dead-letter topic.
pub(super) struct Letter<'a> {
    pub(super) record: &'a Record,
    pub(super) reason: &'a str,
    pub(super) attempts: u32,
    pub(super) epoch: Epoch,
}

impl DeadLetters {
    pub(super) fn new(options: &KafkaOptions, topic: TopicName) -> Result<Self, KafkaRunnerError> {
        built_in::check(options)?;
        let mut config = ClientConfig::new();
        for (key, value) in options.connection_settings() {
            config.set(key, value);
        }
        for (key, value) in SETTINGS {
            config.set(key, value);
        }
        config.set("bootstrap.servers", &options.brokers);
        let events = KafkaEvents::of(options);
        let failed = |error| KafkaRunnerError::Client(without_secret(error));
        let producer = config.create_with_context(events).map_err(failed)?;
        Ok(Self { topic, group: options.group.clone(), producer })
    }

    /// Writes a letter, and waits until the broker has acknowledged it.
    ///
    /// Not cancel safe: dropped halfway, it may have been written.
    pub(super) async fn write(&self, letter: &Letter<'_>) -> KafkaResult<()> {
        let mut record = FutureRecord::to(self.topic.as_str()).headers(self.headers(letter));
        record.key = letter.record.key();
        record.payload = letter.record.value();
        record.timestamp = letter.record.time().millis();
        let sent = self.producer.send(record, QUEUE_BOUND).await;
        sent.map(|_| ()).map_err(|(error, _): (KafkaError, _)| error)
    }

    /// Those of the record, and then what is known of it, in words.
    fn headers(&self, letter: &Letter<'_>) -> OwnedHeaders {
        let at = letter.record.at();
        let known = [
            ("dead_letter.topic", at.topic.to_string()),
            ("dead_letter.partition", at.partition.to_string()),
            ("dead_letter.offset", letter.record.offset().to_string()),
            ("dead_letter.group", self.group.clone()),
            ("dead_letter.epoch", letter.epoch.to_string()),
            ("dead_letter.attempts", letter.attempts.to_string()),
            ("dead_letter.reason", letter.reason.to_owned()),
        ];
        let of_record = letter.record.headers();
        let headers = of_record.fold(OwnedHeaders::new(), |headers, header| {
            headers.insert(Header { key: header.name, value: header.value })
        });
        known.into_iter().fold(headers, |headers, (key, value)| {
            headers.insert(Header { key, value: Some(value.as_bytes()) })
        })
    }
}
