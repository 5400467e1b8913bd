//! The types of groups.

use std::fmt;

use serde::Serialize;

/// The type of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KafkaGroupKind {
    /// Its members plan.
    Classic,
    /// The broker plans (KIP-848).
    Consumer,
    /// Its members share partitions (KIP-932).
    Share,
    /// The broker plans the tasks of a Kafka Streams application (KIP-1071).
    Streams,
}

impl KafkaGroupKind {
    /// The type as brokers name it; brokers below 3.8 name none, and have no other than the classic one.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let known = [Self::Classic, Self::Consumer, Self::Share, Self::Streams];
        if name.is_empty() {
            return Some(Self::Classic);
        }
        known.into_iter().find(|kind| kind.to_string().eq_ignore_ascii_case(name))
    }

    /// The words with which Kafka's tools begin a sentence about a group.
    pub(super) const fn subject(self) -> &'static str {
        match self {
            Self::Classic | Self::Consumer => "Consumer group",
            Self::Share => "Share group",
            Self::Streams => "Streams group",
        }
    }
}

impl fmt::Display for KafkaGroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Classic => "Classic",
            Self::Consumer => "Consumer",
            Self::Share => "Share",
            Self::Streams => "Streams",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_as_brokers_name_them() {
        for kind in [KafkaGroupKind::Consumer, KafkaGroupKind::Share, KafkaGroupKind::Streams] {
            assert_eq!(KafkaGroupKind::of_name(&kind.to_string().to_lowercase()), Some(kind));
            assert_eq!(KafkaGroupKind::of_name(&kind.to_string()), Some(kind));
        }
        assert_eq!(KafkaGroupKind::of_name(""), Some(KafkaGroupKind::Classic));
        assert_eq!(KafkaGroupKind::of_name("other"), None);
    }
}
