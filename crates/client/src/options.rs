//! The options of a consumer.

use std::sync::OnceLock;
use std::time::Duration;

use kafka_assigner_session::InvalidEndpoint;
use kafka_assigner_types::bounds::{CAPACITY, MOST_TEXT, MOST_TOPICS, SESSION_TIMEOUT_MS};
use kafka_assigner_types::claim;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;

use crate::driver::{CUT_BOUND, DEREGISTER_BOUND};
use kafka_assigner_proto::{DEFAULT_GROUP, PROTOCOL_VERSION, v1};
use kafka_assigner_types::name::{GroupName, InvalidName, MemberName, TopicName};

/// The capabilities of this version beyond the smallest client.
const CAPABILITIES: [v1::Capability; 8] = [
    v1::Capability::Snapshot,
    v1::Capability::Taken,
    v1::Capability::Drain,
    v1::Capability::CatchUp,
    v1::Capability::Present,
    v1::Capability::Rest,
    v1::Capability::Begun,
    v1::Capability::Fence,
];

/// The time of a stop beside what handlers take to finish: they are cut off, or the service is told.
const STOP_CALLS: Duration = CUT_BOUND.saturating_add(DEREGISTER_BOUND);

/// The time that Kubernetes and other supervisors grant a process that is told to stop.
const USUAL_GRACE: Duration = Duration::from_secs(30);

/// The part of a host's name that is told of the process: with the rest it stays below what the service takes, 200.
const MOST_OF_HOST: usize = 150;

/// The options of a consumer: its name, its group, and the bounds of joining and leaving.
///
/// ```
/// use kafka_assigner_client::ConsumerOptions;
///
/// let options = ConsumerOptions {
///     group: "orders".into(),
///     topics: vec!["orders".into()],
///     ..ConsumerOptions::new("worker-1", ["http://127.0.0.1:7420"])
/// };
/// assert!(options.validate().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ConsumerOptions {
    /// Addresses of instances, as "http://host:port" or "https://host:port"; at least one. More are learned.
    pub endpoints: Vec<String>,
    /// The group. Default "default".
    pub group: String,
    /// The consumer's name: unique within the group, and best the same after a restart.
    pub name: String,
    /// The topics to read, at most 2 000; empty (the default) = all topics of the group.
    pub topics: Vec<String>,
    /// The rack or zone it runs in, at most 200 characters; empty (the default) = unknown. `KafkaOptions::for_consumer` tells it
    /// to Kafka as well.
    pub rack: String,
    /// The address for requests for its partitions, passed on to routers as it is, at most 200 characters; empty (the
    /// default) = it takes none, or routers know it by its name.
    pub endpoint: String,
    /// Its share of the load relative to others, from 0.001 to 1 000 000; `None` (the default) = 1.
    pub capacity: Option<f64>,
    /// The most partitions it takes; 0 (the default) = no limit. Partitions of co-partitioned topics come together or
    /// not at all, so that it gets none of a set of which more move together.
    pub max_partitions: u32,
    /// A label of the deployed version, at most 200 characters; empty (the default) = none.
    pub generation: String,
    /// The session's time to live to ask for, from 2 s to 30 min; `None` (the default) = the group's.
    pub session_timeout: Option<Duration>,
    /// The service ends the session when the handler [is stuck](crate::PartitionHandler::is_stuck) for that long, which
    /// it hears with heartbeats: it may take two of them, two thirds of the time to live, longer. At least 1 ms; `None`
    /// (the default) = never.
    pub max_poll_interval: Option<Duration>,
    /// The most preparations at once, at least 1. Default 64, which is also what a group allows by default: the lower of
    /// both counts. Lower it where each takes much memory or a core. One that makes no progress for 30 s counts no more until it
    /// does: others begin beside it, at most as many again.
    pub max_warming: usize,
    /// The time for which work goes on in the mode `overlap` while instances answer that the store can't be reached.
    /// Default 10 min; longer counts as 10 min. The service is told: where a session ends without its word, a switch to a
    /// stricter mode waits for so long, and so do the grants of a group that takes the place of a deleted one.
    pub outage_grace: Duration,
    /// The weakest mode of its group and topics; the default, [`Mode::Overlap`], allows all. For whoever is not safe beside
    /// another owner: in a weaker mode it is refused and says so, and no operator can make the mode weaker while it is there. A
    /// group that its first consumer creates is created in this mode, or a stricter one. While a group is being switched from
    /// `overlap`, partitions may still be granted in that.
    pub least_mode: Mode,
    /// The treatment of the partitions at a regular stop. Default [`OnStop::Drain`].
    pub on_stop: OnStop,
    /// The time that a regular stop may take to hand over, with [`OnStop::Drain`]. Default 17 s, so that a whole stop takes less than 30 s, which is
    /// what Kubernetes grants: [`longest_stop`](Self::longest_stop) is this, twice `close_timeout` and 4 s more. Raise both where
    /// warm-ups take longer; a start then tells of it.
    pub drain_timeout: Duration,
    /// The time that handlers may take to finish once nothing more is handed over; then they are cut off, and their
    /// partitions granted to others as after a crash. Default 4 s.
    pub close_timeout: Duration,
    /// Seeds incarnations and jitter; `None` (the default) = at random. The same seed twice at once would make
    /// two sessions look like one.
    pub seed: Option<u64>,
    /// The process that the consumer is a part of, at most 200 characters: consumers that name the same one crash together, and
    /// count as one where several seem to have crashed. Empty (the default) = this process, by host, process id and a number.
    pub process: String,
    /// The version of the program, for people, at most 200 characters; empty (the default) = not shown.
    pub version: String,
}

