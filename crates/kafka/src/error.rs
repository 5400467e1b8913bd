//! The errors of a conversation with one broker.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::address::BrokerAddress;
use crate::options::Mechanism;
use crate::sasl::ScramError;
use crate::tls::TlsFileError;
use crate::wire::{CodecError, VersionRange};

/// A broker could not be asked. Its text says what was asked, of whom, and what helps.
///
/// Trying again helps where the fault may pass by itself; [`Error::is_of_every_broker`] tells the others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The time is over.
    #[error("{broker} did not answer {asked} within {}; another broker is asked", seconds(*.within))]
    NoAnswer {
        /// The broker.
        broker: BrokerAddress,
        /// The step.
        asked: &'static str,
        /// The time that it had.
        within: Duration,
    },
    /// The broker can't be reached.
    #[error("{broker} can't be reached; check its address, and that it runs")]
    Connect {
        /// The broker.
        broker: BrokerAddress,
        /// The cause.
        source: io::Error,
    },
    /// No agreement on TLS.
    #[error(
        "{broker} and this client can't agree on TLS; check kafka_ca and the names in its certificate, and that its port speaks TLS"
    )]
    Tls {
        /// The broker.
        broker: BrokerAddress,
        /// The cause.
        source: io::Error,
    },
    /// A host that no certificate can name.
    #[error("{broker} has a name that no certificate can have; use another one with TLS")]
    ServerName {
        /// The broker.
        broker: BrokerAddress,
    },
    /// The broker closed the connection.
    #[error(
        "{broker} closed the connection instead of answering {asked}; check whether its port wants TLS or a login"
    )]
    Closed {
        /// The broker.
        broker: BrokerAddress,
        /// The step.
        asked: &'static str,
    },
    /// The connection broke.
    #[error("the connection to {broker} broke at {asked}")]
    Broken {
        /// The broker.
        broker: BrokerAddress,
        /// The step.
        asked: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The other side speaks TLS, and we do not.
    #[error("{broker} answers {asked} with TLS; set kafka_tls, or use its port without TLS")]
    SpeaksTls {
        /// The broker.
        broker: BrokerAddress,
        /// The step.
        asked: &'static str,
    },
    /// The answer is longer than any that is expected.
    #[error("{broker} answers {asked} with {length} bytes, and at most {most} are read")]
    TooLong {
        /// The broker.
        broker: BrokerAddress,
        /// The step.
        asked: &'static str,
        /// The length that the answer says.
        length: i64,
        /// The bound.
        most: usize,
    },
    /// The answer, or the request, can't be brought into the wire's form.
    #[error("the message {asked} of {broker} is malformed; check that a Kafka broker listens there")]
    Malformed {
        /// The broker.
        broker: BrokerAddress,
        /// The step.
        asked: &'static str,
        /// The cause.
        source: CodecError,
    },
    /// The broker is older than any that is supported.
    #[error(
        "{broker} is older than Kafka 2.4.1 (it knows {asked} in the versions {theirs}), which is the oldest that is supported; upgrade the brokers"
    )]
    TooOld {
        /// The broker.
        broker: BrokerAddress,
        /// The API.
        asked: &'static str,
        /// The versions that the broker knows.
        theirs: VersionRange,
    },
    /// No version in common.
    #[error(
        "{broker} does not offer {asked} in the versions {ours}; check that a Kafka broker listens there"
    )]
    NotOffered {
        /// The broker.
        broker: BrokerAddress,
        /// The API.
        asked: &'static str,
        /// The versions that this client knows.
        ours: VersionRange,
    },
    /// The broker has other mechanisms.
    #[error(
        "{broker} does not let users log in by {mechanism}; set kafka_sasl_mechanism to one of {offered:?}"
    )]
    Mechanism {
        /// The broker.
        broker: BrokerAddress,
        /// The mechanism that was asked for.
        mechanism: Mechanism,
        /// Those that the broker has.
        offered: Vec<String>,
    },
    /// The broker refuses the login.
    #[error(
        "{broker} refuses the login of {user} by {mechanism} ({said}); check kafka_user and the password"
    )]
    Login {
        /// The broker.
        broker: BrokerAddress,
        /// The user.
        user: String,
        /// The mechanism.
        mechanism: Mechanism,
        /// The broker's words.
        said: String,
    },
    /// The broker's part of a SCRAM login is wrong.
    #[error("{broker} does not prove that it knows the password of {user}")]
    Scram {
        /// The broker.
        broker: BrokerAddress,
        /// The user.
        user: String,
        /// The cause.
        source: ScramError,
    },
    /// The password file can't be read.
    #[error("the password file {path} can't be read", path = path.display())]
    Password {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The provider has no token.
    #[error("there is no token to log in with")]
    Token {
        /// The cause, in the provider's words.
        source: io::Error,
    },
    /// The broker could not be reached a moment ago, and is left alone for now.
    #[error("{broker} could not be reached lately, and is tried again in {}", seconds(*.wait))]
    Resting {
        /// The broker.
        broker: BrokerAddress,
        /// The time until it is tried again.
        wait: Duration,
    },
    /// A file for TLS can't be used.
    #[error(transparent)]
    Files(#[from] TlsFileError),
    /// The broker answers with an error.
    #[error("{broker} refuses {asked} with error {code}; another broker is asked")]
    Refused {
        /// The broker.
        broker: BrokerAddress,
        /// The API.
        asked: &'static str,
        /// Kafka's number of the error.
        code: i16,
    },
}

/// `2 s`, `1.5 s`.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

impl Error {
    /// True where every broker of the cluster would say the same, until a setting, a file or the cluster changes.
    #[must_use]
    pub const fn is_of_every_broker(&self) -> bool {
        matches!(
            self,
            Self::Mechanism { .. }
                | Self::Login { .. }
                | Self::Password { .. }
                | Self::Token { .. }
                | Self::Files(_)
                | Self::TooOld { .. }
        )
    }

    /// True where the connection ended, as brokers do with one that was quiet for long.
    pub(crate) const fn is_end_of_connection(&self) -> bool {
        matches!(self, Self::Closed { .. } | Self::Broken { .. })
    }

    /// The kind of the error as a label of metrics: few words that stay the same.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::NoAnswer { .. } => "no_answer",
            Self::Connect { .. } | Self::Resting { .. } => "unreachable",
            Self::Tls { .. } | Self::ServerName { .. } | Self::SpeaksTls { .. } | Self::Files(_) => "tls",
            Self::Closed { .. } | Self::Broken { .. } => "closed",
            Self::TooLong { .. } | Self::Malformed { .. } => "malformed",
            Self::TooOld { .. } | Self::NotOffered { .. } => "version",
            Self::Mechanism { .. }
            | Self::Login { .. }
            | Self::Scram { .. }
            | Self::Password { .. }
            | Self::Token { .. } => "login",
            Self::Refused { .. } => "refused",
        }
    }
}
