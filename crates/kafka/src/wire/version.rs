//! Versions of messages.

use std::fmt;

/// The version in which a message is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireVersion {
    /// Its number, from 0.
    pub number: i16,
    /// True if lengths are of variable length, and tagged fields end each struct (KIP-482).
    pub flexible: bool,
}

/// A range of versions, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRange {
    /// The first version.
    pub first: i16,
    /// The last version.
    pub last: i16,
}

impl VersionRange {
    /// The versions from `first` to `last`.
    #[must_use]
    pub const fn new(first: i16, last: i16) -> Self {
        Self { first, last }
    }

    /// True if `version` lies in it.
    #[must_use]
    pub const fn contains(self, version: i16) -> bool {
        self.first <= version && version <= self.last
    }

    /// The newest version that both ranges have.
    #[must_use]
    pub fn newest_common(self, other: Self) -> Option<i16> {
        let last = self.last.min(other.last);
        (last >= self.first && last >= other.first).then_some(last)
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_that_both_have_is_used() {
        let ours = VersionRange::new(9, 13);
        let common = |first, last| ours.newest_common(VersionRange::new(first, last));
        assert_eq!(
            [common(0, 12), common(0, 99), common(0, 8), common(14, 20)],
            [Some(12), Some(13), None, None]
        );
    }
}
