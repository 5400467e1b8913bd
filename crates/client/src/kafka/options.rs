//! The options of reading from Kafka.

use std::fmt;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;
use tokio::sync::Semaphore;

use super::built_in;
use super::error::KafkaRunnerError;
use super::read_ahead::ReadAhead;
use super::statistics::StatisticsSink;
use super::token_source::TokenSource;
use crate::options::ConsumerOptions;

/// Settings that hold unless the user sets others.
const DEFAULTS: [(&str, &str); 10] = [
    // As in other clients of Kafka: a fetch that finds nothing costs the broker a look at each partition in it. A partition
    // that is new to a quiet broker connection waits for the outstanding fetch, at most this long, while it is prepared.
    ("fetch.wait.max.ms", "500"),
    // How soon a partition is fetched again once its full queue was emptied; the default of 1 s would be a gap.
    ("fetch.queue.backoff.ms", "5"),
    // Bounds of each partition's own queue, which the last fetch may exceed: a hundred partitions that nobody takes records
    // of hold some 200 MB. The former takes over where records are smaller than 256 bytes, each of which costs about that.
    ("queued.min.messages", "4000"),
    ("queued.max.messages.kbytes", "1024"),
    // Bounds of one fetch, and of each partition in it: it has room for a hundred with a backlog, so that none of them takes
    // that of the others. Unless it is set, the former is lowered to the bound of one queue.
    ("fetch.max.bytes", "52428800"),
    ("fetch.message.max.bytes", "524288"),
    ("fetch.error.backoff.ms", "100"),
    ("reconnect.backoff.max.ms", "1000"),
    // How long a commit waits for a coordinator, and then for the answer to its first attempt. Together no longer than the
    // margin of a session of 30 s, so that a commit that was right when it was sent arrives before anybody else's; set both
    // lower for shorter sessions. The work of librdkafka after that has no bound; it can repeat work, and skips none.
    ("session.timeout.ms", "5000"),
    ("socket.timeout.ms", "5000"),
];

/// Settings that the runner relies on. Another value is refused.
const REQUIRED: [(&str, &str); 4] = [
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    // Tells that a reader has reached the end, also where the last offsets carry no records.
    ("enable.partition.eof", "true"),
    // Records that are gone are told, and not passed over in silence.
    ("auto.offset.reset", "error"),
];

/// A setting whose name begins with one of these says how brokers are reached.
const CONNECTIONS: [&str; 9] = [
    "security.",
    "sasl.",
    "ssl.",
    "enable.ssl.",
    "enable.sasl.",
    "https.",
    "broker.address.",
    "client.dns.",
    "client.id",
];

/// A setting whose name contains one of these may hold a secret, in any case of letters. Better to hide the path of a key
/// than to show a key.
const SECRET: [&str; 9] =
    ["password", "passphrase", "secret", "token", "key", "pem", "jaas", "credential", "oauthbearer.config"];

/// The text in place of a value that may be a secret.
const HIDDEN: &str = "hidden";

