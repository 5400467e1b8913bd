//! The options of a consumer.

use std::sync::OnceLock;
use std::time::Duration;

use kafka_assigner_types::claim;
use kafka_assigner_types::moment::millis;

use kafka_assigner_proto::{DEFAULT_GROUP, PROTOCOL_VERSION, v1};
use kafka_assigner_types::name::{GroupName, InvalidName, MemberName, TopicName};

use crate::invalid_endpoint::InvalidEndpoint;

/// The capabilities of this version beyond the smallest client.
const CAPABILITIES: [v1::Capability; 7] = [
    v1::Capability::Snapshot,
    v1::Capability::Taken,
    v1::Capability::Drain,
    v1::Capability::CatchUp,
    v1::Capability::Present,
    v1::Capability::Rest,
    v1::Capability::Begun,
];

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
    /// The topics to read; empty (the default) = all topics of the group.
    pub topics: Vec<String>,
    /// The rack or zone it runs in; empty (the default) = unknown.
    pub rack: String,
    /// The address for requests for its partitions, passed on to routers as it is, at most 200 characters; empty (the
    /// default) = it takes none, or routers know it by its name.
    pub endpoint: String,
    /// Its share of the load relative to others, above 0; `None` (the default) = 1.
    pub capacity: Option<f64>,
    /// The most partitions it takes; 0 (the default) = no limit. Partitions of co-partitioned topics come together or
    /// not at all, so that it gets none of a set of which more move together.
    pub max_partitions: u32,
    /// A label of the deployed version; empty (the default) = none.
    pub generation: String,
    /// The session's time to live to ask for, at least 2 s; `None` (the default) = the group's.
    pub session_timeout: Option<Duration>,
    /// The service ends the session when the handler [is stuck](crate::PartitionHandler::is_stuck) for that long, which
    /// it hears with heartbeats: it may take two of them, two thirds of the time to live, longer. `None` (the default)
    /// = never.
    pub max_poll_interval: Option<Duration>,
    /// The most preparations at once, at least 1. Default 64, which is also what a group allows by default: the lower of
    /// both counts. Lower it where each takes much memory or a core. One that makes no progress for 30 s counts no more until it
    /// does: others begin beside it.
    pub max_warming: usize,
    /// The time for which work goes on in the mode `overlap` while instances answer that the store can't be reached.
    /// Default 10 min; longer counts as 10 min. The service is told: where a session ends without its word, a switch to a
    /// stricter mode waits for so long, and so do the grants of a group that takes the place of a deleted one.
    pub outage_grace: Duration,
    /// The treatment of the partitions at a regular stop. Default [`OnStop::Drain`].
    pub on_stop: OnStop,
    /// The time that a regular stop may take to hand over. Default 17 s, so that a whole stop takes less than 30 s, which is
    /// what Kubernetes grants: this, twice `close_timeout` and 4 s more. Raise both where warm-ups take longer.
    pub drain_timeout: Duration,
    /// The time that handlers may take to finish once nothing more is handed over; then they are cut off, and their
    /// partitions granted to others as after a crash. Default 4 s.
    pub close_timeout: Duration,
    /// Seeds incarnations and jitter; `None` (the default) = at random. The same seed twice at once would make
    /// two sessions look like one.
    pub seed: Option<u64>,
    /// The process that the consumer is a part of, at most 200 characters: consumers with the same word die together, and
    /// count as one where several seem to be dead. Empty (the default) = this process, by host, process id and a number.
    pub process: String,
    /// The version of the program, for people; empty (the default) = not shown.
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
pub enum OptionsError {
    /// There is nobody to call.
    #[error("no endpoint given")]
    NoEndpoint,
    /// An address of an instance is none, or can't be called.
    #[error(transparent)]
    Instance(#[from] InvalidEndpoint),
    /// A name breaks the rule for names.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The capacity is not a number above 0.
    #[error("capacity {0} must be a number above 0")]
    Capacity(f64),
    /// The endpoint is longer than the service takes.
    #[error("endpoint has {0} characters, and 200 are the most")]
    Endpoint(usize),
    /// The word for the process is longer than the service takes.
    #[error("process has {0} characters, and 200 are the most")]
    Process(usize),
    /// The session timeout is too short for heartbeats to fit in.
    #[error("session timeout {0:?} must be at least 2s")]
    SessionTimeout(Duration),
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
        GroupName::new(&self.group)?;
        MemberName::new(&self.name)?;
        self.topics.iter().try_for_each(|topic| TopicName::new(topic).map(drop))?;
        let length = self.endpoint.chars().count();
        if length > 200 {
            return Err(OptionsError::Endpoint(length));
        }
        let length = self.process.chars().count();
        if length > 200 {
            return Err(OptionsError::Process(length));
        }
        if let Some(capacity) = self.capacity.filter(|c| !(c.is_finite() && *c > 0.0)) {
            return Err(OptionsError::Capacity(capacity));
        }
        match self.session_timeout {
            Some(timeout) if timeout < Duration::from_secs(2) => Err(OptionsError::SessionTimeout(timeout)),
            _ => Ok(()),
        }
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
    fn what_is_out_of_bounds_is_named() {
        let no_one = ConsumerOptions { endpoints: Vec::new(), ..valid() };
        assert_eq!(no_one.validate(), Err(OptionsError::NoEndpoint));
        for (options, kind) in [
            (ConsumerOptions { group: String::new(), ..valid() }, "group name"),
            (ConsumerOptions { name: "..".into(), ..valid() }, "member name"),
            (ConsumerOptions { topics: vec!["a/b".into()], ..valid() }, "topic name"),
        ] {
            let error = options.validate();
            assert!(matches!(&error, Err(OptionsError::Name(name)) if name.kind == kind), "{error:?}");
        }
        let no_address = ConsumerOptions { endpoints: vec!["kafka-assigner:7420".into()], ..valid() };
        assert!(matches!(no_address.validate(), Err(OptionsError::Instance(_))));
        let capacity = ConsumerOptions { capacity: Some(0.0), ..valid() };
        assert_eq!(capacity.validate(), Err(OptionsError::Capacity(0.0)));
        let endpoint = ConsumerOptions { endpoint: "e".repeat(201), ..valid() };
        assert_eq!(endpoint.validate(), Err(OptionsError::Endpoint(201)));
        let process = ConsumerOptions { process: "p".repeat(201), ..valid() };
        assert_eq!(process.validate(), Err(OptionsError::Process(201)));
        let timeout = ConsumerOptions { session_timeout: Some(Duration::from_secs(1)), ..valid() };
        assert_eq!(timeout.validate(), Err(OptionsError::SessionTimeout(Duration::from_secs(1))));
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
    fn our_sessions_are_renewed_by_the_client() {
        assert_eq!(valid().register_request().renewal(), v1::Renewal::Client);
    }
}
