//! The options of a router.

use std::time::Duration;

use kafka_assigner_proto::{DEFAULT_GROUP, PROTOCOL_VERSION, v1};
use kafka_assigner_session::InvalidEndpoint;
use kafka_assigner_types::bounds::{MOST_TEXT, SESSION_TIMEOUT_MS};
use kafka_assigner_types::name::{GroupName, InvalidName, MemberName};

use crate::lanes::StashLimits;

/// The shortest time after which a router counts as stuck: a busy one makes progress within it.
const SHORTEST_STUCK: Duration = Duration::from_secs(2);

/// The options of a router: its session, and the bounds of the requests that it holds.
///
/// ```
/// use kafka_assigner_router::RouterOptions;
///
/// let options = RouterOptions {
///     group: "orders".into(),
///     ..RouterOptions::new("router-1", ["http://127.0.0.1:7420"])
/// };
/// assert!(options.validate().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterOptions {
    /// Addresses of instances, as "http://host:port" or "https://host:port"; at least one. More are learned.
    pub endpoints: Vec<String>,
    /// The group, which has to exist. Default "default".
    pub group: String,
    /// The router's name: unique among the group's routers, and best the same after a restart.
    pub name: String,
    /// The session's time to live to ask for: from 2 s to 30 min, and at most seven tenths of the group's `hold_deadline`; `None`
    /// (the default) = half of it, 5 s by default. A switch waits for a router that died for as long.
    pub session_timeout: Option<Duration>,
    /// The bounds of the requests that it holds. Their age has to be above the group's `hold_deadline`, 10 s by default.
    pub stash: StashLimits,
    /// The longest time from sending a request to the owner's answer; above 0, and shorter than the group's bound on
    /// Freezing (7 s by default), since a drain takes up to as long. Default 5 s.
    pub send_timeout: Duration,
    /// A router whose forwarding has stood still for that long takes itself out of the group; at least 2 s. Default
    /// 5 s: a run of the loop takes microseconds, and a switch that waits for a stuck router is cancelled after 7 s.
    pub stuck_after: Duration,
    /// The longest time that a regular stop waits for the requests that the router holds. Default 10 s.
    pub close_timeout: Duration,
    /// Seeds incarnations and jitter; `None` (the default) = at random. The same seed twice at once would make
    /// two sessions look like one.
    pub seed: Option<u64>,
    /// The version of the program, for people, at most 200 characters; empty (the default) = not shown.
    pub version: String,
}

/// An option is out of its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouterOptionsError {
    /// No endpoint is given.
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
    /// The session timeout is too short for heartbeats to fit in, or longer than a dead router may go unnoticed.
    #[error(
        "session_timeout = {0:?} is refused: it must be from {least}ms to {most}ms",
        least = SESSION_TIMEOUT_MS.0,
        most = SESSION_TIMEOUT_MS.1
    )]
    SessionTimeout(Duration),
    /// The version is longer than the service keeps, or has a control character.
    #[error(
        "version = {shown:?} is refused: it must have at most {MOST_TEXT} characters, and no control character"
    )]
    Version {
        /// The version, cut after 80 characters.
        shown: String,
    },
    /// A bound of the stash, or the time to send, is 0.
    #[error("{0} = 0 is refused: it must be above 0")]
    Zero(&'static str),
    /// A busy router would count as stuck.
    #[error("stuck_after = {0:?} is refused: it must be at least 2s")]
    StuckAfter(Duration),
}