/// The options of reading from Kafka.
///
/// Its `Debug` hides the value of each setting that may be a secret by its name.
#[derive(Clone, PartialEq, Eq)]
pub struct KafkaOptions {
    /// The brokers to start from, as "host:port,host:port"; not empty.
    pub brokers: String,
    /// The Kafka group under which offsets are committed, not empty, and which names the fences of producers and the origin of dead letters.
    /// No member of it may subscribe. [`for_consumer`](Self::for_consumer) takes the consumer's group.
    pub group: String,
    /// The consumer's name, which becomes the label `consumer` of the runner's metrics; empty (the default) = they have none. Two runners
    /// with one group in one process need one each, or the last one's values are shown. [`for_consumer`](Self::for_consumer) takes the
    /// consumer's.
    pub consumer: String,
    /// The rack or zone in which this process runs, which becomes librdkafka's `client.rack` unless the settings have one: brokers
    /// that are set up for it (`replica.selector.class`) have the process read from a replica there. Empty (the default) = unknown.
    /// [`for_consumer`](Self::for_consumer) takes the consumer's.
    pub rack: String,
    /// The most partitions that are processed at the same moment, at least 1; 0 counts as 1. Default 64.
    pub concurrency: usize,
    /// The interval between two commits of processed offsets. Default 200 ms; longer than 0. It bounds how many records
    /// are handled twice at a switch, and how far a warm reader follows behind. A few milliseconds come close to a
    /// commit after each record. Longer than `offset_refresh` counts as that.
    pub commit_interval: Duration,
    /// The time after which the offset of an owned partition is committed again, though it has not moved: Kafka drops what
    /// was not for `offsets.retention.minutes`, which the brokers set. Default 6 h; longer than 0. Keep it below half of
    /// what the brokers have, or a quiet partition begins anew when it moves, as [`StartPositions`](super::StartPositions)
    /// say. Kafka's default is 7 days, and tight clusters have a day.
    pub offset_refresh: Duration,
    /// Settings of librdkafka, which win over this crate's defaults. What the runner relies on can't be set: no automatic
    /// commits, end-of-partition events, no automatic reset of offsets, and `brokers` and `group`.
    pub settings: Vec<(String, String)>,
    /// Fetches tokens where brokers ask for SASL `OAUTHBEARER`; `None` (the default) = they don't, or librdkafka does it.
    pub tokens: Option<TokenSource>,
    /// Takes librdkafka's statistics; `None` (the default) = it keeps none.
    pub statistics: Option<StatisticsSink>,
}

impl KafkaOptions {
    /// The defaults for reading from `brokers` as this consumer: offsets are committed under its group, and its rack is where it
    /// reads.
    ///
    /// Set `group` afterwards where Kafka is to know the group by another name. A program that committed under another name
    /// before, be it with a Kafka consumer or with [`new`](Self::new), has to keep that name in `group`: under a new one the
    /// group has committed nothing, and begins as [`StartPositions`](super::StartPositions) say. A runner that
    /// commits under `default`, since the consumer's group was left at that, warns of it.
    pub fn for_consumer(consumer: &ConsumerOptions, brokers: impl Into<String>) -> Self {
        let (rack, name) = (consumer.rack.clone(), consumer.name.clone());
        Self { rack, consumer: name, ..Self::new(brokers, &consumer.group) }
    }

    /// The defaults for reading from `brokers` and committing under `group`, for who has no options of a consumer.
    pub fn new(brokers: impl Into<String>, group: impl Into<String>) -> Self {
        Self {
            brokers: brokers.into(),
            group: group.into(),
            consumer: String::new(),
            rack: String::new(),
            concurrency: 64,
            commit_interval: Duration::from_millis(200),
            offset_refresh: Duration::from_secs(6 * 60 * 60),
            settings: Vec::new(),
            tokens: None,
            statistics: None,
        }
    }

    /// # Errors
    ///
    /// [`KafkaRunnerError::Empty`], [`KafkaRunnerError::CommitInterval`], [`KafkaRunnerError::OffsetRefresh`],
    /// [`KafkaRunnerError::Setting`], [`KafkaRunnerError::NotBuiltIn`].
    pub(super) fn validate(&self) -> Result<(), KafkaRunnerError> {
        self.check_names()?;
        if self.commit_interval.is_zero() {
            return Err(KafkaRunnerError::CommitInterval(self.commit_interval));
        }
        if self.offset_refresh.is_zero() {
            return Err(KafkaRunnerError::OffsetRefresh(self.offset_refresh));
        }
        self.settings.iter().try_for_each(|(key, value)| match self.fixed(key) {
            Some(needed) if needed != value => Err(KafkaRunnerError::Setting {
                setting: key.clone(),
                value: value.clone(),
                needed: needed.to_owned(),
            }),
            _ => Ok(()),
        })?;
        built_in::check(self)
    }

    /// # Errors
    ///
    /// [`KafkaRunnerError::Empty`].
    pub(super) fn check_names(&self) -> Result<(), KafkaRunnerError> {
        let names = [("brokers", &self.brokers), ("group", &self.group)];
        match names.into_iter().find(|(_, text)| text.trim().is_empty()) {
            Some((option, text)) => Err(KafkaRunnerError::Empty { option, text: text.clone() }),
            None => Ok(()),
        }
    }

