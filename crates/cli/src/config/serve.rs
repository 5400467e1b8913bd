//! The settings of an instance.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kafka_assigner_core::record::{GroupConfig, InvalidConfig};
use kafka_assigner_strategies::Registry;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;

use super::error::ConfigError;
use super::layers::Layers;
use super::resolved::{Resolved, settings};
use super::secret::Secret;
use super::text::{Broker, Endpoint, LogLevel, Name, Prefix, SaslMechanism, UserName};
use super::value::Value;
use crate::suggestion::did_you_mean;

settings! {
    /// Everything that `serve` needs to know.
    pub(crate) struct ServeConfig {
        /// The address on which gRPC is served, to consumers and operators.
        listen: SocketAddr = "127.0.0.1:7420",
        /// The address on which HTTP is served: /livez, /readyz and /metrics.
        http_listen: SocketAddr = "127.0.0.1:7421",
        /// The URL at which consumers and routers reach this instance over gRPC; other instances send them there.
        /// Not set: the address of `listen`, which then must not be 0.0.0.0 or `[::]`.
        advertise: Option<Endpoint> = "",
        /// The name of this instance, unique among those of one store. Not set: a random one at each start.
        instance: Option<Name> = "",
        /// True allows to listen beyond this machine without TLS.
        insecure: bool = "false",
        /// The certificate chain of the gRPC server, a PEM file. Not set: no TLS.
        tls_cert: Option<PathBuf> = "",
        /// The private key for `tls_cert`, a PEM file.
        tls_key: Option<PathBuf> = "",
        /// The CA certificates, a PEM file, that verify the certificate of every caller.
        /// Not set: callers need no certificate.
        tls_client_ca: Option<PathBuf> = "",
        /// The file of tokens and rules that says who may do what; it is read again whenever it changes. With it a caller
        /// may show a token in the place of a certificate. Not set: whoever can connect may do everything.
        access_file: Option<PathBuf> = "",

        /// The file of the single-node store, created where it is missing. Not used with `etcd`.
        data: PathBuf = "./kafka-assigner.redb",
        /// The endpoints of the etcd cluster that the instances share. Not set: one node with its file, `data`.
        etcd: Vec<Endpoint> = "",
        /// The user to log in to etcd as.
        etcd_user: Option<UserName> = "",
        /// The password of `etcd_user`. Better set by its variable or the file: others see flags.
        etcd_password: Option<Secret> = "",
        /// The file with the password of `etcd_user` and nothing else; read at each login.
        etcd_password_file: Option<PathBuf> = "",
        /// The CA certificates that verify etcd's certificate, a PEM file. Needed for https endpoints.
        etcd_ca: Option<PathBuf> = "",
        /// The certificate to show to etcd, a PEM file.
        etcd_cert: Option<PathBuf> = "",
        /// The private key for `etcd_cert`, a PEM file.
        etcd_key: Option<PathBuf> = "",
        /// True compacts etcd's history when it is older than an hour. False is for a cluster shared with
        /// other applications that decide that.
        etcd_compaction: bool = "true",
        /// The prefix of the keys of all records, in either store.
        prefix: Prefix = "/kafka-assigner/",

        /// The Kafka brokers to ask for the partitions of topics. Not set: operators say how many there are.
        kafka: Vec<Broker> = "",
        /// True speaks TLS with the brokers.
        kafka_tls: bool = "false",
        /// The CA certificates that verify the brokers' certificates, a PEM file. Not set: those of the system.
        kafka_ca: Option<PathBuf> = "",
        /// The certificate to show to the brokers, a PEM file.
        kafka_cert: Option<PathBuf> = "",
        /// The private key for `kafka_cert`, a PEM file.
        kafka_key: Option<PathBuf> = "",
        /// The way to log in to the brokers: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. Not set: no login.
        kafka_sasl_mechanism: Option<SaslMechanism> = "",
        /// The user to log in to the brokers as.
        kafka_user: Option<UserName> = "",
        /// The password of `kafka_user`. Better set by its variable or the file: others see flags.
        kafka_password: Option<Secret> = "",
        /// The file with the password of `kafka_user` and nothing else; read at each login.
        kafka_password_file: Option<PathBuf> = "",

        /// True lets a consumer that names an unknown group create it, with the settings `group_…`.
        auto_create: bool = "true",
        /// The most groups that consumers may create; operators may create more.
        max_groups: u32 = "10000",
        /// The most consumers of one group, and the most routers.
        max_members: u32 = "10000",
        /// The most bytes of one registration; 1000 to 1000000. Above it a consumer names too many topics.
        max_registration_bytes: u32 = "65536",
        /// The most partitions of one group, of all its topics.
        max_partitions: u32 = "1000000",
        /// The time after a leader's last renewal at which another instance takes its place; 2s to 1m.
        leader_ttl: Duration = "5s",
        /// The time after the end of a consumer's last stream at which its process is suspected to be dead, unless it is
        /// heard; at most 1m, 0s = never.
        suspect_after: Duration = "1s",
        /// The time without its store after which an instance tells its streams so, and refuses new ones; 4s to 1m.
        stream_patience: Duration = "5s",

        /// The log lines that are written to the standard error.
        log_level: LogLevel = "info",
        /// The form of log lines: text for people, json for programs.
        log_format: LogFormat = "text",

        /// New groups: the strategy, one of those that `kafka-assigner strategies` lists.
        group_strategy: Name = "balanced",
        /// New groups: the mode (overlap, exclusive or routed), unless the first consumer demands a stricter one.
        group_mode: Mode = "overlap",
        /// New groups: the time after its last heartbeat at which a consumer's session ends, unless it asks for
        /// another time; 2s to group_max_session_timeout.
        group_session_timeout: Duration = "30s",
        /// New groups: the longest such time that a consumer may ask for; 2s to 30m. So long strict grants wait after the
        /// store was put back.
        group_max_session_timeout: Duration = "5m",
        /// New groups: the time that a change of membership waits for the next one; at most 1m.
        group_debounce: Duration = "100ms",
        /// New groups: the longest time of a warm-up without reported progress; 2s to 1day.
        group_warm_deadline: Duration = "5m",
        /// New groups: the longest time of every other phase of a move; 1s to 1h.
        group_phase_deadline: Duration = "30s",
        /// New groups: the longest time of a phase whose member is busy with a record; 1s to 1h.
        group_drain_deadline: Duration = "5m",
        /// New groups: the longest time for which a move holds requests back (routed); 4s to 1h.
        group_hold_deadline: Duration = "10s",
        /// New groups: the time after which a consumer whose process seems to be dead is taken over (overlap); at most 1h,
        /// 0s = never.
        group_takeover_after: Duration = "3s",
        /// New groups: the most moves in flight; at least 1.
        group_max_moves_in_flight: u32 = "1000",
        /// New groups: the most partitions that one consumer warms at a time; at least 1.
        group_max_warming: u32 = "64",
        /// New groups: the time for which the partitions of a lost consumer are kept for its name; at most 1h.
        group_rejoin_grace: Duration = "0s",
    }
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For programs: one JSON object a line.
    Json,
}

