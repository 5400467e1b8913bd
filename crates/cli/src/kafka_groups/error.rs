//! The errors of commands for Kafka's groups.

use kafka_assigner_kafka::BrokerAddress;

/// The reasons for which Kafka's groups can't be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KafkaGroupsError {
    /// No broker is named.
    #[error("no broker is named")]
    NoBroker,
    /// No broker can be asked.
    #[error("no broker of {asked} answers; the last")]
    Unreachable {
        /// The number of brokers that were asked.
        asked: usize,
        /// The last failure.
        source: kafka_assigner_kafka::Error,
    },
    /// The cluster names no broker.
    #[error("the answer about the cluster names no broker that can be reached")]
    NoBrokers,
    /// Some brokers did not tell their groups.
    #[error("the list is not whole: {missing} of {asked} brokers did not tell their groups")]
    Incomplete {
        /// The number of brokers that did not.
        missing: usize,
        /// The number of all brokers.
        asked: usize,
    },
    /// A certain broker can't be asked, and no other one can answer.
    #[error("the broker that has to be asked does not answer")]
    Broker(#[source] kafka_assigner_kafka::Error),
    /// The broker refuses.
    #[error("{broker} refuses {asked}: {}", words(*code, message))]
    Refused {
        /// The broker.
        broker: BrokerAddress,
        /// The request.
        asked: &'static str,
        /// Kafka's number of the error.
        code: i16,
        /// The broker's own words; mostly empty.
        message: String,
    },
    /// There is no such group.
    #[error("Kafka has no group {0:?} that this user may see")]
    NoGroup(String),
    /// A group of a type that is not known.
    #[error("group {group:?} has the type {kind:?}, which this version does not know")]
    UnknownType {
        /// The group.
        group: String,
        /// The type.
        kind: String,
    },
    /// An answer without the group that was asked for.
    #[error("{broker} answers {asked} without the group")]
    Missing {
        /// The broker.
        broker: BrokerAddress,
        /// The request.
        asked: &'static str,
    },
}

/// `GROUP_AUTHORIZATION_FAILED`.
const GROUP_DENIED: i16 = 30;

/// `TOPIC_AUTHORIZATION_FAILED`.
const TOPIC_DENIED: i16 = 29;

/// The names of errors that these requests can have; others are told by their number alone.
const NAMES: [(i16, &str); 10] = [
    (-1, "UNKNOWN_SERVER_ERROR"),
    (14, "COORDINATOR_LOAD_IN_PROGRESS"),
    (15, "COORDINATOR_NOT_AVAILABLE"),
    (16, "NOT_COORDINATOR"),
    (24, "INVALID_GROUP_ID"),
    (TOPIC_DENIED, "TOPIC_AUTHORIZATION_FAILED"),
    (GROUP_DENIED, "GROUP_AUTHORIZATION_FAILED"),
    (31, "CLUSTER_AUTHORIZATION_FAILED"),
    (35, "UNSUPPORTED_VERSION"),
    (NO_GROUP, "GROUP_ID_NOT_FOUND"),
];

/// An error in Kafka's words and its number.
pub(super) fn words(code: i16, message: &str) -> String {
    let name = NAMES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name);
    let error = name.map_or_else(|| format!("error {code}"), |name| format!("{name} ({code})"));
    if message.is_empty() { error } else { format!("{error}: {message}") }
}

/// `GROUP_ID_NOT_FOUND`.
const NO_GROUP: i16 = 69;

impl KafkaGroupsError {
    /// True if the coordinator may be another one by now: a broker that was the group's leaves it out of its list.
    pub(super) const fn may_have_moved(&self) -> bool {
        matches!(self, Self::NoGroup(_) | Self::Refused { code: 14 | 16, .. })
    }

    /// The same in plain words where it is the answer about `group` that there is none.
    pub(super) fn about(self, group: &str) -> Self {
        match self {
            Self::Refused { code: NO_GROUP, .. } => Self::NoGroup(group.to_owned()),
            other => other,
        }
    }

    /// The exit code: 1 = refused, 2 = wrong usage, 3 = no broker reached.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::NoBroker => 2,
            Self::Unreachable { .. } | Self::Broker(_) | Self::NoBrokers => 3,
            Self::Incomplete { missing, asked } => {
                if *missing == *asked {
                    3
                } else {
                    1
                }
            }
            Self::Refused { .. } | Self::NoGroup(_) | Self::UnknownType { .. } | Self::Missing { .. } => 1,
        }
    }

    /// The next step.
    pub(crate) const fn hint(&self) -> &'static str {
        match self {
            Self::NoBroker => "name one with --kafka HOST:PORT; the other brokers are learnt from it",
            Self::Unreachable { .. } => {
                "name a broker that runs with --kafka, and see --help for TLS and logins"
            }
            Self::NoBrokers | Self::Incomplete { .. } => "run it again once the brokers are there",
            Self::Broker(_) => "see that this machine reaches the address that the broker advertises",
            Self::Refused { code: GROUP_DENIED, .. } => "the user needs DESCRIBE on the group",
            Self::Refused { code: TOPIC_DENIED, .. } => {
                "the user needs DESCRIBE on the topics that the group reads"
            }
            Self::Refused { code: 14..=16, .. } => "the coordinator moves or loads the group; run it again",
            Self::Refused { .. } | Self::Missing { .. } => "the brokers' logs say more",
            Self::NoGroup(_) => "`kafka-assigner kafka-groups list` lists those that there are",
            Self::UnknownType { .. } => "use a newer version of this program",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_kafkas_name_and_the_brokers_words() {
        assert_eq!(words(30, ""), "GROUP_AUTHORIZATION_FAILED (30)");
        assert_eq!(words(69, "Group g not found."), "GROUP_ID_NOT_FOUND (69): Group g not found.");
        assert_eq!(words(99, ""), "error 99");
    }

    #[test]
    fn each_refusal_says_what_helps() {
        let refused = |code| {
            let broker = "kafka:9092".parse().unwrap();
            KafkaGroupsError::Refused { broker, asked: "DescribeGroups", code, message: String::new() }
        };
        assert!(refused(30).hint().contains("on the group") && refused(29).hint().contains("on the topics"));
        assert!(refused(16).hint().contains("again") && refused(1).hint().contains("logs"));
        assert_eq!((refused(30).exit_code(), KafkaGroupsError::NoBroker.exit_code()), (1, 2));
    }
}
