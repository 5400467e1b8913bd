//! The errors of commands: message, exit code and hint.

mod flags;

use std::error::Error;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kafka_assigner_proto::{Reason, ReasonExt as _};
use tonic::{Code, Status};

use crate::command_error::flags::in_flags;
use crate::config::ConfigError;
use crate::kafka_groups::KafkaGroupsError;
use crate::store::StoreCommandError;

/// The reasons for which a command fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The configuration is wrong.
    #[error("wrong configuration")]
    Config(#[from] ConfigError),
    /// A file named by a flag or a setting can't be read.
    #[error("can't read {flag} {path}", path = path.display())]
    Unreadable {
        /// The flag or the setting that named it.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Nothing answers at the address.
    #[error("no instance answers at {server}")]
    Unreachable {
        /// The address.
        server: String,
        /// The cause.
        source: tonic::transport::Error,
    },
    /// The connection broke, or what answers is no instance.
    #[error("the connection to {server} failed")]
    Broken {
        /// The address.
        server: String,
        /// The cause.
        source: Box<Status>,
    },
    /// The instance did not answer in time.
    #[error("{server} did not answer within {}", humantime::format_duration(*after))]
    TimedOut {
        /// The address.
        server: String,
        /// The time that it had.
        after: Duration,
    },
    /// TLS could not be agreed on with what answers at the address.
    #[error("TLS with {server} failed: {why}")]
    Tls {
        /// The address.
        server: String,
        /// The fault, with the files that it concerns.
        why: String,
    },
    /// Flags of the connection that don't fit each other.
    #[error("--{flag} is for https:// addresses, and --server is {server}")]
    NeedsHttps {
        /// The flag.
        flag: &'static str,
        /// The address.
        server: String,
    },
    /// The instance said no.
    #[error("{}", refusal(status, alike))]
    Refused {
        /// Its words.
        status: Box<Status>,
        /// The group that it was asked about, for the hint.
        group: Option<String>,
        /// The name that was probably meant, as the end of the message; empty where none is known.
        alike: String,
    },
    /// A filter names something that the group does not have.
    #[error("no {kind} {name:?} in group {group}{alike}")]
    NotInGroup {
        /// `consumer` or `topic`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The group.
        group: String,
        /// The name that was meant, perhaps.
        alike: String,
    },
    /// A command that changes something names nothing to change.
    #[error("nothing to change: name what is to be changed")]
    NothingToChange,
    /// The instance answered with something that this version does not understand.
    #[error("the answer of {server} makes no sense: {what}")]
    Nonsense {
        /// The address.
        server: String,
        /// The fault of the answer.
        what: &'static str,
    },
    /// Something that deletes was neither confirmed by `--yes` nor could a terminal be asked.
    #[error("--yes is needed to {what}, since there is no terminal to ask on")]
    Unconfirmed {
        /// The action that would be taken.
        what: String,
    },
    /// The operator said no.
    #[error("nothing was changed")]
    Declined,
    /// The connection broke during a stream. The library's words for it name frames and bodies, which nobody can act on.
    #[error("the connection to {server} was lost")]
    StreamLost {
        /// The address.
        server: String,
    },
    /// `plan --strategy` names a strategy that there is not.
    #[error("--strategy {name:?} is refused: no strategy has this name{alike}")]
    UnknownStrategy {
        /// The name.
        name: String,
        /// The name that was probably meant, as the end of the message.
        alike: String,
    },
    /// The instance ended a stream that goes on until it is interrupted.
    #[error("{server} ended the stream")]
    StreamEnded {
        /// The address.
        server: String,
    },
    /// An instance can't listen.
    #[error("can't listen on {address} ({setting})")]
    Listen {
        /// The setting with the address.
        setting: &'static str,
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// An instance can't use its store.
    #[error("the store can't be used")]
    Store(#[from] kafka_assigner_store::Error),
    /// The store does not have, or takes, what a command is about.
    #[error(transparent)]
    StoreCommand(#[from] StoreCommandError),
    /// Kafka's groups can't be shown.
    #[error(transparent)]
    KafkaGroups(#[from] KafkaGroupsError),
    /// The client for Kafka can't be set up.
    #[error("the files for TLS with Kafka can't be used")]
    Kafka(#[source] kafka_assigner_kafka::TlsFileError),
    /// An instance can't go on, or could not begin.
    #[error("the instance has stopped")]
    Serve(#[from] kafka_assigner_server::serve::Error),
    /// The demonstration could not be played to its end.
    #[cfg(feature = "demo")]
    #[error("{}", demo_words(.0))]
    Demo(#[from] kafka_assigner_demo::Error),
    /// The demonstration's counts are not what they must be.
    #[cfg(feature = "demo")]
    #[error("something was lost, out of order, or wrong: see the counts; --seed repeats the run's choices")]
    DemoUnclean,
    /// Lines of the input make no sense; each was answered with what is wrong.
    #[error("{refused} of {read} lines were refused: their answers say why")]
    LinesRefused {
        /// The number of refused lines.
        refused: u64,
        /// The number of lines read.
        read: u64,
    },
    /// The signals that stop an instance can't be received.
    #[error("can't wait for signals")]
    Signals(#[source] std::io::Error),
    /// The output can't be written.
    #[error("can't write the output")]
    Output(#[source] std::io::Error),
}

/// Adds what a cause says for itself. A layer that only repeats what it wraps adds nothing, nor does tonic's name
/// for its own layer.
fn add_cause(text: &mut String, cause: &(dyn Error + 'static)) {
    let status = cause.downcast_ref::<Box<Status>>().map(|status| &**status);
    let words = match status.or_else(|| cause.downcast_ref::<Status>()) {
        // Its own text has its cause as well, in Rust's notation.
        Some(status) => status.message().to_owned(),
        None => cause.to_string(),
    };
    if !words.is_empty() && !text.ends_with(&words) && words != "transport error" {
        write!(text, ": {words}").expect("a String takes everything");
    }
}

/// The words of an error that the typed text or the given address causes; the rest is the demonstration's own.
#[cfg(feature = "demo")]
fn demo_words(error: &kafka_assigner_demo::Error) -> String {
    use kafka_assigner_demo::Error;
    match error {
        Error::Option(_) | Error::NoBroker { .. } => error.to_string(),
        _ => "the demonstration failed".to_owned(),
    }
}

/// The message of the status, with the name that was probably meant, its code and its reason.
fn refusal(status: &Status, alike: &str) -> String {
    let message = if status.message().is_empty() { status.code().description() } else { status.message() };
    let message = in_flags(message).unwrap_or_else(|| message.to_owned());
    let code = code_name(status.code());
    match status.reason() {
        Some(reason) => format!("{message}{alike} ({code}, {reason})"),
        None => format!("{message}{alike} ({code})"),
    }
}

/// The code as gRPC's own documents write it: `NotFound` is `NOT_FOUND`.
fn code_name(code: Code) -> String {
    let mut name = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

impl CommandError {
    /// The process's exit code: 1 = refused or failed, 2 = wrong usage or configuration, 3 = no instance reached.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_)
            | Self::LinesRefused { .. }
            | Self::Unreadable { .. }
            | Self::Unconfirmed { .. }
            | Self::NeedsHttps { .. }
            | Self::NothingToChange
            | Self::Kafka(_) => 2,
            #[cfg(feature = "demo")]
            Self::Demo(kafka_assigner_demo::Error::Option(_)) => 2,
            Self::StoreCommand(error) => error.exit_code(),
            Self::KafkaGroups(error) => error.exit_code(),
            Self::Unreachable { .. }
            | Self::Broken { .. }
            | Self::StreamLost { .. }
            | Self::TimedOut { .. }
            | Self::Tls { .. } => 3,
            Self::Refused { .. }
            | Self::NotInGroup { .. }
            | Self::UnknownStrategy { .. }
            | Self::Nonsense { .. }
            | Self::Declined
            | Self::StreamEnded { .. }
            | Self::Listen { .. }
            | Self::Store(_)
            | Self::Serve(_)
            | Self::Signals(_)
            | Self::Output(_) => 1,
            #[cfg(feature = "demo")]
            Self::Demo(_) | Self::DemoUnclean => 1,
        }
    }

    /// True if the reader of the output has closed it, as `head` does: there is nobody to report to.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// The failure with its causes, and what to do next.
    pub(crate) fn report(&self) -> String {
        let mut text = format!("error: {self}");
        let mut cause = self.source();
        while let Some(error) = cause {
            add_cause(&mut text, error);
            cause = error.source();
        }
        if let Some(hint) = self.hint() {
            write!(text, "\nhint: {hint}").expect("a String takes everything");
        }
        text
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { status, group, .. } if status.code() != Code::Unimplemented => {
                let group = group.as_deref().unwrap_or("GROUP");
                Some(hint(status.reason()?)?.replace("GROUP", group))
            }
            Self::NotInGroup { kind: "topic", group, .. } => {
                Some(hint(Reason::TopicNotFound)?.replace("GROUP", group))
            }
            Self::NotInGroup { group, .. } => Some(hint(Reason::ConsumerNotFound)?.replace("GROUP", group)),
            _ => self.fixed_hint().map(str::to_owned),
        }
    }

    /// The instance's refusal, before it is known which group it concerns.
    pub(crate) fn refused(status: Status) -> Self {
        Self::Refused { status: Box::new(status), group: None, alike: String::new() }
    }

    fn fixed_hint(&self) -> Option<&'static str> {
        match self {
            Self::Config(_) => Some("`kafka-assigner serve --help` lists the settings"),
            Self::Unreachable { .. } => {
                Some("start an instance with `kafka-assigner serve`, or name another one with --server")
            }
            Self::Broken { .. } => {
                Some("--server must be an instance's gRPC address, with https:// where it has TLS")
            }
            Self::TimedOut { .. } => {
                Some("name another instance with --server, or look at this one's /readyz")
            }
            Self::Nonsense { .. } => Some("use the version of this program that the instance has"),
            Self::UnknownStrategy { .. } => {
                Some("`kafka-assigner strategies` lists the strategies of this version")
            }
            Self::StreamLost { .. } => {
                Some("run it again, or with --server for another instance; it shows the present state first")
            }
            Self::StreamEnded { .. } => Some("run it again; it shows the present state first"),
            Self::Refused { .. } => {
                Some("--server must be an instance's gRPC address, and the instance as new as this program")
            }
            Self::Tls { .. } => Some(
                "--ca names the certificates that sign the instance's, --cert and --key what is shown to it",
            ),
            Self::NothingToChange => Some("`kafka-assigner group set --help` lists what can be set"),
            Self::Listen { .. } => Some("another process may have it: name a free port, or 0 for any"),
            Self::Store(_) => {
                Some("`kafka-assigner serve --print-config` shows which store is used and who said so")
            }
            Self::StoreCommand(error) => Some(error.hint()),
            Self::KafkaGroups(error) => Some(error.hint()),
            Self::LinesRefused { .. }
            | Self::Unreadable { .. }
            | Self::Unconfirmed { .. }
            | Self::NeedsHttps { .. }
            | Self::NotInGroup { .. }
            | Self::Declined
            | Self::Kafka(_)
            | Self::Serve(_)
            | Self::Signals(_)
            | Self::Output(_) => None,
            #[cfg(feature = "demo")]
            Self::Demo(_) | Self::DemoUnclean => None,
        }
    }
}

fn hint(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::GroupNotFound => Some("`kafka-assigner groups` lists the groups"),
        Reason::TopicNotFound | Reason::PartitionNotFound => {
            Some("`kafka-assigner topics GROUP` lists the topics with their partitions")
        }
        Reason::ConsumerNotFound => Some("`kafka-assigner consumers GROUP` lists the consumers"),
        Reason::HandoffNotFound => Some("`kafka-assigner handoffs GROUP` lists the moves under way"),
        Reason::PartitionNotStopped => {
            Some("`kafka-assigner explain GROUP TOPIC PARTITION` shows how it stands")
        }
        Reason::GroupInUse => Some("stop its consumers first; `kafka-assigner consumers GROUP` lists them"),
        Reason::CallerUnknown => Some(
            "show a certificate with --cert and --key, or a token with --token-file, that the instances know",
        ),
        Reason::HeldByAnother => Some("`kafka-assigner consumers GROUP -o wide` shows whose session it is"),
        Reason::NotAllowed => {
            Some("whoever keeps the access file of the instances can allow it: `kafka-assigner access check`")
        }
        Reason::KafkaNotConfigured => Some("say how many partitions it has with --partitions"),
        Reason::LostRace | Reason::StoreUnavailable => Some("nothing was lost; try again"),
        Reason::ViewBehind | Reason::ShuttingDown => Some("try again, or another instance with --server"),
        Reason::ReaderTooSlow => Some("run it again; it shows the present state first"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_proto::status;

    use super::*;

    #[test]
    fn a_refusal_shows_message_code_reason_and_what_to_do() {
        let failure = CommandError::refused(status(Reason::GroupNotFound, "group \"a\" is unknown"));
        assert_eq!(
            failure.report(),
            "error: group \"a\" is unknown (NOT_FOUND, GROUP_NOT_FOUND)\n\
             hint: `kafka-assigner groups` lists the groups"
        );
        assert_eq!(failure.exit_code(), 1);
    }

    #[test]
    fn a_broken_connection_is_told_in_words() {
        let mut status = Status::unknown("transport error");
        status.set_source(std::sync::Arc::new(std::io::Error::other("broken pipe")));
        let failure = CommandError::Broken { server: "http://a:1".to_owned(), source: Box::new(status) };
        let report = failure.report();
        assert!(
            report.starts_with("error: the connection to http://a:1 failed: broken pipe\nhint:"),
            "{report}"
        );
    }

    #[test]
    fn a_refusal_without_words_is_named_by_its_code() {
        let failure = CommandError::refused(Status::new(Code::ResourceExhausted, ""));
        assert!(failure.report().ends_with("(RESOURCE_EXHAUSTED)"), "{}", failure.report());
    }
}
