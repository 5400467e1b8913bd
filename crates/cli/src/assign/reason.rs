//! Why nobody gets a partition: [`Reason`].

use std::fmt;

use kafka_assigner_strategies::Unassigned;
use serde::{Serialize, Serializer};

/// Why nobody gets a partition. Displays as a phrase for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// What is true of it by itself.
    OfPartition(Unassigned),
    /// What is true of the co-partitioned set that it goes with.
    OfSet(Unassigned),
    /// The cooperative strategy is about to move it.
    Withheld,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfPartition(why) => why.fmt(f),
            Self::OfSet(why) => f.write_str(of_set(*why)),
            Self::Withheld => f.write_str("withheld until its owner lets go"),
        }
    }
}

fn of_set(why: Unassigned) -> &'static str {
    match why {
        Unassigned::NoMembers => "there are no members",
        Unassigned::NobodySubscribed => "no member is subscribed to all topics of its set",
        Unassigned::AllBanned => {
            "every member that is subscribed to all topics of its set is banned from a partition that goes with it"
        }
        Unassigned::OnlyDrainingOrHolding => "every member that may own its set is draining or on hold",
        Unassigned::AllFull => "no member that could take its set has room for all of it within its limit",
        Unassigned::LeftOut => "the strategy gives its set to nobody",
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