/// The treatment of the partitions at a regular stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnStop {
    /// Hands them over to others, without a gap. For a consumer that does not come back soon.
    #[default]
    Drain,
    /// Stops, and has them kept for this name during the group's rejoin grace. For a quick restart.
    Restart,
}

/// An option is out of its bounds.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// There is nobody to call.
    #[error("endpoints = [] is refused: it must name at least one instance")]
    NoEndpoint,
    /// An address of an instance is none, or can't be called.
    #[error(transparent)]
    Instance(#[from] InvalidEndpoint),
    /// A name breaks the rule for names.
    #[error("{option} = {:?} is refused: {}", .name.shown, .name.rule)]
    Name {
        /// The option.
        option: &'static str,
        /// The name, with the rule that it breaks.
        name: InvalidName,
    },
    /// A text is longer than the service takes, or has a control character.
    #[error("{option} = {shown:?} is refused: it must have at most 200 characters, and no control character")]
    Text {
        /// The option.
        option: &'static str,
        /// The text, cut after 80 characters.
        shown: String,
    },
    /// More topics are named than the service takes.
    #[error("topics = {0} of them is refused: it must name at most {MOST_TOPICS}")]
    Topics(usize),
    /// The capacity is no number within its bounds.
    #[error("capacity = {0} is refused: it must be from {least} to {most}", least = CAPACITY.0, most = CAPACITY.1)]
    Capacity(f64),
    /// No preparation could begin.
    #[error("max_warming = 0 is refused: it must be at least 1")]
    MaxWarming,
    /// The session timeout is too short for heartbeats to fit in, or longer than a dead owner may go unnoticed.
    #[error(
        "session_timeout = {0:?} is refused: it must be from {least}ms to {most}ms",
        least = SESSION_TIMEOUT_MS.0,
        most = SESSION_TIMEOUT_MS.1
    )]
    SessionTimeout(Duration),
    /// It is told in whole milliseconds, and 0 of them would switch it off.
    #[error("max_poll_interval = {0:?} is refused: it must be at least 1ms")]
    MaxPollInterval(Duration),
}

