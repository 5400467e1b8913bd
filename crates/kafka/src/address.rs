//! The addresses of brokers.

use std::fmt;
use std::str::FromStr;

/// The host and the port at which a broker is reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BrokerAddress {
    /// A name or an IP address, without brackets.
    pub host: String,
    /// The port, not 0.
    pub port: u16,
}

/// A text that is no address of a broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of a broker: it must be a host and a port, such as kafka-1:9092")]
pub struct InvalidAddress(String);

/// The longest name that DNS has.
const LONGEST_HOST: usize = 253;

impl BrokerAddress {
    /// The address, where a host may have that name and a port that number.
    #[must_use]
    pub fn new(host: &str, port: i32) -> Option<Self> {
        let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
        let plausible = !host.is_empty() && host.len() <= LONGEST_HOST;
        let clean = host.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '/' | '[' | ']' | ','));
        (plausible && clean).then(|| Self { host: host.to_owned(), port })
    }
}

/// `host:port`, or `[address]:port` for IPv6.
impl FromStr for BrokerAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let read = || {
            let (host, port) = text.rsplit_once(':')?;
            let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
            Self::new(host, port.parse().ok()?)
        };
        read().ok_or_else(|| InvalidAddress(text.to_owned()))
    }
}

impl fmt::Display for BrokerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_as_it_is_written() {
        for text in ["kafka-1:9092", "127.0.0.1:1", "[::1]:9092"] {
            assert_eq!(text.parse::<BrokerAddress>().unwrap().to_string(), text);
        }
        assert_eq!("[::1]:9092".parse::<BrokerAddress>().unwrap().host, "::1");
    }

    #[test]
    fn others_are_refused_with_the_rule() {
        for text in ["kafka-1", ":9092", "k:0", "k:65536", "http://k:1", "a b:1"] {
            let error = text.parse::<BrokerAddress>().unwrap_err().to_string();
            assert!(error.contains("it must be a host and a port"), "{error}");
        }
    }
}
