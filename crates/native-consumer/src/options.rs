//! The options of a consumer.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_group_member::{OfferedStrategy, ResetPolicy};
use kafka_assigner_kafka::records::Isolation;
use kafka_assigner_kafka::{InvalidAddress, Options};
use kafka_assigner_types::name::{InvalidName, TopicName};

use crate::properties;

/// The place at which a partition begins for which the group has committed nothing, or whose committed offset the log
/// does not have any more.
pub type StartAt = ResetPolicy;

/// The protocol with which the member is in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupProtocol {
    /// A member plans, with a strategy that all members offer. Every broker has it.
    #[default]
    Classic,
    /// The broker plans (KIP-848); from Kafka 4.0 on. The strategies that a member offers are not used.
    Consumer,
}

/// The topics that a consumer reads.
#[derive(Debug, Clone)]
pub enum TopicChoice {
    /// These.
    Named(BTreeSet<TopicName>),
    /// All in whose name the pattern is found, but for Kafka's own; new ones are found within the age of metadata.
    Matching(regex::Regex),
}

impl TopicChoice {
    /// These topics.
    ///
    /// # Errors
    /// [`InvalidSetting::Topic`] where one of them is no name of a topic.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidSetting> {
        let names: Result<_, _> = names.into_iter().map(TopicName::new).collect();
        Ok(Self::Named(names?))
    }

    /// The topics whose whole name matches `pattern`, in the syntax of the crate `regex`.
    ///
    /// # Errors
    /// [`InvalidSetting::Pattern`] where it is no pattern.
    pub fn matching(pattern: &str) -> Result<Self, InvalidSetting> {
        let whole = regex::Regex::new(&format!("^(?:{pattern})$"));
        whole.map(Self::Matching).map_err(|error| InvalidSetting::Pattern(error.to_string()))
    }
}

/// The options of a [`NativeConsumer`](crate::NativeConsumer). Times are those of Kafka's own client, where it has them.
#[derive(Debug, Clone)]
pub struct NativeOptions {
    /// The way to the cluster: brokers, TLS, login, client id.
    pub kafka: Options,
    /// The group.
    pub group: String,
    /// The topics.
    pub topics: TopicChoice,
    /// The strategies by name, the preferred one first: `range`, `roundrobin`, `sticky`, `cooperative-sticky`, `balanced`,
    /// `copartitioned-sticky`. All members of a classic group must have one in common. `range` and
    /// `cooperative-sticky` by default, as in Kafka's own client.
    pub strategies: Vec<String>,
    /// The protocol; classic.
    pub protocol: GroupProtocol,
    /// The strategy that is asked of the broker in a group of KIP-848; `None`: its own first one.
    pub remote_assignor: Option<String>,
    /// The instance id of a static member, which keeps its partitions over a restart; `None`: a dynamic member.
    pub instance_id: Option<String>,
    /// The rack; `None`: not known.
    pub rack: Option<String>,
    /// The place at which a partition without a committed offset begins; at the end of its log.
    pub start_at: StartAt,
    /// The records that are read; also those of transactions that are open or were aborted.
    pub isolation: Isolation,
    /// The time after which a member without a sign of life is gone; 45 s. Brokers take 6 s to 30 min by default. Not used
    /// with KIP-848, where the broker decides.
    pub session_timeout: Duration,
    /// The time between two heartbeats; 3 s. At most a third of the session.
    pub heartbeat_interval: Duration,
    /// The time in which the application has to ask for records again, and to give partitions up; 5 min. At least the
    /// session.
    pub poll_interval: Duration,
    /// The time after which what is done is committed; 5 s. Whoever waits for a commit waits no longer than for the broker.
    pub commit_interval: Duration,
    /// The age at which metadata is asked for again; 5 min. At least 100 ms.
    pub metadata_age: Duration,
    /// The time for which a broker may wait for records; 500 ms.
    pub fetch_wait: Duration,
    /// The bytes for which a broker waits; 1.
    pub fetch_least_bytes: u32,
    /// The most bytes of one answer; 50 MiB, at most 64 MiB. One batch comes whatever its size.
    pub fetch_most_bytes: u32,
    /// The most bytes of a partition in one answer; 1 MiB. A partition is not asked for while so much of it waits for the
    /// application.
    pub partition_most_bytes: u32,
    /// The most bytes of all partitions that wait for the application; 64 MiB, and one answer of each broker above.
    pub buffer_most_bytes: usize,
}

/// Options that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSetting {
    /// An address that is none.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// A topic that has no such name.
    #[error(transparent)]
    Topic(#[from] InvalidName),
    /// A pattern that is none.
    #[error("the pattern of topics is refused: {0}")]
    Pattern(String),
    /// A name that is not known, such as one of a strategy.
    #[error("{kind} {name:?} is not known{}", suggestion(.nearest.as_deref()))]
    Unknown {
        /// The kind of name.
        kind: &'static str,
        /// The name.
        name: String,
        /// The known name that is nearest to it, where one is near.
        nearest: Option<String>,
    },
    /// A value that breaks the rule of its option.
    #[error("{name} = {value:?} is refused: {rule}")]
    Value {
        /// The option.
        name: &'static str,
        /// The value.
        value: String,
        /// The rule.
        rule: &'static str,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean {nearest:?}?"))
}

/// An error about a name that is none of `known`.
pub(crate) fn unknown<'a>(
    kind: &'static str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> InvalidSetting {
    // Names with less than a third of their letters in common help nobody.
    let far = name.len().div_ceil(2).max(2);
    let distance = |known: &&str| strsim::damerau_levenshtein(known, name);
    let nearest = known.into_iter().min_by_key(distance).filter(|nearest| distance(nearest) <= far);
    InvalidSetting::Unknown { kind, name: name.to_owned(), nearest: nearest.map(str::to_owned) }
}

