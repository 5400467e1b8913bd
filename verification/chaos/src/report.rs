//! What a run came to.

use std::collections::BTreeMap;

use kafka_assigner_types::mode::Mode;
use serde::Serialize;

use crate::fault::Fault;

/// The result of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// What decided the faults.
    pub(crate) seed: u64,
    /// The mode under which partitions were handed over.
    pub(crate) mode: Mode,
    /// How long faults happened.
    pub(crate) seconds: u64,
    /// How many rules were broken.
    pub(crate) violations: usize,
    /// Handoffs that were left when everything should have come to rest.
    pub(crate) stuck_handoffs: usize,
    /// Handoffs that reached their new owner.
    pub(crate) handoffs: usize,
    /// Records whose effect the sink has acknowledged, or requests that were.
    pub(crate) acknowledged: usize,
    /// Acknowledged requests that are not in the log.
    pub(crate) acknowledged_lost: usize,
    /// Writes that the sink refused because of their epoch.
    pub(crate) refused: usize,
    /// How long a partition was without acknowledged writes for more than a second at a time, on average.
    pub(crate) unavailable_ms: u64,
    /// How long two consumers held a valid claim for one partition, over all partitions; allowed in overlap.
    pub(crate) two_owner_ms: u64,
    /// The same, after somebody outside had ended the session of the older one; not in the other.
    pub(crate) two_owner_ms_revoked: u64,
    /// How long after the last fault everything was at rest.
    pub(crate) settled_ms: u128,
    /// How often each fault took place.
    pub(crate) faults: BTreeMap<Fault, usize>,
}

impl Report {
    /// One line.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a report has no map with keys that are no text")
    }
}
