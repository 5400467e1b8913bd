//! The record of a topic: the partitions to assign.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;

use super::{Extra, Version};

/// The most partitions of one topic; over it a number is taken for a mistake.
pub const MAX_PARTITIONS: u32 = 1_000_000;

/// The most topics of one co-partitioned set: a handoff writes three records for each of a set's partitions in
/// one transaction, and etcd takes 128 operations.
pub const MAX_SET: usize = 40;

/// `config/topics/{topic}`: a topic of the group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Topic {
    /// The version of the record.
    pub version: Version,
    /// The number of its partitions; at most [`MAX_PARTITIONS`].
    #[serde(deserialize_with = "plausible")]
    pub partitions: u32,
    /// The member that says so.
    pub source: Source,
    /// Kafka's id of the topic: a re-created topic has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// Topics with the same label move together, partition number by partition number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copartition: Option<String>,
    /// The revision at which it was seen that another topic has taken the place of the one with this name; `None`: the
    /// record came into being with its topic. Until the new one is read, it has no partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Revision>,
    /// The mode of new grants of its partitions; `None`: the group's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// A number far above every real one would cost the memory to plan it: it is as good as unreadable.
fn plausible<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        partitions @ ..=MAX_PARTITIONS => Ok(partitions),
        other => Err(D::Error::custom(format_args!("{other} partitions, at most {MAX_PARTITIONS} can be"))),
    }
}

/// The origin of a topic's partition count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// From Kafka's metadata: follows its growth and its deletion.
    Kafka,
    /// From an operator: stays until an operator changes it.
    Static,
}

impl Topic {
    /// A topic of `partitions` partitions, not co-partitioned with others.
    #[must_use]
    pub fn new(partitions: u32, source: Source) -> Self {
        Self {
            version: Version,
            partitions,
            source,
            topic_id: None,
            copartition: None,
            since: None,
            mode: None,
            extra: Extra::new(),
        }
    }
}
