//! The connection to an instance, and the flags for it.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kafka_assigner_proto::v1::admin_client::AdminClient;
use kafka_assigner_proto::{BearerToken, TokenOrigin};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use super::connected::Admin;
use super::tls::{Files, tls_words};
use crate::command_error::CommandError;
use crate::pem::{certificates, private_key, text_file};

/// The longest time for a connection: long enough for a few lost packets, short enough for a person at a prompt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The interval of keep-alive pings on an idle connection, and the time for their answer; so `watch` ends when the instance
/// vanishes without a word.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The flags for the connection to an instance.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionFlags {
    /// The gRPC address of any instance, or of several, separated by commas: the first that answers is asked. Without
    /// http:// or https:// it is https:// where --ca, --cert or --token-file is given, and else http://
    #[arg(
        long,
        value_name = "URL",
        env = "KAFKA_ASSIGNER_SERVER", hide_env_values = true,
        default_value = "127.0.0.1:7420",
        value_delimiter = ',',
        value_parser = address
    )]
    server: Vec<String>,
    /// The CA certificates that verify the instance's certificate, a PEM file; without it the system's
    #[arg(long, value_name = "FILE", env = "KAFKA_ASSIGNER_CA", hide_env_values = true)]
    ca: Option<PathBuf>,
    /// The certificate to show to the instance, a PEM file
    #[arg(long, value_name = "FILE", env = "KAFKA_ASSIGNER_CERT", hide_env_values = true, requires = "key")]
    cert: Option<PathBuf>,
    /// The private key for --cert, a PEM file
    #[arg(long, value_name = "FILE", env = "KAFKA_ASSIGNER_KEY", hide_env_values = true, requires = "cert")]
    key: Option<PathBuf>,
    /// The file with the bearer token to show to the instance, and nothing else
    #[arg(long, value_name = "FILE", env = "KAFKA_ASSIGNER_TOKEN_FILE", hide_env_values = true)]
    token_file: Option<PathBuf>,
}

/// An address with or without a scheme.
fn address(text: &str) -> Result<String, String> {
    use crate::config::{Endpoint, Value as _};
    let is_url = Endpoint::read(&toml::Value::from(with_scheme(text, "http"))).is_some();
    if is_url {
        Ok(text.to_owned())
    } else {
        Err(format!("it must be a host and a port, or {}", Endpoint::EXPECTS))
    }
}

fn with_scheme(address: &str, scheme: &str) -> String {
    if address.contains("://") { address.to_owned() } else { format!("{scheme}://{address}") }
}

impl ConnectionFlags {
    /// Connects to the first address that answers; each has five seconds.
    ///
    /// # Errors
    /// [`CommandError::Unreadable`] for a file, [`CommandError::NeedsHttps`] for flags that don't fit an address; else
    /// that of the last address: [`CommandError::Tls`] or [`CommandError::Unreachable`], which names all of them.
    pub(crate) async fn connect(&self) -> Result<Admin, CommandError> {
        let token = self.token()?;
        let mut failure = None;
        for server in self.servers() {
            match self.endpoint(&server)?.connect().await {
                Ok(channel) => return Ok(Admin::new(AdminClient::with_interceptor(channel, token), server)),
                Err(source) => failure = Some(self.failed(&server, source)),
            }
        }
        Err(failure.expect("the flag has a default, so that there is an address"))
    }

    fn servers(&self) -> Vec<String> {
        let is_secured = [&self.ca, &self.cert, &self.token_file].iter().any(|file| file.is_some());
        let scheme = if is_secured { "https" } else { "http" };
        self.server.iter().map(|address| with_scheme(address, scheme)).collect()
    }

    fn endpoint(&self, server: &str) -> Result<Endpoint, CommandError> {
        let endpoint = Endpoint::from_shared(server.to_owned())
            .map_err(|source| self.unreachable(source))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .keep_alive_while_idle(true);
        if !server.starts_with("https:") {
            return self.without_tls(server).map(|()| endpoint);
        }
        endpoint.tls_config(self.tls()?).map_err(|source| self.tls_failed(server, &words(&source)))
    }

    fn token(&self) -> Result<BearerToken, CommandError> {
        let Some(path) = &self.token_file else { return Ok(BearerToken::default()) };
        // Read here, so that a file that can't be is said to be one.
        let token = text_file("--token-file", path)?;
        Ok(BearerToken::from_origin(TokenOrigin::Given(token.trim().to_owned())))
    }

    fn without_tls(&self, server: &str) -> Result<(), CommandError> {
        for (flag, file) in [("ca", &self.ca), ("cert", &self.cert)] {
            if file.is_some() {
                return Err(CommandError::NeedsHttps { flag, server: server.to_owned() });
            }
        }
        Ok(())
    }

    fn tls(&self) -> Result<ClientTlsConfig, CommandError> {
        let mut tls = match &self.ca {
            Some(ca) => {
                ClientTlsConfig::new().ca_certificate(Certificate::from_pem(certificates("--ca", ca)?))
            }
            None => ClientTlsConfig::new().with_native_roots(),
        };
        if let (Some(cert), Some(key)) = (&self.cert, &self.key) {
            tls = tls.identity(Identity::from_pem(certificates("--cert", cert)?, private_key("--key", key)?));
        }
        Ok(tls)
    }

    /// A failed handshake is no silence: somebody answered.
    fn failed(&self, server: &str, source: tonic::transport::Error) -> CommandError {
        let words = words(&source);
        let is_tls =
            ["certificate", "KeyMismatch", "HandshakeFailure", "InvalidContentType", "trust anchors"];
        if server.starts_with("https:") && is_tls.iter().any(|sign| words.contains(sign)) {
            self.tls_failed(server, &words)
        } else {
            self.unreachable(source)
        }
    }

    fn tls_failed(&self, server: &str, words: &str) -> CommandError {
        let why = tls_words(words, &Files { ca: &self.ca, cert: &self.cert, key: &self.key });
        CommandError::Tls { server: server.to_owned(), why }
    }

    fn unreachable(&self, source: tonic::transport::Error) -> CommandError {
        CommandError::Unreachable { server: self.servers().join(", "), source }
    }
}

/// The innermost cause: what wraps it repeats it or adds nothing.
fn words(error: &tonic::transport::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}
