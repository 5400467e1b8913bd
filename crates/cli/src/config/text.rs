//! Texts that keep a rule.

use std::fmt;

use kafka_assigner_kafka::{BrokerAddress, Mechanism};
use kafka_assigner_types::name::MemberName;
use tonic::transport::Uri;
use tracing_subscriber::filter::{LevelFilter, Targets};

use super::value::Value;

macro_rules! text_value {
    ($(#[$doc:meta])* $type:ident, $expects:literal, $rule:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(crate) struct $type(String);

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Value for $type {
            const EXPECTS: &'static str = $expects;

            fn read(value: &toml::Value) -> Option<Self> {
                value.as_str().filter(|text| $rule(text)).map(|text| Self(text.to_owned()))
            }

            fn write(&self) -> Option<toml::Value> {
                Some(toml::Value::from(self.0.as_str()))
            }
        }
    };
}

text_value!(
    /// The URL of a server for gRPC or HTTP.
    Endpoint,
    "a URL without a path, such as http://10.0.0.1:7420 or https://assigner.example:7420",
    is_endpoint
);
text_value!(
    /// A Kafka broker.
    Broker,
    "a host and a port, such as kafka-1:9092",
    is_broker
);

impl Broker {
    /// The address, checked when it was read.
    pub(crate) fn address(&self) -> BrokerAddress {
        self.0.parse().expect("it was read by the same rule")
    }
}

text_value!(
    /// The prefix of the keys of all groups.
    Prefix,
    "a text that begins and ends with a slash, such as /kafka-assigner/",
    is_prefix
);
text_value!(
    /// A name by the rule for names.
    Name,
    "1 to 249 of letters, digits, \".\", \"_\" and \"-\", and neither \".\" nor \"..\"",
    is_name
);
text_value!(
    /// A user.
    UserName,
    "a text",
    is_any
);

/// A way to log in to Kafka.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SaslMechanism(pub(crate) Mechanism);

impl Value for SaslMechanism {
    const EXPECTS: &'static str = "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512";
    const WORDS: &'static [&'static str] = &Mechanism::NAMES;

    fn read(value: &toml::Value) -> Option<Self> {
        value.as_str()?.parse().ok().map(Self)
    }

    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::from(self.0.name()))
    }
}

/// The filter of log lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogLevel(String);

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Value for LogLevel {
    const EXPECTS: &'static str =
        "off, error, warn, info, debug or trace, also by module, such as info,kafka_assigner_server=debug";
    const WORDS: &'static [&'static str] = &["off", "error", "warn", "info", "debug", "trace"];

    fn read(value: &toml::Value) -> Option<Self> {
        value.as_str().filter(|text| is_filter(text)).map(|text| Self(text.to_owned()))
    }

    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::from(self.0.as_str()))
    }
}

fn is_endpoint(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    let has_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
    has_scheme
        && uri.host().is_some_and(|host| !host.is_empty())
        && uri.path() == "/"
        && uri.query().is_none()
}

fn is_broker(text: &str) -> bool {
    text.parse::<BrokerAddress>().is_ok()
}

fn is_prefix(text: &str) -> bool {
    text.len() > 1 && text.starts_with('/') && text.ends_with('/')
}

fn is_name(text: &str) -> bool {
    MemberName::new(text).is_ok()
}

const fn is_any(_: &str) -> bool {
    true
}

fn is_filter(text: &str) -> bool {
    !text.is_empty() && text.split(',').all(is_directive) && text.parse::<Targets>().is_ok()
}

/// A level, or a module with one. A filter takes a lone word that is no level for a module, and so shows
/// nothing of anything else; nobody means that.
fn is_directive(text: &str) -> bool {
    let text = text.trim();
    let names_no_span = !text.contains('[');
    names_no_span && text.contains(['=', ':']) || text.parse::<LevelFilter>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(rule: fn(&str) -> bool, texts: &[&str]) -> Vec<bool> {
        texts.iter().map(|text| rule(text)).collect()
    }

    #[test]
    fn an_endpoint_is_a_url_without_a_path() {
        let good = ["http://127.0.0.1:7420", "https://assigner.example:7420", "http://[::1]:2379/"];
        assert_eq!(taken(is_endpoint, &good), [true; 3]);
        let bad = ["127.0.0.1:7420", "etcd:2379", "ftp://x", "http://x/path", "http://x?y", ""];
        assert_eq!(taken(is_endpoint, &bad), [false; 6]);
    }

    #[test]
    fn a_broker_is_a_host_and_a_port() {
        assert_eq!(taken(is_broker, &["kafka-1:9092", "[::1]:9092"]), [true; 2]);
        assert_eq!(taken(is_broker, &["kafka-1", ":9092", "k:0", "k:port", "http://k:1"]), [false; 5]);
    }

    #[test]
    fn a_prefix_is_enclosed_in_slashes() {
        assert_eq!(taken(is_prefix, &["/a/", "/a/b/"]), [true; 2]);
        assert_eq!(taken(is_prefix, &["", "/", "a/", "/a"]), [false; 4]);
    }

    #[test]
    fn a_log_level_is_a_filter() {
        assert_eq!(taken(is_filter, &["info", "warn,kafka_assigner_server=trace"]), [true; 2]);
        assert_eq!(
            taken(is_filter, &["", "server=loud", "chatty", "info,wran", "server[span]=info"]),
            [false; 5]
        );
    }
}
