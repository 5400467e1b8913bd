//! The report of a consumer about its partitions whose next record fails.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Extra;
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::moment::WallMillis;

/// The report of a consumer about the partitions that it owns and whose next record has failed for long, and is tried again.
/// For people: nothing is decided by it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FailingReport {
    /// The records, by partition as `topic/number`; at most [`MOST_NAMED`](Self::MOST_NAMED).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub named: BTreeMap<String, RecordFailure>,
    /// The number of further partitions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unnamed: u32,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// A record that fails again and again, in the words of its partition's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordFailure {
    /// The epoch under which it failed.
    pub epoch: Epoch,
    /// The offset of the record.
    pub offset: Offset,
    /// The last error when this was written, for people; at most [`MOST_REASON`](Self::MOST_REASON) characters. A later error of the
    /// same record is not written for its own sake.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The time of the first failure under this grant, by the clock of the consumer, for people; 0 = unknown.
    #[serde(default)]
    pub since: WallMillis,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

impl FailingReport {
    /// The most partitions that one registration names. An outage that fails all records of a consumer is seen by a hundred of
    /// them as well as by a thousand, and each one that is named is copied with every rewrite of the registration.
    pub const MOST_NAMED: usize = 100;

    /// True if it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.unnamed == 0 && self.extra.is_empty()
    }

    /// The entry of `at` under `epoch`.
    #[must_use]
    pub fn entry(&self, at: &TopicPartition, epoch: Epoch) -> Option<&RecordFailure> {
        // Most reports name nothing, and tables ask for each partition.
        if self.named.is_empty() {
            return None;
        }
        self.named.get(&at.to_string()).filter(|failure| failure.epoch == epoch)
    }
}

impl RecordFailure {
    /// The longest reason that is kept, in characters: the message of an error, a hundred times in one record.
    pub const MOST_REASON: usize = 100;
}

impl fmt::Display for RecordFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the record at offset {} fails and is tried again", self.offset.get())?;
        if self.reason.is_empty() { Ok(()) } else { write!(f, ": {}", self.reason) }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(value: &u32) -> bool {
    *value == 0
}
