//! The records of what is over: the store's earlier histories, and groups that were deleted.

use kafka_assigner_types::moment::WallMillis;
use serde::{Deserialize, Serialize};

use super::{Extra, Version};

/// By how much epochs rise when a store begins another history: above every revision that the lost one can have had
/// beyond what is left of it.
const EPOCH_STEP: u64 = 1 << 32;

/// The epochs that a store may hand out in a second of real time, as a power of two: far above what any store writes. A
/// backup that is put back twice holds the same offset twice; the time between tells them apart. Until 2106 the product
/// is below 2⁵³, up to which every program reads numbers of JSON exactly.
const EPOCHS_A_SECOND: u32 = 21;

/// `~/cluster`: the identity of the store, one for each of its histories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterRecord {
    /// The version of the record.
    pub version: Version,
    /// The cluster id: random, and another one after the store was put back. A client that was told another one before
    /// has lost its session.
    pub id: String,
    /// The number that is added to the store's revision for the epoch of a grant; 0 in the first history.
    #[serde(default)]
    pub epoch_offset: u64,
    /// Fields that a newer writer added.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ClusterRecord {
    /// The identity of a store in its first history.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { version: Version, id: id.into(), epoch_offset: 0, extra: Extra::new() }
    }

    /// The identity of the same store in another history, which begins at `wall`: its epochs are above all of this one,
    /// and above those of every history that began earlier from the same backup.
    #[must_use]
    pub fn begun_anew(&self, id: impl Into<String>, wall: WallMillis) -> Self {
        let by_time = (wall.0 / 1_000) << EPOCHS_A_SECOND;
        let epoch_offset = self.epoch_offset.saturating_add(EPOCH_STEP).max(by_time);
        Self { id: id.into(), epoch_offset, ..self.clone() }
    }

    /// The same identity with an offset of at least that of `other`.
    #[must_use]
    pub fn not_below(&self, other: &Self) -> Self {
        Self { epoch_offset: self.epoch_offset.max(other.epoch_offset), ..self.clone() }
    }
}

/// `assigner/history`: the history of the store in which every claim of the group began that still runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryNote {
    /// The version of the record.
    pub version: Version,
    /// The cluster id of that history; empty: none.
    pub cluster_id: String,
    /// The time for which claims of an earlier group of this name, which was deleted, may run, in milliseconds from a
    /// leader's first sight of this group; 0: there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier_claims_ms: u64,
    /// Fields that a newer writer added.
    #[serde(flatten)]
    pub extra: Extra,
}

impl HistoryNote {
    /// The note of the history `cluster_id`.
    #[must_use]
    pub fn new(cluster_id: impl Into<String>) -> Self {
        Self { version: Version, cluster_id: cluster_id.into(), earlier_claims_ms: 0, extra: Extra::new() }
    }
}

/// `~/gone/{group}`: a group that was deleted while claims of it might run. It has no lease, which could end before they
/// do: a leader of a new group of that name removes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The version of the record.
    pub version: Version,
    /// The time for which claims may run after the deletion, in milliseconds.
    pub claims_ms: u64,
    /// The time of the deletion, for people.
    pub since: WallMillis,
    /// Fields that a newer writer added.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Tombstone {
    /// The mark of a group that was deleted at `since`.
    #[must_use]
    pub fn new(claims_ms: u64, since: WallMillis) -> Self {
        Self { version: Version, claims_ms, since, extra: Extra::new() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(value: &u64) -> bool {
    *value == 0
}
