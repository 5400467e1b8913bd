//! How an instance is reached.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use kafka_assigner_proto::v1::admin_client::AdminClient;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use super::Admin;
use crate::failure::Failure;

/// How long a connection may take: a few lost packets, but not a person's patience.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How often an idle connection is tried, and how long it may stay silent then; so `watch` ends when the instance
/// vanishes without a word.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The largest answer: the 20 000 entries of a plan with the longest names fit in.
const LARGEST_ANSWER: usize = 64 << 20;

/// The flags that say how an instance is reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Connection {
    /// The gRPC address of any instance
    #[arg(
        long,
        value_name = "URL",
        env = "KAFKA_ASSIGNER_SERVER", hide_env_values = true,
        default_value = "http://127.0.0.1:7420",
        value_parser = url
    )]
    server: String,
    /// The authorities that the instance's certificate is checked against, a PEM file; without it the system's
    #[arg(long, value_name = "FILE", env = "KAFKA_ASSIGNER_CA", hide_env_values = true)]
    ca: Option<PathBuf>,
    /// The certificate to show to the instance, a PEM file
    #[arg(long, value_name = "FILE", env = "KAFKA_ASSIGNER_CERT", hide_env_values = true, requires = "key")]
    cert: Option<PathBuf>,
    /// The private key for --cert, a PEM file
    #[arg(long, value_name = "FILE", env = "KAFKA_ASSIGNER_KEY", hide_env_values = true, requires = "cert")]
    key: Option<PathBuf>,
}

fn url(text: &str) -> Result<String, String> {
    use crate::config::{Endpoint, Value as _};
    let is_endpoint = Endpoint::read(&toml::Value::from(text)).is_some();
    if is_endpoint { Ok(text.to_owned()) } else { Err(format!("it must be {}", Endpoint::EXPECTS)) }
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// [`Failure::Unreadable`] for a file, [`Failure::Unreachable`] for everything else.
    pub(crate) async fn connect(&self) -> Result<Admin, Failure> {
        let channel = self.endpoint()?.connect().await.map_err(|source| self.unreachable(source))?;
        let client = AdminClient::new(channel).max_decoding_message_size(LARGEST_ANSWER);
        Ok(Admin { client, server: self.server.clone() })
    }

    fn endpoint(&self) -> Result<Endpoint, Failure> {
        let endpoint = Endpoint::from_shared(self.server.clone())
            .map_err(|source| self.unreachable(source))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .keep_alive_while_idle(true);
        if !self.server.starts_with("https:") {
            return Ok(endpoint);
        }
        endpoint.tls_config(self.tls()?).map_err(|source| self.unreachable(source))
    }

    fn tls(&self) -> Result<ClientTlsConfig, Failure> {
        let mut tls = match &self.ca {
            Some(ca) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read("--ca", ca)?)),
            None => ClientTlsConfig::new().with_native_roots(),
        };
        if let (Some(cert), Some(key)) = (&self.cert, &self.key) {
            tls = tls.identity(Identity::from_pem(read("--cert", cert)?, read("--key", key)?));
        }
        Ok(tls)
    }

    fn unreachable(&self, source: tonic::transport::Error) -> Failure {
        Failure::Unreachable { server: self.server.clone(), source }
    }
}

fn read(flag: &'static str, path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|source| Failure::Unreadable { flag, path: path.to_owned(), source })
}
