//! The options of the etcd client.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::error::Error;

/// The options of the etcd client: endpoints, credentials and timeouts.
///
/// Durations are written as `2s` or `500ms`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EtcdOptions {
    /// URLs of the members' client ports, all `http` or all `https`; at least one. They are used in this
    /// order: the first that answers, until it doesn't.
    pub endpoints: Vec<String>,
    /// The CA certificates and keys for `https` endpoints; needed for them, refused for `http`.
    #[serde(default)]
    pub tls: Option<EtcdTls>,
    /// The user to log in as; none means no log-in. Goes with [`password`](Self::password) or
    /// [`password_file`](Self::password_file).
    #[serde(default)]
    pub user: Option<String>,
    /// The user's password.
    #[serde(default)]
    pub password: Option<Password>,
    /// The file with the user's password and nothing else, but for a line break at its end; none means that
    /// [`password`](Self::password) is given. It is read at each log-in, so that a new password needs no restart.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// The longest time for opening a connection. Default 2 s; less than
    /// [`request_timeout`](Self::request_timeout), or a dead first endpoint uses up every call.
    #[serde(default = "defaults::connect_timeout", deserialize_with = "duration")]
    pub connect_timeout: Duration,
    /// The longest wait for a read, or a stream's answer, before another endpoint is asked. Default 2 s; at
    /// most [`request_timeout`](Self::request_timeout).
    #[serde(default = "defaults::attempt_timeout", deserialize_with = "duration")]
    pub attempt_timeout: Duration,
    /// The bound of every call, with its retries. Default 5 s.
    #[serde(default = "defaults::request_timeout", deserialize_with = "duration")]
    pub request_timeout: Duration,
    /// The interval of the pings that check a connection, also while it is idle. Default 3 s; at least 1 s,
    /// or etcd takes the pings for an attack.
    #[serde(default = "defaults::ping", deserialize_with = "duration")]
    pub ping_interval: Duration,
    /// The longest wait for the answer to a ping before the connection counts as broken. Default 3 s.
    #[serde(default = "defaults::ping", deserialize_with = "duration")]
    pub ping_timeout: Duration,
}

/// PEM files for TLS with etcd.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EtcdTls {
    /// The authorities that may have signed the members' certificates.
    pub ca: PathBuf,
    /// Our own certificate; none means that we show none. Goes with [`key`](Self::key).
    #[serde(default)]
    pub certificate: Option<PathBuf>,
    /// The key of our certificate.
    #[serde(default)]
    pub key: Option<PathBuf>,
    /// The name that the members' certificates must carry; none means the endpoint's host.
    #[serde(default)]
    pub server_name: Option<String>,
}

/// A password, which no log shows.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

mod defaults {
    use std::time::Duration;

    pub(super) const fn connect_timeout() -> Duration {
        Duration::from_secs(2)
    }

    pub(super) const fn attempt_timeout() -> Duration {
        Duration::from_secs(2)
    }

    /// A little more than a leader's election in etcd takes (about 1.5 s), twice.
    pub(super) const fn request_timeout() -> Duration {
        Duration::from_secs(5)
    }

    pub(super) const fn ping() -> Duration {
        Duration::from_secs(3)
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map_err(serde::de::Error::custom)
}

impl EtcdOptions {
    /// Defaults for a cluster at these URLs.
    pub fn new<T: Into<String>>(endpoints: impl IntoIterator<Item = T>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            tls: None,
            user: None,
            password: None,
            password_file: None,
            connect_timeout: defaults::connect_timeout(),
            attempt_timeout: defaults::attempt_timeout(),
            request_timeout: defaults::request_timeout(),
            ping_interval: defaults::ping(),
            ping_timeout: defaults::ping(),
        }
    }

    /// Checks what the fields' descriptions ask for.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field, its value and the rule.
    pub fn validate(&self) -> Result<(), Error> {
        self.validate_endpoints()?;
        self.validate_identity()?;
        self.validate_times()
    }

    fn validate_endpoints(&self) -> Result<(), Error> {
        require(!self.endpoints.is_empty(), || "endpoints: there must be at least one".to_owned())?;
        let scheme = if self.tls.is_some() { "https://" } else { "http://" };
        for endpoint in &self.endpoints {
            require(endpoint.starts_with(scheme), || {
                format!("endpoints: {endpoint} must start with {scheme} ({})", tls_rule(self.tls.is_some()))
            })?;
        }
        Ok(())
    }

