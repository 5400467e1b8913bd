//! The kinds of calls that a rule allows.

use std::fmt;

use serde::Deserialize;

/// A right in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Register a consumer, renew its session, acknowledge for it, end it.
    Consume,
    /// The same for a router; it sees all routes of the group.
    Route,
    /// Look at everything that the group has, without changing it.
    Read,
    /// Change the group's configuration and topics, end members, cancel moves. Whoever may do that may read as well.
    Operate,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Consume, Self::Route, Self::Read, Self::Operate];

    /// The word for it in the file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Consume => "consume",
            Self::Route => "route",
            Self::Read => "read",
            Self::Operate => "operate",
        }
    }

    /// True if whoever has `self` has `other` too.
    pub(crate) fn includes(self, other: Self) -> bool {
        self == other || (self == Self::Operate && other == Self::Read)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