/// The longest time of an option: Kafka's own have 32 bits of milliseconds.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// The most bytes of one answer that may be asked for. A longer one than 100 MiB is refused, and the last batch of an
/// answer comes whatever its size: 36 MiB are left for it.
const MOST_FETCHED: u32 = 64 << 20;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

impl NativeOptions {
    /// The options of a dynamic member of the classic protocol.
    #[must_use]
    pub fn new(kafka: Options, group: impl Into<String>, topics: TopicChoice) -> Self {
        Self {
            kafka,
            group: group.into(),
            topics,
            strategies: ["range", "cooperative-sticky"].map(str::to_owned).into(),
            protocol: GroupProtocol::Classic,
            remote_assignor: None,
            instance_id: None,
            rack: None,
            start_at: StartAt::Latest,
            isolation: Isolation::Uncommitted,
            session_timeout: seconds(45),
            heartbeat_interval: seconds(3),
            poll_interval: seconds(300),
            commit_interval: seconds(5),
            metadata_age: seconds(300),
            fetch_wait: Duration::from_millis(500),
            fetch_least_bytes: 1,
            fetch_most_bytes: 50 << 20,
            partition_most_bytes: 1 << 20,
            buffer_most_bytes: 64 << 20,
        }
    }

    /// Sets options by the names that Kafka's own client has for them, such as `session.timeout.ms`.
    ///
    /// # Errors
    /// [`InvalidSetting`], by variant: a name that is not known comes with the nearest one.
    pub fn set<'a>(
        &mut self,
        properties: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), InvalidSetting> {
        properties.into_iter().try_for_each(|(name, value)| properties::set(self, name, value))
    }

    /// The strategies as they are offered.
    pub(crate) fn offered(&self) -> Result<Vec<OfferedStrategy>, InvalidSetting> {
        let named = |name: &String| {
            OfferedStrategy::of_name(name).ok_or_else(|| unknown("strategy", name, OfferedStrategy::NAMES))
        };
        self.strategies.iter().map(named).collect()
    }

    /// The times, by their names in Kafka's own client.
    const fn times(&self) -> [(&'static str, Duration); 6] {
        [
            ("session.timeout.ms", self.session_timeout),
            ("heartbeat.interval.ms", self.heartbeat_interval),
            ("max.poll.interval.ms", self.poll_interval),
            ("auto.commit.interval.ms", self.commit_interval),
            ("metadata.max.age.ms", self.metadata_age),
            ("fetch.max.wait.ms", self.fetch_wait),
        ]
    }

    /// Checks all that can be checked without a broker.
    pub(crate) fn validate(&self) -> Result<(), InvalidSetting> {
        self.offered()?;
        let millis = |time: Duration| format!("{} ms", time.as_millis());
        let named = matches!(&self.topics, TopicChoice::Named(topics) if topics.is_empty());
        let longest =
            self.times().into_iter().max_by_key(|(_, time)| *time).filter(|(_, time)| *time > LONGEST);
        let (long_name, long) = longest.unwrap_or_default();
        let rules = [
            (
                longest.is_some(),
                long_name,
                millis(long),
                "it must be below 2^31 ms, as in Kafka's own client",
            ),
            (self.kafka.bootstrap.is_empty(), "bootstrap.servers", String::new(), "it must name a broker"),
            (self.group.is_empty(), "group.id", self.group.clone(), "it must not be empty"),
            (named, "topics", String::new(), "there must be one at least"),
            (
                self.strategies.is_empty(),
                "partition.assignment.strategy",
                String::new(),
                "there must be one at least",
            ),
            (
                self.heartbeat_interval.is_zero()
                    || self.heartbeat_interval.saturating_mul(3) > self.session_timeout,
                "heartbeat.interval.ms",
                millis(self.heartbeat_interval),
                "it must be above 0 and at most a third of session.timeout.ms",
            ),
            (
                self.poll_interval < self.session_timeout,
                "max.poll.interval.ms",
                millis(self.poll_interval),
                "it must be at least session.timeout.ms",
            ),
            (
                self.metadata_age < Duration::from_millis(100),
                "metadata.max.age.ms",
                millis(self.metadata_age),
                "it must be at least 100 ms",
            ),
            (
                self.partition_most_bytes == 0 || self.fetch_most_bytes > MOST_FETCHED,
                "fetch.max.bytes",
                self.fetch_most_bytes.to_string(),
                "it must be at most 64 MiB, and max.partition.fetch.bytes above 0",
            ),
        ];
        match rules.into_iter().find(|(is_broken, ..)| *is_broken) {
            Some((_, name, value, rule)) => Err(InvalidSetting::Value { name, value, rule }),
            None => Ok(()),
        }
    }
}
