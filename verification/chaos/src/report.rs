//! The result of a run.

use std::collections::BTreeMap;

use kafka_assigner_types::mode::Mode;
use serde::Serialize;

use crate::check::Figures;
use crate::fault::Fault;

/// The result of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The seed that decided the faults.
    pub(crate) seed: u64,
    /// The mode under which partitions were handed over.
    pub(crate) mode: Mode,
    /// The time during which faults happened, in seconds.
    pub(crate) seconds: u64,
    /// The number of rules that were broken.
    pub(crate) violations: usize,
    /// Handoffs that were left when everything should have come to rest.
    pub(crate) stuck_handoffs: usize,
    /// Handoffs that reached their new owner.
    pub(crate) handoffs: usize,
    /// The counts and measurements.
    #[serde(flatten)]
    pub(crate) figures: Figures,
    /// The time from the last fault until everything was at rest.
    pub(crate) settled_ms: u128,
    /// The number of times that each fault took place.
    pub(crate) faults: BTreeMap<Fault, usize>,
}