impl Value for LogFormat {
    const EXPECTS: &'static str = "text or json";
    const WORDS: &'static [&'static str] = &["text", "json"];

    fn read(value: &toml::Value) -> Option<Self> {
        match value.as_str()? {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::from(match self {
            Self::Text => "text",
            Self::Json => "json",
        }))
    }
}

impl ServeConfig {
    /// Resolves the configuration and checks how its values fit together.
    ///
    /// # Errors
    /// [`ConfigError`] for the first thing that is wrong.
    pub(crate) fn resolve(layers: &Layers) -> Result<Resolved<Self>, ConfigError> {
        let resolved = Resolved::<Self>::new(layers)?;
        resolved.check_etcd_login()?;
        resolved.check_pairs()?;
        resolved.check_kafka()?;
        resolved.check_listeners()?;
        resolved.check_advertise()?;
        resolved.check_registration_bytes()?;
        resolved.check_leader_ttl()?;
        resolved.check_suspect_after()?;
        resolved.check_stream_patience()?;
        resolved.check_group()?;
        Ok(resolved)
    }

    /// The configuration of a group that is created by its first consumer.
    pub(crate) fn group_config(&self) -> GroupConfig {
        GroupConfig {
            strategy: self.group_strategy.to_string(),
            mode: self.group_mode,
            session_timeout_ms: millis(self.group_session_timeout),
            max_session_timeout_ms: millis(self.group_max_session_timeout),
            debounce_ms: millis(self.group_debounce),
            warm_deadline_ms: millis(self.group_warm_deadline),
            phase_deadline_ms: millis(self.group_phase_deadline),
            drain_deadline_ms: millis(self.group_drain_deadline),
            hold_deadline_ms: millis(self.group_hold_deadline),
            takeover_after_ms: millis(self.group_takeover_after),
            max_moves_in_flight: self.group_max_moves_in_flight,
            max_warming: self.group_max_warming,
            rejoin_grace_ms: millis(self.group_rejoin_grace),
            ..GroupConfig::default()
        }
    }

