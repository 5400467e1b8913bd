//! The reason why nobody gets a partition: [`UnplacedReason`].

use std::fmt;

use kafka_assigner_strategies::sets;
use serde::{Serialize, Serializer};

/// The reason why nobody gets a partition. Displays as a phrase for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::assign) enum UnplacedReason {
    /// The strategy found no member.
    Unassigned(sets::PartitionReason),
    /// The cooperative strategy is about to move it.
    Withheld,
}

impl fmt::Display for UnplacedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unassigned(why) => why.fmt(f),
            Self::Withheld => f.write_str("withheld until its owner lets go"),
        }
    }
}

impl Serialize for UnplacedReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
