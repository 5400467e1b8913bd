//! The report of a consumer about its grants that it has not begun.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Extra;
use kafka_assigner_types::id::{Epoch, TopicPartition};
use kafka_assigner_types::kv::Revision;

/// The report of a consumer about the partitions that it was granted, as exceptions: what it covers and does not name has
/// begun.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BegunReport {
    /// The highest epoch of the grants that the report covers: its consumer had been told of all that it has under this
    /// epoch or a lower one. 0: of none so far.
    pub covered: Epoch,
    /// The grants that have not begun, by partition as `topic/number`; at most [`MOST_NAMED`](Self::MOST_NAMED).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub named: BTreeMap<String, UnbegunGrant>,
    /// The number of further grants that have not begun. Where it is not 0, `covered` is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unnamed: u32,
    /// The grants under which an offset is committed; `None`: the consumer does not tell, or never commits. An instance of an
    /// earlier version keeps it as it is, and it stays true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<CommitReport>,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// The report of a consumer about its first commits, as exceptions: Kafka has acknowledged one under each grant that it
/// covers, but of the partitions that it names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommitReport {
    /// The grants that it covers: those whose assignments were written in this revision or before.
    pub up_to: Revision,
    /// The partitions of which no commit was acknowledged, as `topic/number`; at most
    /// [`MOST_LACKING`](Self::MOST_LACKING).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lacking: BTreeSet<String>,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// A grant that its owner has not begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnbegunGrant {
    /// The epoch of the grant.
    pub epoch: Epoch,
    /// The condition that keeps the owner from beginning.
    pub why: UnbegunReason,
    /// The last error, for people; empty: there was none. At most [`MOST_MESSAGE`](Self::MOST_MESSAGE) characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The amount of the preparation that is done, in the consumer's own unit; a higher number is progress.
    #[serde(default, skip_serializing_if = "is_none_done")]
    pub done: u64,
    /// The whole amount, where the consumer knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// The condition that keeps an owner from beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnbegunReason {
    /// Other partitions are prepared first: its consumer prepares only so many at once.
    Place,
    /// Its state is being built.
    Preparing,
    /// Its first record is in the works, or the end of its log is being looked for.
    Starting,
    /// A call of the handler failed, and is tried again.
    Failing,
    /// It is prepared, and its mode waits for a confirmed heartbeat.
    Claim,
    /// The remains of an earlier grant are dropped first.
    Clearing,
    /// A reason that this version does not know.
    #[serde(untagged)]
    Other(String),
}

impl BegunReport {
    /// The most grants that one registration names, so that it stays far below the store's largest value.
    pub const MOST_NAMED: usize = 1_000;

    /// The entry of `at` under `epoch`.
    #[must_use]
    pub fn entry(&self, at: &TopicPartition, epoch: Epoch) -> Option<&UnbegunGrant> {
        // Most reports name nothing, and tables ask for each partition.
        if self.named.is_empty() {
            return None;
        }
        self.named.get(&at.to_string()).filter(|grant| grant.epoch == epoch)
    }

    /// The number of grants that have not begun.
    #[must_use]
    pub fn count(&self) -> usize {
        self.named.len().saturating_add(usize::try_from(self.unnamed).unwrap_or(usize::MAX))
    }
}

impl CommitReport {
    /// The most partitions that one report names. A report with more is not kept: a commit follows a start within a second, so
    /// so many lack it only for a moment, or where no offset can be committed at all.
    pub const MOST_LACKING: usize = 100;

    /// True if it names `at`.
    #[must_use]
    pub fn lacks(&self, at: &TopicPartition) -> bool {
        // Most reports name nothing, and each heartbeat asks for each partition.
        !self.lacking.is_empty() && self.lacking.contains(&at.to_string())
    }
}

impl UnbegunGrant {
    /// The longest message that is kept, in characters: it has to fit a thousand times into one record.
    pub const MOST_MESSAGE: usize = 100;
}

impl UnbegunReason {
    /// The labels of all reasons, in no order.
    pub const LABELS: [&'static str; 7] =
        ["place", "preparing", "starting", "failing", "claim", "clearing", "other"];

    /// A stable word for metrics and programs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        Self::LABELS[match self {
            Self::Place => 0,
            Self::Preparing => 1,
            Self::Starting => 2,
            Self::Failing => 3,
            Self::Claim => 4,
            Self::Clearing => 5,
            Self::Other(_) => 6,
        }]
    }
}

impl fmt::Display for UnbegunReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Place => "other partitions are prepared first",
            Self::Preparing => "its state is being built",
            Self::Starting => "its first record is not done",
            Self::Failing => "it failed and is tried again",
            Self::Claim => "it waits for a confirmed heartbeat",
            Self::Clearing => "what was held of it before is dropped first",
            Self::Other(_) => "its consumer has a reason of a newer version",
        })
    }
}

impl fmt::Display for UnbegunGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)?;
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(value: &u32) -> bool {
    *value == 0
}

const fn is_none_done(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_a_newer_version_is_kept_and_shown_as_such() {
        let stored = r#"{"epoch":7,"why":"asleep","mood":"calm"}"#;
        let grant: UnbegunGrant = serde_json::from_str(stored).unwrap();
        assert_eq!(grant.why, UnbegunReason::Other("asleep".to_owned()));
        assert_eq!(grant.why.label(), "other");
        assert_eq!(serde_json::to_string(&grant).unwrap(), stored);
    }
}
