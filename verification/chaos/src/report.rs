//! The result of a run.

use std::collections::BTreeMap;

use kafka_assigner_types::mode::Mode;
use serde::Serialize;

use crate::check::Figures;
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
    /// What was counted and measured.
    #[serde(flatten)]
    pub(crate) figures: Figures,
    /// How long after the last fault everything was at rest.
    pub(crate) settled_ms: u128,
    /// How often each fault took place.
    pub(crate) faults: BTreeMap<Fault, usize>,
}
