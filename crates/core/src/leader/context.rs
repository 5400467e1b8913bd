//! What a decision of the leader is made on, besides the state.

use kafka_assigner_strategies::Registry;

use super::Memory;
use crate::claim::Leases;
use crate::moment::{Moment, WallMillis};

/// What a leader knows besides the state.
#[derive(Debug, Clone, Copy)]
pub struct LeaderContext<'a> {
    /// What it remembers.
    pub memory: &'a Memory,
    /// Its monotonic clock.
    pub moment: Moment,
    /// The wall clock, for what people read.
    pub wall: WallMillis,
    /// What the store said of the leases that were in doubt, after the state was read.
    pub leases: &'a Leases,
    /// The strategies it has.
    pub strategies: &'a Registry,
}
