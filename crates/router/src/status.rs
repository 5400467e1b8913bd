//! The status of a router.

use kafka_assigner_session::SessionStatus;

/// A router at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouterStatus {
    /// The session; `None` = there is none just now.
    pub session: Option<SessionStatus>,
    /// The table is open.
    pub is_open: bool,
    /// The number of partitions that are held for handoffs.
    pub held: usize,
    /// The number of acknowledgements that took effect so far.
    pub acknowledged: u64,
    /// The number of sessions lost so far.
    pub sessions_lost: u64,
}
