//! The sockets of an instance, and the settings by which they are served.

use std::fmt;
use std::path::PathBuf;

use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

/// The sockets on which an instance listens.
#[derive(Debug)]
pub struct Listeners {
    /// For consumers and operators.
    pub grpc: TcpListener,
    /// For probes and metrics; `None`: there are neither.
    pub http: Option<Http>,
}

/// The listener for probes and metrics. It has no TLS.
#[derive(Debug)]
pub struct Http {
    /// The address on which it listens.
    pub listener: TcpListener,
    /// The metrics that `/metrics` shows: the registry that the instance was started with.
    pub registry: Registry,
}

/// The settings by which an instance is served.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// The certificates of gRPC; `None`: in the clear.
    pub tls: Option<Tls>,
    /// The file of tokens and rules that says who may do what; `None`: everybody who can connect may do everything. With
    /// such a file callers may show a token in the place of a certificate.
    pub access_file: Option<PathBuf>,
    /// True if it may listen beyond this machine without TLS.
    pub insecure: bool,
}

/// The certificates of an instance, each as PEM.
#[derive(Clone)]
pub struct Tls {
    /// Its certificate chain.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Vec<u8>,
    /// The CA that must have signed the certificates of clients; `None`: clients need none.
    pub client_ca: Option<Vec<u8>>,
}

impl fmt::Debug for Tls {
    /// Shows no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("mutual", &self.client_ca.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let tls = Tls { certificate: b"c".to_vec(), key: b"secret".to_vec(), client_ca: None };
        assert_eq!(format!("{tls:?}"), "Tls { mutual: false, .. }");
    }
}