    /// The value that a setting has, whatever the user sets; `None` = it is the user's.
    fn fixed(&self, setting: &str) -> Option<&str> {
        match setting {
            "bootstrap.servers" | "metadata.broker.list" => Some(&self.brokers),
            "group.id" => Some(&self.group),
            _ => REQUIRED.iter().find(|(key, _)| *key == setting).map(|(_, value)| *value),
        }
    }

    /// [`concurrency`](Self::concurrency) within what a semaphore can count.
    pub(super) fn permits(&self) -> usize {
        self.concurrency.clamp(1, Semaphore::MAX_PERMITS)
    }

    /// The settings that say how brokers are reached, which producers need as well.
    pub(super) fn connection_settings(&self) -> impl Iterator<Item = &(String, String)> {
        let is_of_connections = |key: &str| CONNECTIONS.iter().any(|prefix| key.starts_with(prefix));
        self.settings.iter().filter(move |(key, _)| is_of_connections(key))
    }

    /// The configuration of librdkafka with which the runner reads, defaults included: for a consumer of your own beside it.
    #[must_use]
    pub fn client_config(&self) -> ClientConfig {
        self.config_for(ReadAhead::Full)
    }

    /// The same for partitions that are read so far ahead.
    pub(super) fn config_for(&self, read_ahead: ReadAhead) -> ClientConfig {
        let mut config = ClientConfig::new();
        for (key, value) in DEFAULTS {
            config.set(key, value);
        }
        read_ahead.apply(&mut config);
        if let Some(sink) = &self.statistics {
            config.set("statistics.interval.ms", sink.interval_ms().to_string());
        }
        if !self.rack.is_empty() {
            config.set("client.rack", &self.rack);
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

impl fmt::Debug for KafkaOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(key, value): &(String, String)| {
            let value = if may_be_secret(key) { HIDDEN } else { value };
            (key.clone(), value.to_owned())
        };
        f.debug_struct("KafkaOptions")
            .field("brokers", &self.brokers)
            .field("group", &self.group)
            .field("consumer", &self.consumer)
            .field("rack", &self.rack)
            .field("concurrency", &self.concurrency)
            .field("commit_interval", &self.commit_interval)
            .field("offset_refresh", &self.offset_refresh)
            .field("settings", &self.settings.iter().map(shown).collect::<Vec<_>>())
            .field("tokens", &self.tokens)
            .field("statistics", &self.statistics)
            .finish()
    }
}

/// The error of a client that can't be made, without a value that may be a secret. A name that is unknown may be a slip in
/// the name of one.
pub(super) fn without_secret(error: KafkaError) -> KafkaError {
    match error {
        KafkaError::ClientConfig(result, text, key, _)
            if result == RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN || may_be_secret(&key) =>
        {
            KafkaError::ClientConfig(result, text, key, HIDDEN.to_owned())
        }
        other => other,
    }
}

fn may_be_secret(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    SECRET.iter().any(|part| setting.contains(part))
}

#[cfg(test)]
mod tests {
    use rdkafka::consumer::BaseConsumer;

    use super::*;

    fn default_number(setting: &str) -> u64 {
        let config = KafkaOptions::new("b:9092", "g").client_config();
        config.get(setting).expect("set").parse().expect("a number")
    }

    #[test]
    fn group_and_rack_are_the_consumers_unless_told_otherwise() {
        let consumer = ConsumerOptions {
            group: "orders".into(),
            rack: "east".into(),
            ..ConsumerOptions::new("a", ["http://127.0.0.1:1"])
        };
        let told = |options: &KafkaOptions| {
            let config = options.client_config();
            ["group.id", "client.rack"].map(|key| config.get(key).map(str::to_owned))
        };
        let mut options = KafkaOptions::for_consumer(&consumer, "b:9092");
        assert_eq!(told(&options), [Some("orders".to_owned()), Some("east".to_owned())]);
        options.group = "orders-old".into();
        options.settings.push(("client.rack".into(), "use1-az1".into()));
        assert_eq!(told(&options), [Some("orders-old".to_owned()), Some("use1-az1".to_owned())]);
        assert_eq!(told(&KafkaOptions::new("b:9092", "g")), [Some("g".to_owned()), None]);
    }

