//! The inputs of a leader's decision besides the state.

use kafka_assigner_strategies::Registry;

use super::Memory;
use crate::claim::Leases;
use kafka_assigner_types::moment::{Moment, WallMillis};

/// The knowledge of a leader besides the state.
#[derive(Debug, Clone, Copy)]
pub struct LeaderContext<'a> {
    /// The leader's memory.
    pub memory: &'a Memory,
    /// Its monotonic clock.
    pub moment: Moment,
    /// The wall clock, for what people read.
    pub wall: WallMillis,
    /// The store's answers about the leases that were in doubt, after the state was read.
    pub leases: &'a Leases,
    /// The strategies it has.
    pub strategies: &'a Registry,
}