impl RouterOptions {
    /// The defaults for a router called `name`.
    pub fn new<E: Into<String>>(name: impl Into<String>, endpoints: impl IntoIterator<Item = E>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            group: DEFAULT_GROUP.into(),
            name: name.into(),
            session_timeout: None,
            stash: StashLimits::default(),
            send_timeout: Duration::from_secs(5),
            stuck_after: Duration::from_secs(5),
            close_timeout: Duration::from_secs(10),
            seed: None,
            version: String::new(),
        }
    }

    /// Checks every option against its bounds.
    ///
    /// # Errors
    ///
    /// The first one that is out of them.
    pub fn validate(&self) -> Result<(), RouterOptionsError> {
        if self.endpoints.is_empty() {
            return Err(RouterOptionsError::NoEndpoint);
        }
        self.endpoints.iter().try_for_each(|endpoint| InvalidEndpoint::check(endpoint))?;
        let name = |option| move |name| RouterOptionsError::Name { option, name };
        GroupName::new(&self.group).map_err(name("group"))?;
        MemberName::new(&self.name).map_err(name("name"))?;
        let [shortest, longest] = [SESSION_TIMEOUT_MS.0, SESSION_TIMEOUT_MS.1].map(Duration::from_millis);
        if let Some(timeout) = self.session_timeout.filter(|timeout| !(shortest..=longest).contains(timeout))
        {
            return Err(RouterOptionsError::SessionTimeout(timeout));
        }
        if self.version.chars().count() > MOST_TEXT || self.version.chars().any(char::is_control) {
            return Err(RouterOptionsError::Version { shown: self.version.chars().take(80).collect() });
        }
        if self.stuck_after < SHORTEST_STUCK {
            return Err(RouterOptionsError::StuckAfter(self.stuck_after));
        }
        let bounds = [
            ("stash.requests", self.stash.requests > 0),
            ("stash.bytes", self.stash.bytes > 0),
            ("stash.age", !self.stash.age.is_zero()),
            ("stash.window", self.stash.window > 0),
            ("send_timeout", !self.send_timeout.is_zero()),
        ];
        bounds
            .iter()
            .find(|(_, holds)| !holds)
            .map_or(Ok(()), |(name, _)| Err(RouterOptionsError::Zero(name)))
    }

    /// The part of each Attach that stays the same.
    pub(crate) fn attach_request(&self) -> v1::AttachRequest {
        let timeout = self.session_timeout.map_or(0, |timeout| timeout.as_millis());
        v1::AttachRequest {
            router_name: self.name.clone(),
            group: self.group.clone(),
            session_timeout_ms: u64::try_from(timeout).unwrap_or(u64::MAX),
            stash_age_ms: u64::try_from(self.stash.age.as_millis()).unwrap_or(u64::MAX),
            protocol_version: PROTOCOL_VERSION,
            client: Some(v1::ClientInfo {
                library: concat!("kafka-assigner-router/", env!("CARGO_PKG_VERSION")).into(),
                host: std::env::var("HOSTNAME").unwrap_or_default(),
                version: self.version.clone(),
            }),
            ..v1::AttachRequest::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid() -> RouterOptions {
        RouterOptions::new("r", ["http://127.0.0.1:1"])
    }

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(valid().validate(), Ok(()));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let options = RouterOptions { endpoints: vec!["kafka-assigner:7420".to_owned()], ..valid() };
        assert!(matches!(options.validate(), Err(RouterOptionsError::Instance(_))));
    }

    #[test]
    fn what_is_out_of_bounds_is_named() {
        let second = Duration::from_secs(1);
        let stash = StashLimits { bytes: 0, ..StashLimits::default() };
        for (options, error) in [
            (RouterOptions { endpoints: Vec::new(), ..valid() }, RouterOptionsError::NoEndpoint),
            (
                RouterOptions { session_timeout: Some(second), ..valid() },
                RouterOptionsError::SessionTimeout(second),
            ),
            (
                RouterOptions { session_timeout: Some(1_801 * second), ..valid() },
                RouterOptionsError::SessionTimeout(1_801 * second),
            ),
            (
                RouterOptions { version: "1\n".into(), ..valid() },
                RouterOptionsError::Version { shown: "1\n".into() },
            ),
            (RouterOptions { stuck_after: second, ..valid() }, RouterOptionsError::StuckAfter(second)),
            (RouterOptions { stash, ..valid() }, RouterOptionsError::Zero("stash.bytes")),
            (
                RouterOptions { send_timeout: Duration::ZERO, ..valid() },
                RouterOptionsError::Zero("send_timeout"),
            ),
        ] {
            assert_eq!(options.validate(), Err(error));
        }
        let error = RouterOptions { name: "..".into(), ..valid() }.validate();
        let refusal = error.expect_err("it is no name").to_string();
        assert_eq!(refusal, "name = \"..\" is refused: it must not be \".\" or \"..\"");
    }
}
