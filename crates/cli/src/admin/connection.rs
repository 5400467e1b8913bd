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

/// The largest answer: the 20 000 entries of a plan with the longest names fit in.
const LARGEST_ANSWER: usize = 64 << 20;

/// The flags for the connection to an instance.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionFlags {
    /// The gRPC address of any instance
    #[arg(
        long,
        value_name = "URL",
        env = "KAFKA_ASSIGNER_SERVER", hide_env_values = true,
        default_value = "http://127.0.0.1:7420",
        value_parser = url
    )]
    server: String,
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

fn url(text: &str) -> Result<String, String> {
    use crate::config::{Endpoint, Value as _};
    let is_endpoint = Endpoint::read(&toml::Value::from(text)).is_some();
    if is_endpoint { Ok(text.to_owned()) } else { Err(format!("it must be {}", Endpoint::EXPECTS)) }
}

impl ConnectionFlags {
    /// Connects.
    ///
    /// # Errors
    /// [`CommandError::Unreadable`] for a file, [`CommandError::Unreachable`] for everything else.
    pub(crate) async fn connect(&self) -> Result<Admin, CommandError> {
        let channel = self.endpoint()?.connect().await.map_err(|source| self.failed(source))?;
        let client = AdminClient::with_interceptor(channel, self.token()?);
        let client = client.max_decoding_message_size(LARGEST_ANSWER);
        Ok(Admin { client, server: self.server.clone() })
    }

    fn endpoint(&self) -> Result<Endpoint, CommandError> {
        let endpoint = Endpoint::from_shared(self.server.clone())
            .map_err(|source| self.unreachable(source))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .keep_alive_while_idle(true);
        if !self.server.starts_with("https:") {
            return self.without_tls().map(|()| endpoint);
        }
        endpoint.tls_config(self.tls()?).map_err(|source| self.tls_failed(&words(&source)))
    }

    fn token(&self) -> Result<BearerToken, CommandError> {
        let Some(path) = &self.token_file else { return Ok(BearerToken::default()) };
        // Read here, so that a file that can't be is said to be one.
        let token = text_file("--token-file", path)?;
        Ok(BearerToken::from_origin(TokenOrigin::Given(token.trim().to_owned())))
    }

    fn without_tls(&self) -> Result<(), CommandError> {
        for (flag, file) in [("ca", &self.ca), ("cert", &self.cert)] {
            if file.is_some() {
                return Err(CommandError::NeedsHttps { flag, server: self.server.clone() });
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
    fn failed(&self, source: tonic::transport::Error) -> CommandError {
        let words = words(&source);
        let is_tls =
            ["certificate", "KeyMismatch", "HandshakeFailure", "InvalidContentType", "trust anchors"];
        if self.server.starts_with("https:") && is_tls.iter().any(|sign| words.contains(sign)) {
            self.tls_failed(&words)
        } else {
            self.unreachable(source)
        }
    }

    fn tls_failed(&self, words: &str) -> CommandError {
        let why = tls_words(words, &Files { ca: &self.ca, cert: &self.cert, key: &self.key });
        CommandError::Tls { server: self.server.clone(), why }
    }

    fn unreachable(&self, source: tonic::transport::Error) -> CommandError {
        CommandError::Unreachable { server: self.server.clone(), source }
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
