//! Why a problem was refused.

use std::sync::Arc;

use crate::Problem;

/// What is wrong with what a [`ProblemBuilder`](crate::ProblemBuilder) was told. The same input
/// fails again: only the caller can mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProblem {
    /// Two topics have one name.
    #[error("topic {0:?} is listed twice")]
    DuplicateTopic(Arc<str>),
    /// Two members have one id.
    #[error("member {0:?} is listed twice")]
    DuplicateMember(Arc<str>),
    /// A partition was named that its topic does not have.
    #[error("topic {topic:?} has {partitions} partitions, so there is no partition {partition}")]
    NoSuchPartition {
        /// The topic.
        topic: Arc<str>,
        /// The partition that it does not have.
        partition: u32,
        /// How many it has.
        partitions: u32,
    },
    /// A partition was given to two members at once.
    #[error("partition {partition} of topic {topic:?} is given to both {first:?} and {second:?}")]
    TwoOwners {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: u32,
        /// The member it was given to first.
        first: Arc<str>,
        /// The member it was given to afterwards.
        second: Arc<str>,
    },
    /// With this topic there are more than [`Problem::MAX_UNITS`] partitions.
    #[error("topic {topic:?} with {partitions} partitions makes more than {} in all", Problem::MAX_UNITS)]
    TooManyUnits {
        /// The topic that was one too many.
        topic: Arc<str>,
        /// How many partitions it was said to have.
        partitions: u32,
    },
    /// A handle was used that another builder gave out.
    #[error("a handle of another builder was used")]
    ForeignHandle,
}
