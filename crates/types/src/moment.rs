//! Time as an argument.

use std::ops::Add;
use std::time::Duration;

/// A point on one process's monotonic clock, counted from a start that only that process knows.
///
/// Moments of two processes can't be compared, and none is ever stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub Duration);

impl Moment {
    /// The time from `earlier` until here, or zero where it is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// A span in whole milliseconds, as the wire and records have it. One that does not fit, of 500 million years, counts as
/// the longest that does.
#[must_use]
pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A span in whole microseconds; one that does not fit, of 500 000 years, counts as the longest that does.
#[must_use]
pub fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

/// The wall clock in milliseconds since 1970, stored in records for people to read and never used to decide.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct WallMillis(pub u64);
