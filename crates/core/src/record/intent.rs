//! The record of an intent about a handoff.

use serde::{Deserialize, Serialize};

use super::{Extra, Version};
use kafka_assigner_types::id::HandoffId;
use kafka_assigner_types::moment::WallMillis;

/// `handoff_intents/{topic}/{partition}`: an intent about the handoff at that partition.
///
/// It has a key of its own, so that nobody but the leader writes the handoff for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The version of the record.
    pub version: Version,
    /// The attempt that is meant; an intent about another one has no effect.
    pub id: HandoffId,
    /// The request.
    #[serde(rename = "wish")]
    pub kind: IntentKind,
    /// The time of the request.
    pub since: WallMillis,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// The requests that can be made about a handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentKind {
    /// The new owner can't do it.
    Failed {
        /// The reason that it gave, at most 1 000 characters.
        reason: String,
    },
    /// An operator wants it stopped.
    Abort {
        /// The reason that the operator gave, at most 1 000 characters.
        reason: String,
    },
}

impl Intent {
    /// An intent about the handoff `id`.
    #[must_use]
    pub fn new(id: HandoffId, kind: IntentKind, since: WallMillis) -> Self {
        Self { version: Version, id, kind, since, extra: Extra::new() }
    }
}