    #[test]
    fn partitions_with_a_backlog_leave_room_in_a_fetch_for_all_that_may_warm_beside_them() {
        let of_one = default_number("fetch.message.max.bytes");
        assert!(default_number("fetch.max.bytes") >= 64 * of_one, "64 are prepared at once by default");
        assert!(default_number("queued.max.messages.kbytes") * 1024 >= 2 * of_one, "none waits for its turn");
    }

    #[test]
    fn silent_partitions_are_fetched_as_often_as_by_other_clients() {
        assert_eq!(default_number("fetch.wait.max.ms"), 500, "the default of Kafka's clients");
    }

    #[test]
    fn a_setting_that_would_be_overridden_is_refused_by_name() {
        let with = |key: &str, value: &str| {
            let mut options = KafkaOptions::new("b:9092", "g");
            options.settings.push((key.to_owned(), value.to_owned()));
            options.validate()
        };
        for (key, value) in [
            ("auto.offset.reset", "latest"),
            ("enable.auto.commit", "true"),
            ("enable.partition.eof", "false"),
            ("group.id", "other"),
            ("bootstrap.servers", "other:9092"),
            ("metadata.broker.list", "other:9092"),
        ] {
            let refused = with(key, value).expect_err("overridden").to_string();
            assert!(refused.contains(key) && refused.contains(value), "{refused}");
        }
        for (key, value) in [("auto.offset.reset", "error"), ("group.id", "g"), ("fetch.min.bytes", "7")] {
            assert!(with(key, value).is_ok(), "{key}");
        }
    }

    #[test]
    fn without_brokers_or_a_group_nothing_begins() {
        for (shown, options) in [
            ("brokers = \"\"", KafkaOptions::new("", "g")),
            ("group = \" \"", KafkaOptions::new("b:9092", " ")),
        ] {
            let refused = options.validate().expect_err(shown).to_string();
            assert_eq!(refused, format!("{shown} is refused: it must not be empty"));
        }
    }

    #[test]
    fn what_may_be_a_secret_is_not_shown() {
        let secrets = [
            "sasl.password",
            "ssl.key.password",
            "ssl.keystore.password",
            "ssl.key.pem",
            "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.config",
            "sasl.oauthbearer.assertion.private.key.passphrase",
            "Some.Access_Token",
            "sasl.jaas.config",
            "aws.credentials",
        ];
        let mut options = KafkaOptions::new("b:9092", "g");
        options.settings = secrets.map(|key| (key.to_owned(), "hunter2".to_owned())).into();
        options.settings.push(("client.rack".to_owned(), "r1".to_owned()));
        let shown = format!("{options:?} {options:#?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(secrets.iter().all(|key| shown.contains(key)), "{shown}");
        assert!(["b:9092", "client.rack", "r1"].iter().all(|harmless| shown.contains(harmless)), "{shown}");
    }

    #[test]
    fn the_error_of_a_setting_that_is_refused_shows_no_secret() {
        // A slip, and what this build of librdkafka may not have.
        for key in ["sasl.pasword", "ssl.key.password"] {
            let mut config = KafkaOptions::new("b:9092", "g").client_config();
            let made: Result<BaseConsumer, _> = config.set(key, "hunter2").create();
            let Err(error) = made.map_err(without_secret) else { continue };
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(key) && !shown.contains("hunter2"), "{shown}");
        }
        let mut config = KafkaOptions::new("b:9092", "g").client_config();
        let made: Result<BaseConsumer, _> = config.set("fetch.min.bytes", "many").create();
        let shown = made.map_err(without_secret).err().expect("no number").to_string();
        assert!(shown.contains("many"), "{shown}");
    }
}