impl ConsumerOptions {
    /// The defaults for a consumer called `name`.
    pub fn new<E: Into<String>>(name: impl Into<String>, endpoints: impl IntoIterator<Item = E>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            group: DEFAULT_GROUP.into(),
            name: name.into(),
            topics: Vec::new(),
            rack: String::new(),
            endpoint: String::new(),
            capacity: None,
            max_partitions: 0,
            generation: String::new(),
            session_timeout: None,
            max_poll_interval: None,
            max_warming: 64,
            outage_grace: claim::LONGEST_OUTAGE_GRACE,
            least_mode: Mode::Overlap,
            on_stop: OnStop::Drain,
            drain_timeout: Duration::from_secs(17),
            close_timeout: Duration::from_secs(4),
            seed: None,
            process: String::new(),
            version: String::new(),
        }
    }

    /// Checks every option against its bounds.
    ///
    /// # Errors
    ///
    /// The first one that is out of them.
    pub fn validate(&self) -> Result<(), OptionsError> {
        if self.endpoints.is_empty() {
            return Err(OptionsError::NoEndpoint);
        }
        self.endpoints.iter().try_for_each(|endpoint| InvalidEndpoint::check(endpoint))?;
        let name = |option| move |name| OptionsError::Name { option, name };
        GroupName::new(&self.group).map_err(name("group"))?;
        MemberName::new(&self.name).map_err(name("name"))?;
        if self.topics.len() > MOST_TOPICS {
            return Err(OptionsError::Topics(self.topics.len()));
        }
        self.topics.iter().try_for_each(|topic| TopicName::new(topic).map(drop).map_err(name("topics")))?;
        self.texts().into_iter().try_for_each(|(option, text)| check_text(option, text))?;
        self.check_numbers()
    }

    /// The texts that the service keeps.
    fn texts(&self) -> [(&'static str, &str); 5] {
        [
            ("rack", &self.rack),
            ("endpoint", &self.endpoint),
            ("generation", &self.generation),
            ("process", &self.process),
            ("version", &self.version),
        ]
    }

    fn check_numbers(&self) -> Result<(), OptionsError> {
        let (least, most) = CAPACITY;
        if let Some(capacity) = self.capacity.filter(|capacity| !(least..=most).contains(capacity)) {
            return Err(OptionsError::Capacity(capacity));
        }
        if self.max_warming == 0 {
            return Err(OptionsError::MaxWarming);
        }
        if let Some(interval) = self.max_poll_interval.filter(|interval| millis(*interval) == 0) {
            return Err(OptionsError::MaxPollInterval(interval));
        }
        let [shortest, longest] = [SESSION_TIMEOUT_MS.0, SESSION_TIMEOUT_MS.1].map(Duration::from_millis);
        match self.session_timeout.filter(|timeout| !(shortest..=longest).contains(timeout)) {
            Some(timeout) => Err(OptionsError::SessionTimeout(timeout)),
            None => Ok(()),
        }
    }

    /// The longest time that a regular stop takes: twice `close_timeout` and 4 s, and `drain_timeout` before with
    /// [`OnStop::Drain`]. Whatever supervises the process
    /// has to grant it as much before it is killed, in Kubernetes as `terminationGracePeriodSeconds`.
    #[must_use]
    pub fn longest_stop(&self) -> Duration {
        let draining = match self.on_stop {
            OnStop::Drain => self.drain_timeout,
            OnStop::Restart => Duration::ZERO,
        };
        draining.saturating_add(self.close_timeout.saturating_mul(2)).saturating_add(STOP_CALLS)
    }

    /// [`longest_stop`](Self::longest_stop), where it is longer than what supervisors grant unless they are told.
    pub(crate) fn unusual_stop(&self) -> Option<Duration> {
        Some(self.longest_stop()).filter(|stop| *stop > USUAL_GRACE)
    }

    /// The part of each Register that stays the same.
    pub(crate) fn register_request(&self) -> v1::RegisterRequest {
        v1::RegisterRequest {
            consumer_name: self.name.clone(),
            group: self.group.clone(),
            topics: self.topics.clone(),
            rack: self.rack.clone(),
            endpoint: self.endpoint.clone(),
            capacity: self.capacity,
            max_partitions: self.max_partitions,
            generation: self.generation.clone(),
            session_timeout_ms: self.session_timeout.map_or(0, millis),
            renewal: v1::Renewal::Client.into(),
            outage_grace_ms: Some(millis(self.outage_grace.min(claim::LONGEST_OUTAGE_GRACE))),
            max_poll_interval_ms: self.max_poll_interval.map_or(0, millis),
            least_mode: wire_mode(self.least_mode).into(),
            protocol_version: PROTOCOL_VERSION,
            process: if self.process.is_empty() { process().to_owned() } else { self.process.clone() },
            capabilities: CAPABILITIES.map(i32::from).to_vec(),
            client: Some(self.client_info()),
            ..v1::RegisterRequest::default()
        }
    }

    fn client_info(&self) -> v1::ClientInfo {
        v1::ClientInfo {
            library: concat!("kafka-assigner-client/", env!("CARGO_PKG_VERSION")).into(),
            host: std::env::var("HOSTNAME").unwrap_or_default(),
            version: self.version.clone(),
        }
    }
}

const fn wire_mode(mode: Mode) -> v1::Mode {
    match mode {
        Mode::Overlap => v1::Mode::Overlap,
        Mode::Exclusive => v1::Mode::Exclusive,
        Mode::Routed => v1::Mode::Routed,
    }
}

/// Checks a text as the service does.
fn check_text(option: &'static str, text: &str) -> Result<(), OptionsError> {
    if text.chars().count() <= MOST_TEXT && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(OptionsError::Text { option, shown: text.chars().take(80).collect() })
}

