//! Reasons why a problem is refused.

use std::sync::Arc;

use crate::{Capacity, Options, Problem, Weight};

/// A fault of the input of a [`ProblemBuilder`](crate::ProblemBuilder). The same input fails again: only the caller can
/// mend it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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
        /// The number of partitions that the topic has.
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
        /// The number of partitions that was given.
        partitions: u32,
    },
    /// A partition was said to be less than no work, or more than can be counted.
    #[error(
        "partition {partition} of topic {topic:?} has weight {weight}: it must be from 0 to {:.0}",
        Weight::MAX
    )]
    Weight {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: u32,
        /// The weight that was given.
        weight: f64,
    },
    /// A member was said to be able to do nothing, or without end.
    #[error(
        "member {member:?} has capacity {capacity}: it must be from {} to {:.0}",
        Capacity::MIN,
        Capacity::MAX
    )]
    Capacity {
        /// The member.
        member: Arc<str>,
        /// The capacity that was given.
        capacity: f64,
    },
    /// With this topic's there are more than [`Problem::MAX_UNITS`] standbys.
    #[error(
        "{standbys} standbys a partition of topic {topic:?} make more than {} in all",
        Problem::MAX_UNITS
    )]
    TooManyStandbys {
        /// The topic that was one too many.
        topic: Arc<str>,
        /// The number of standbys that was wanted for each of its partitions.
        standbys: u32,
    },
    /// The tolerance is more than the whole.
    #[error("the tolerance is {0} thousandths: it must be at most {max}", max = Options::MAX_TOLERANCE)]
    Tolerance(u32),
    /// A handle was used that another builder gave out.
    #[error("a handle of another builder was used")]
    ForeignHandle,
}
