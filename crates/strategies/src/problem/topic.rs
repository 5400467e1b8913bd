//! Topics, whose partitions are placed.

use std::sync::Arc;

/// A topic, or a set of topics whose equal partition numbers move together. Either way its
/// partitions are placed one by one, and each of them is one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemTopic {
    /// The name; unique within a problem.
    pub name: Arc<str>,
    /// The number of its partitions, numbered from zero. Zero is allowed: nothing is to be placed.
    pub partitions: u32,
    /// The number of standbys that each of its units should have.
    pub standbys: u32,
}
