//! The record of a group's leader.

use serde::{Deserialize, Serialize};

use super::{Extra, Version};
use kafka_assigner_types::moment::WallMillis;

/// `assigner/leader`: the instance that won the group's election, bound to its lease.
///
/// The key's create revision is the leader's term: every write of a leader is guarded on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeaderRecord {
    /// The version of the record.
    pub version: Version,
    /// The instance's id.
    pub instance: String,
    /// Its address, as a URL.
    pub address: String,
    /// The time at which it won.
    pub since: WallMillis,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

impl LeaderRecord {
    /// The record of a new leader.
    #[must_use]
    pub fn new(instance: String, address: String, since: WallMillis) -> Self {
        Self { version: Version, instance, address, since, extra: Extra::new() }
    }
}