/// The word for this process, which all its consumers share: host, process id, and a number that is drawn at first, since
/// ids come again.
fn process() -> &'static str {
    static PROCESS: OnceLock<String> = OnceLock::new();
    PROCESS.get_or_init(|| {
        let host = std::env::var("HOSTNAME").unwrap_or_default();
        let host: String = host.chars().filter(|c| !c.is_control()).take(MOST_OF_HOST).collect();
        format!("{host}/{}/{:08x}", std::process::id(), rand::random::<u32>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid() -> ConsumerOptions {
        ConsumerOptions::new("a", ["http://127.0.0.1:1"])
    }

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(valid().validate(), Ok(()));
    }

    #[test]
    fn what_is_out_of_bounds_is_refused_with_its_rule() {
        let long = |byte: &str| byte.repeat(201);
        let second = Duration::from_secs(1);
        let cases = [
            (
                ConsumerOptions { endpoints: Vec::new(), ..valid() },
                "endpoints = [] is refused: it must name at least one instance",
            ),
            (
                ConsumerOptions { endpoints: vec!["assigner:7420".into()], ..valid() },
                "endpoints = \"assigner:7420\" is refused: it must be as http://host:port or https://host:port",
            ),
            (
                ConsumerOptions { group: String::new(), ..valid() },
                "group = \"\" is refused: it must not be empty",
            ),
            (
                ConsumerOptions { name: "..".into(), ..valid() },
                "name = \"..\" is refused: it must not be \".\" or \"..\"",
            ),
            (
                ConsumerOptions { topics: vec!["a/b".into()], ..valid() },
                "topics = \"a/b\" is refused: it may contain only letters, digits, \".\", \"_\" and \"-\"",
            ),
            (
                ConsumerOptions { capacity: Some(0.0), ..valid() },
                "capacity = 0 is refused: it must be from 0.001 to 1000000",
            ),
            (
                ConsumerOptions { capacity: Some(2e6), ..valid() },
                "capacity = 2000000 is refused: it must be from 0.001 to 1000000",
            ),
            (
                ConsumerOptions { topics: vec!["t".into(); 2_001], ..valid() },
                "topics = 2001 of them is refused: it must name at most 2000",
            ),
            (
                ConsumerOptions { max_warming: 0, ..valid() },
                "max_warming = 0 is refused: it must be at least 1",
            ),
            (
                ConsumerOptions { max_poll_interval: Some(Duration::from_micros(999)), ..valid() },
                "max_poll_interval = 999µs is refused: it must be at least 1ms",
            ),
            (
                ConsumerOptions { session_timeout: Some(second), ..valid() },
                "session_timeout = 1s is refused: it must be from 2000ms to 1800000ms",
            ),
            (
                ConsumerOptions { session_timeout: Some(1_801 * second), ..valid() },
                "session_timeout = 1801s is refused: it must be from 2000ms to 1800000ms",
            ),
        ];
        for (options, refusal) in cases {
            assert_eq!(options.validate().expect_err(refusal).to_string(), refusal);
        }
        for (option, options) in [
            ("rack", ConsumerOptions { rack: long("r"), ..valid() }),
            ("endpoint", ConsumerOptions { endpoint: long("e"), ..valid() }),
            ("generation", ConsumerOptions { generation: "a\nb".into(), ..valid() }),
            ("process", ConsumerOptions { process: long("p"), ..valid() }),
            ("version", ConsumerOptions { version: long("v"), ..valid() }),
        ] {
            let refused = options.validate().expect_err(option);
            assert!(matches!(refused, OptionsError::Text { option: of, .. } if of == option), "{refused}");
        }
    }

    #[test]
    fn a_stop_that_takes_longer_than_supervisors_grant_is_known() {
        assert_eq!(valid().longest_stop(), Duration::from_secs(29));
        assert_eq!(valid().unusual_stop(), None);
        let patient = ConsumerOptions { drain_timeout: Duration::from_secs(60), ..valid() };
        assert_eq!(patient.unusual_stop(), Some(Duration::from_secs(72)));
        let quick = ConsumerOptions { on_stop: OnStop::Restart, ..patient };
        assert_eq!(quick.longest_stop(), Duration::from_secs(12), "it hands nothing over");
    }

    #[test]
    fn all_consumers_of_a_process_name_the_same_one() {
        let one = valid().register_request().process;
        assert_eq!(one, ConsumerOptions { name: "b".into(), ..valid() }.register_request().process);
        assert!(one.contains(&std::process::id().to_string()) && one.len() <= 200, "{one}");
        let another = ConsumerOptions { process: "p".into(), ..valid() };
        assert_eq!(another.register_request().process, "p");
    }

    #[test]
    fn the_mode_that_is_demanded_is_told() {
        assert_eq!(valid().register_request().least_mode(), v1::Mode::Overlap);
        let strict = ConsumerOptions { least_mode: Mode::Exclusive, ..valid() };
        assert_eq!(strict.register_request().least_mode(), v1::Mode::Exclusive);
    }

    #[test]
    fn our_sessions_are_renewed_by_the_client() {
        assert_eq!(valid().register_request().renewal(), v1::Renewal::Client);
    }
}
