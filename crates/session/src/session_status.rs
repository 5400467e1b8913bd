//! The session as it is shown.

use kafka_assigner_types::id::Incarnation;
use kafka_assigner_types::kv::LeaseId;

/// An open session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStatus {
    /// Its incarnation.
    pub incarnation: Incarnation,
    /// Its lease.
    pub lease: LeaseId,
}
