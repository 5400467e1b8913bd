//! The guarantee of a handoff.

use serde::{Deserialize, Serialize};

/// The guarantee under which partitions are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// No gap: the old owner works until the new one works, so both process for a moment.
    #[default]
    Overlap,
    /// One owner at a time: the new one is warm before the old one stops, and starts where that one stopped.
    Exclusive,
    /// One owner at a time for requests as well: routers hold them back while the owner changes.
    Routed,
}

impl Mode {
    /// All modes, the weakest first.
    pub const ALL: [Self; 3] = [Self::Overlap, Self::Exclusive, Self::Routed];

    /// True if no two consumers may act for one partition at the same moment.
    #[must_use]
    pub const fn is_strict(self) -> bool {
        !matches!(self, Self::Overlap)
    }
}

/// A name that no mode has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no mode: overlap, exclusive or routed")]
pub struct UnknownMode(String);

impl std::str::FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Self, UnknownMode> {
        let mode = Self::ALL.into_iter().find(|mode| mode.to_string() == name);
        mode.ok_or_else(|| UnknownMode(name.to_owned()))
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Overlap => "overlap",
            Self::Exclusive => "exclusive",
            Self::Routed => "routed",
        })
    }
}
