//! The options of a client.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::address::BrokerAddress;
use crate::sasl::TokenProvider;

/// The time that a broker has to accept a connection and log us in, and for each answer. A broker in another region
/// takes six round trips of 200 ms at most; a frozen one must be left for another soon.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The way to a cluster.
#[derive(Debug, Clone)]
pub struct Options {
    /// The brokers that are asked first; others are learnt from them.
    pub bootstrap: Vec<BrokerAddress>,
    /// TLS; `None`: plain TCP.
    pub tls: Option<BrokerTls>,
    /// The login; `None`: none is needed.
    pub login: Option<Login>,
    /// The name that the client gives itself, shown in brokers' logs and quotas.
    pub client_id: String,
    /// The time that a broker has for a connection, and for the beginning of each answer; 2 s.
    pub patience: Duration,
}

impl Options {
    /// Plain TCP without a login.
    #[must_use]
    pub fn new(bootstrap: Vec<BrokerAddress>) -> Self {
        Self { bootstrap, tls: None, login: None, client_id: "kafka-assigner".to_owned(), patience: PATIENCE }
    }
}

/// The trust in brokers over TLS, and the certificate for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrokerTls {
    /// The CA certificates, a PEM file; `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// The certificate to show to brokers.
    pub identity: Option<Identity>,
}

/// A certificate with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate chain, a PEM file.
    pub certificate: PathBuf,
    /// The private key, a PEM file.
    pub key: PathBuf,
}

/// A user with the way to log in.
#[derive(Debug, Clone)]
pub struct Login {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// The user; of OAUTHBEARER the identity to act as, mostly empty: that of the token.
    pub user: String,
    /// The origin of the password, or of the token.
    pub password: PasswordOrigin,
}

/// A mechanism of SASL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// The password as it is; only over TLS is it a secret.
    Plain,
    /// A proof of the password, SHA-256 (RFC 7677).
    ScramSha256,
    /// A proof of the password, SHA-512.
    ScramSha512,
    /// A token that somebody else has made (RFC 7628); only over TLS is it a secret. No word of settings: tokens mostly
    /// come from a program, see [`PasswordOrigin::Provider`].
    OAuthBearer,
}

/// A word that is no mechanism.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no mechanism: it must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")]
pub struct UnknownMechanism(String);

impl Mechanism {
    /// The names of those that settings can choose, as SASL has them.
    pub const NAMES: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];

    /// The name, as SASL has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => Self::NAMES[0],
            Self::ScramSha256 => Self::NAMES[1],
            Self::ScramSha512 => Self::NAMES[2],
            Self::OAuthBearer => "OAUTHBEARER",
        }
    }
}

impl FromStr for Mechanism {
    type Err = UnknownMechanism;

    fn from_str(name: &str) -> Result<Self, UnknownMechanism> {
        let all = [Self::Plain, Self::ScramSha256, Self::ScramSha512];
        all.into_iter().find(|known| known.name() == name).ok_or_else(|| UnknownMechanism(name.to_owned()))
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The origin of a password, or of a token.
#[derive(Clone)]
pub enum PasswordOrigin {
    /// The password itself.
    Given(String),
    /// A file that has nothing else; it is read at every login, without a line break at its end.
    File(PathBuf),
    /// A program that is asked at every login.
    Provider(Arc<dyn TokenProvider>),
}

/// Two providers are equal where they are the same one.
impl PartialEq for PasswordOrigin {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Given(own), Self::Given(other)) => own == other,
            (Self::File(own), Self::File(other)) => own == other,
            (Self::Provider(own), Self::Provider(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }
}

impl Eq for PasswordOrigin {}

/// The longest file of a password or a token, in bytes. More is taken for another file by mistake; tokens with many
/// claims have some thousand.
const LONGEST_PASSWORD: u64 = 16 * 1024;

impl PasswordOrigin {
    /// The password as it is now.
    pub(crate) async fn read(&self) -> io::Result<String> {
        match self {
            Self::Given(password) => Ok(password.clone()),
            Self::File(path) => {
                let path = path.clone();
                tokio::task::spawn_blocking(move || read_file(&path)).await.map_err(io::Error::other)?
            }
            Self::Provider(provider) => provider.token().await,
        }
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(LONGEST_PASSWORD + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_PASSWORD {
        return Err(io::Error::other("it has more than 16384 bytes"));
    }
    let password = text.strip_suffix('\n').unwrap_or(&text);
    Ok(password.strip_suffix('\r').unwrap_or(password).to_owned())
}

/// Shows no password.
impl fmt::Debug for PasswordOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(_) => f.write_str("(hidden)"),
            Self::File(path) => write!(f, "File({})", path.display()),
            Self::Provider(_) => f.write_str("(a provider)"),
        }
    }
}

/// A user with its password, as it is at this login.
#[derive(Clone)]
pub(crate) struct UserPassword {
    /// The user.
    pub(crate) user: String,
    /// The password.
    pub(crate) password: String,
}

/// Shows no password.
impl fmt::Debug for UserPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserPassword({})", self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        let password = PasswordOrigin::Given("hunter2".to_owned());
        let login = Login { mechanism: Mechanism::Plain, user: "me".to_owned(), password };
        let options = Options { login: Some(login), ..Options::new(Vec::new()) };
        let shown = format!("{options:?} {options:#?}");
        assert!(shown.contains("me") && !shown.contains("hunter2"), "{shown}");
        let credentials = UserPassword { user: "me".to_owned(), password: "hunter2".to_owned() };
        assert_eq!(format!("{credentials:?}"), "UserPassword(me)");
    }

    #[test]
    fn a_password_file_ends_with_one_line_break_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        for (text, password) in [("a b ", "a b "), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n")] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(read_file(&file).unwrap(), password);
        }
        std::fs::write(&file, "x".repeat(20_000)).unwrap();
        assert!(read_file(&file).is_err());
    }

    #[test]
    fn a_mechanism_has_the_name_that_sasl_gives_it() {
        for name in Mechanism::NAMES {
            assert_eq!(name.parse::<Mechanism>().unwrap().to_string(), name);
        }
        assert!("GSSAPI".parse::<Mechanism>().unwrap_err().to_string().contains("SCRAM-SHA-256"));
    }
}