    fn validate_identity(&self) -> Result<(), Error> {
        let both = |what: &str, first: bool, second: bool| {
            require(first == second, || format!("{what} go together: both or none"))
        };
        let (given, file) = (self.password.is_some(), self.password_file.is_some());
        require(!(given && file), || "password and password_file exclude each other".to_owned())?;
        both("user and password (or password_file)", self.user.is_some(), given || file)?;
        let Some(tls) = &self.tls else { return Ok(()) };
        both("tls.certificate and tls.key", tls.certificate.is_some(), tls.key.is_some())
    }

    fn validate_times(&self) -> Result<(), Error> {
        let (connect, attempt, request) = (self.connect_timeout, self.attempt_timeout, self.request_timeout);
        require(!connect.is_zero() && connect < request, || {
            format!("connect_timeout: {connect:?} must lie between 0 and request_timeout ({request:?})")
        })?;
        require(!attempt.is_zero() && attempt <= request, || {
            format!(
                "attempt_timeout: {attempt:?} must be more than 0 and at most request_timeout ({request:?})"
            )
        })?;
        require(self.ping_interval >= Duration::from_secs(1), || {
            format!("ping_interval: {:?} must be at least 1 s", self.ping_interval)
        })?;
        require(!self.ping_timeout.is_zero(), || "ping_timeout: must be more than 0".to_owned())
    }
}

const fn tls_rule(tls: bool) -> &'static str {
    if tls { "tls is set" } else { "tls is not set" }
}

fn require(holds: bool, rule: impl FnOnce() -> String) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Invalid(rule())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut EtcdOptions)) -> String {
        let mut options = EtcdOptions::new(["http://127.0.0.1:2379"]);
        options.validate().unwrap();
        change(&mut options);
        options.validate().unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_value_is_named_with_its_rule() {
        assert!(refused(|o| o.endpoints.clear()).contains("endpoints"));
        assert!(refused(|o| o.endpoints[0] = "https://x".to_owned()).contains("https://x"));
        assert!(refused(|o| o.user = Some("u".to_owned())).contains("user and password"));
        assert!(refused(|o| o.connect_timeout = o.request_timeout).contains("connect_timeout: 5s"));
        assert!(refused(|o| o.attempt_timeout = Duration::from_secs(6)).contains("attempt_timeout: 6s"));
        assert!(refused(|o| o.ping_interval = Duration::from_millis(999)).contains("ping_interval: 999ms"));
    }

    #[test]
    fn a_password_is_given_or_in_a_file_and_goes_with_a_user() {
        let file = |o: &mut EtcdOptions| o.password_file = Some("/run/secrets/etcd".into());
        assert!(refused(file).contains("user and password (or password_file)"));
        let both = |o: &mut EtcdOptions| {
            file(o);
            o.password = Some(Password("p".to_owned()));
        };
        assert!(refused(both).contains("exclude each other"));
        let mut options = EtcdOptions::new(["http://127.0.0.1:2379"]);
        file(&mut options);
        options.user = Some("u".to_owned());
        options.validate().unwrap();
    }

    #[test]
    fn text_gives_what_it_says_and_defaults_for_the_rest() {
        let text = r#"{"endpoints": ["http://a"], "user": "u", "password": "p", "request_timeout": "7s"}"#;
        let options: EtcdOptions = serde_json::from_str(text).unwrap();
        let mut expected = EtcdOptions::new(["http://a"]);
        expected.user = Some("u".to_owned());
        expected.password = Some(Password("p".to_owned()));
        expected.request_timeout = Duration::from_secs(7);
        assert_eq!(options, expected);
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        let text = r#"{"endpoints": ["http://a"], "usr": "u"}"#;
        assert!(serde_json::from_str::<EtcdOptions>(text).is_err());
    }

    #[test]
    fn no_debug_output_shows_the_password() {
        let mut options = EtcdOptions::new(["http://a"]);
        options.password = Some(Password("hunter2".to_owned()));
        assert!(!format!("{options:?}").contains("hunter2"));
    }
}
