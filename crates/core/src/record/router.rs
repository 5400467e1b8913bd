//! The records of routers: their registrations, and their acknowledgements of handoffs.

use serde::{Deserialize, Serialize};

use super::{Extra, Version};
use kafka_assigner_types::id::{HandoffId, Incarnation};
use kafka_assigner_types::moment::WallMillis;

/// `routers/{name}`: a router's registration, bound to the lease of its session.
///
/// It is written once per session and never again, since its revision tells which freezes have to wait for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Router {
    /// The version of the record.
    pub version: Version,
    /// The session.
    pub incarnation: Incarnation,
    /// The granted time to live of the session's lease, in milliseconds.
    pub ttl_ms: u64,
    /// The instance that registered it, for people.
    #[serde(default)]
    pub instance: String,
    /// The router's description of itself (version, host), for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// The caller that opened the session, as its certificate or token says; empty: it had no name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caller: String,
    /// The time at which the session began.
    pub since: WallMillis,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

impl Router {
    /// A registration for a session that begins now.
    #[must_use]
    pub fn new(incarnation: Incarnation, ttl_ms: u64, since: WallMillis) -> Self {
        Self {
            version: Version,
            incarnation,
            ttl_ms,
            instance: String::new(),
            client: String::new(),
            caller: String::new(),
            since,
            extra: Extra::new(),
        }
    }
}

/// `handoff_acks/{topic}/{partition}/{router}`: the router sends nothing of the partition to the old owner any more,
/// and waits for no answer from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterAck {
    /// The version of the record.
    pub version: Version,
    /// The attempt that it is about; it counts for no other.
    pub id: HandoffId,
    /// The session that said so; it counts for no other.
    pub incarnation: Incarnation,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

impl RouterAck {
    /// The word of the session `incarnation` about the handoff `id`.
    #[must_use]
    pub fn new(id: HandoffId, incarnation: Incarnation) -> Self {
        Self { version: Version, id, incarnation, extra: Extra::new() }
    }
}