    fn uses_https_for_etcd(&self) -> bool {
        self.etcd.iter().any(|endpoint| endpoint.to_string().starts_with("https:"))
    }
}

impl Resolved<ServeConfig> {
    fn check_pairs(&self) -> Result<(), ConfigError> {
        let c = &self.config;
        let has_etcd = !c.etcd.is_empty();
        self.needs(("tls_cert", c.tls_cert.is_some()), ("tls_key", c.tls_key.is_some()))?;
        self.needs(("tls_key", c.tls_key.is_some()), ("tls_cert", c.tls_cert.is_some()))?;
        self.needs(("tls_client_ca", c.tls_client_ca.is_some()), ("tls_cert", c.tls_cert.is_some()))?;
        self.needs(("etcd_cert", c.etcd_cert.is_some()), ("etcd_key", c.etcd_key.is_some()))?;
        self.needs(("etcd_key", c.etcd_key.is_some()), ("etcd_cert", c.etcd_cert.is_some()))?;
        self.needs(("etcd_cert", c.etcd_cert.is_some()), ("etcd_ca", c.etcd_ca.is_some()))?;
        self.needs(("etcd", c.uses_https_for_etcd()), ("etcd_ca", c.etcd_ca.is_some()))?;
        self.needs(("etcd_user", c.etcd_user.is_some()), ("etcd", has_etcd))?;
        self.needs(("etcd_ca", c.etcd_ca.is_some()), ("etcd", has_etcd))
    }

    fn check_etcd_login(&self) -> Result<(), ConfigError> {
        let c = &self.config;
        let user = ("etcd_user", c.etcd_user.is_some());
        let given = ("etcd_password", c.etcd_password.is_some());
        self.check_password(user, given, ("etcd_password_file", c.etcd_password_file.is_some()))
    }

