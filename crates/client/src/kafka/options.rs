//! How Kafka is read.

use std::time::Duration;

use rdkafka::ClientConfig;

/// What is set unless the user sets it.
const DEFAULTS: [(&str, &str); 8] = [
    // A partition that is new to a quiet broker connection waits for the outstanding fetch, at most this long. Costs
    // up to 50 empty fetches a second and broker while nothing is written.
    ("fetch.wait.max.ms", "20"),
    // How soon a partition is fetched again once its full queue was emptied; the default of 1 s would be a gap.
    ("fetch.queue.backoff.ms", "10"),
    // Bounds of each partition's own queue. A hundred partitions may then take 200 MB while all of them warm.
    ("queued.min.messages", "10000"),
    ("queued.max.messages.kbytes", "2048"),
    ("fetch.error.backoff.ms", "100"),
    ("reconnect.backoff.max.ms", "1000"),
    // How long a commit waits for a coordinator, and then for the answer to its first attempt. Together no longer than the
    // margin of a session of 30 s, so that a commit that was right when it was sent arrives before anybody else's; set both
    // lower for shorter sessions. What librdkafka does after that has no bound; it can repeat work, and skips none.
    ("session.timeout.ms", "5000"),
    ("socket.timeout.ms", "5000"),
];

/// What the runner relies on, whatever the user sets.
const REQUIRED: [(&str, &str); 4] = [
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    // Tells that a reader has reached the end, also where the last offsets carry no records.
    ("enable.partition.eof", "true"),
    // Where the committed offset is gone because of retention, the oldest record is next: nothing is skipped.
    ("auto.offset.reset", "earliest"),
];

/// How Kafka is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaOptions {
    /// The brokers to start from, as "host:port,host:port".
    pub brokers: String,
    /// The Kafka group under which offsets are committed. No member of it may subscribe.
    pub group: String,
    /// How many partitions are processed at the same moment, at least 1. Default 64.
    pub concurrency: usize,
    /// How often processed offsets are committed. Default 200 ms. It bounds how many records are handled twice at
    /// a switch, and how far a warm reader follows behind.
    pub commit_interval: Duration,
    /// Settings of librdkafka, which win over this crate's defaults but not over what the runner relies on
    /// (no automatic commits, end-of-partition events, reset to the earliest offset).
    pub settings: Vec<(String, String)>,
}

impl KafkaOptions {
    /// The defaults for reading from `brokers` and committing under `group`.
    pub fn new(brokers: impl Into<String>, group: impl Into<String>) -> Self {
        Self {
            brokers: brokers.into(),
            group: group.into(),
            concurrency: 64,
            commit_interval: Duration::from_millis(200),
            settings: Vec::new(),
        }
    }

    pub(super) fn client_config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        for (key, value) in DEFAULTS {
            config.set(key, value);
        }
        for (key, value) in &self.settings {
            config.set(key, value);
        }
        for (key, value) in REQUIRED {
            config.set(key, value);
        }
        config.set("bootstrap.servers", &self.brokers).set("group.id", &self.group);
        config
    }
}
