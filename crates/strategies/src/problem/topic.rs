//! What partitions are placed: topics.

use std::sync::Arc;

/// A topic, or a set of topics whose equal partition numbers move together. Either way its
/// partitions are placed one by one, and each of them is one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The name; unique within a problem.
    pub name: Arc<str>,
    /// How many partitions it has, numbered from zero. Zero is allowed: nothing is to be placed.
    pub partitions: u32,
    /// How many standbys each of its units should have.
    pub standbys: u32,
}