    /// A password is given or in a file, and goes with a user.
    fn check_password(
        &self,
        user: (&'static str, bool),
        given: (&'static str, bool),
        file: (&'static str, bool),
    ) -> Result<(), ConfigError> {
        if given.1 && file.1 {
            return Err(self.refuse(file.0, format!("left out where {} is set", given.0)));
        }
        self.needs(user, (given.0, given.1 || file.1))?;
        self.needs(given, user)?;
        self.needs(file, user)
    }

    fn check_kafka(&self) -> Result<(), ConfigError> {
        let c = &self.config;
        let (kafka, tls) = (("kafka", !c.kafka.is_empty()), ("kafka_tls", c.kafka_tls));
        let (cert, key) = (("kafka_cert", c.kafka_cert.is_some()), ("kafka_key", c.kafka_key.is_some()));
        let mechanism = ("kafka_sasl_mechanism", c.kafka_sasl_mechanism.is_some());
        let user = ("kafka_user", c.kafka_user.is_some());
        for (one, other) in [
            (tls, kafka),
            (("kafka_ca", c.kafka_ca.is_some()), tls),
            (cert, tls),
            (cert, key),
            (key, cert),
            (mechanism, kafka),
            (mechanism, user),
            (user, mechanism),
        ] {
            self.needs(one, other)?;
        }
        let given = ("kafka_password", c.kafka_password.is_some());
        self.check_password(user, given, ("kafka_password_file", c.kafka_password_file.is_some()))
    }

    fn needs(&self, one: (&'static str, bool), other: (&'static str, bool)) -> Result<(), ConfigError> {
        if !one.1 || other.1 {
            return Ok(());
        }
        Err(ConfigError::Missing { name: one.0, origin: self.origin(one.0), missing: other.0 })
    }

    fn check_listeners(&self) -> Result<(), ConfigError> {
        let c = &self.config;
        if c.listen == c.http_listen && c.listen.port() != 0 {
            return Err(self.refuse("http_listen", "another address than listen's"));
        }
        if !c.insecure && c.tls_cert.is_none() && !c.listen.ip().is_loopback() {
            return Err(self.refuse("listen", "a loopback address unless tls_cert or insecure is set"));
        }
        let knows_callers = c.tls_client_ca.is_some() || c.access_file.is_some();
        if !c.insecure && !knows_callers && !c.listen.ip().is_loopback() {
            let expects = "a loopback address unless tls_client_ca, access_file or insecure is set: everybody there could \
                           do everything";
            return Err(self.refuse("listen", expects));
        }
        if c.advertise.is_none() && c.listen.ip().is_unspecified() {
            let expects =
                "one address of this machine unless advertise says where others reach this instance";
            return Err(self.refuse("listen", expects));
        }
        if !c.insecure && !c.http_listen.ip().is_loopback() {
            return Err(
                self.refuse("http_listen", "a loopback address unless insecure is set: HTTP has no TLS")
            );
        }
        Ok(())
    }

    /// Callers that are sent to http:// can't speak to a server that has TLS.
    fn check_advertise(&self) -> Result<(), ConfigError> {
        let c = &self.config;
        let is_plain = c.advertise.as_ref().is_some_and(|url| url.to_string().starts_with("http:"));
        if is_plain && c.tls_cert.is_some() {
            return Err(self.refuse("advertise", "an https:// URL, since tls_cert is set"));
        }
        Ok(())
    }

    /// Below a thousand bytes the names alone do not fit; above a million etcd takes no value.
    fn check_registration_bytes(&self) -> Result<(), ConfigError> {
        if (1_000..=1_000_000).contains(&self.config.max_registration_bytes) {
            Ok(())
        } else {
            Err(self.refuse("max_registration_bytes", "1000 to 1000000"))
        }
    }

    /// Below 2 s etcd keeps no lease; over a minute a group would stand still for longer than anybody wants.
    fn check_leader_ttl(&self) -> Result<(), ConfigError> {
        let allowed = Duration::from_secs(2)..=Duration::from_secs(60);
        if allowed.contains(&self.config.leader_ttl) {
            Ok(())
        } else {
            Err(self.refuse("leader_ttl", "2s to 1m"))
        }
    }

    /// After a minute most sessions are over by themselves.
    fn check_suspect_after(&self) -> Result<(), ConfigError> {
        if self.config.suspect_after <= Duration::from_secs(60) {
            Ok(())
        } else {
            Err(self.refuse("suspect_after", "at most 1m"))
        }
    }

    /// A view that nothing is wrong with is certain to be complete every 3 s; after a minute most sessions are over.
    fn check_stream_patience(&self) -> Result<(), ConfigError> {
        let allowed = Duration::from_secs(4)..=Duration::from_secs(60);
        if allowed.contains(&self.config.stream_patience) {
            Ok(())
        } else {
            Err(self.refuse("stream_patience", "4s to 1m"))
        }
    }

    fn check_group(&self) -> Result<(), ConfigError> {
        self.config.group_config().validate(Registry::builtin()).map_err(|invalid| match invalid {
            InvalidConfig::OutOfRange { field, low, high, .. } => self.refuse_group(field, low, high),
            InvalidConfig::AboveMaximum { .. } => {
                self.refuse("group_session_timeout", "at most group_max_session_timeout")
            }
            InvalidConfig::UnknownStrategy { known, .. } => {
                let alike = did_you_mean(&self.config.group_strategy.to_string(), known.split(", "));
                self.refuse("group_strategy", format!("one of {known}{alike}"))
            }
            InvalidConfig::UnknownSpread { .. } => self.refuse("group_spread_topics", "ties or moves"),
        })
    }

    fn refuse_group(&self, field: &str, low: u64, high: u64) -> ConfigError {
        match field.strip_suffix("_ms") {
            None => self.refuse(&format!("group_{field}"), format!("{low} to {high}")),
            Some(span) => {
                let [low, high] = [low, high].map(|ms| humantime::format_duration(Duration::from_millis(ms)));
                self.refuse(&format!("group_{span}"), format!("{low} to {high}"))
            }
        }
    }
}

#[cfg(test)]
#[path = "serve_test.rs"]
mod serve_test;
