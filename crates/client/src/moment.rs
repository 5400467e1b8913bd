//! Time as the pure machines see it.

use std::ops::Add;
use std::time::Duration;

use tokio::time::Instant;

/// A point in time: how long after the client's start it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment(Duration);

impl Moment {
    /// The moment `since_start` after the client's start.
    #[must_use]
    pub const fn after_start(since_start: Duration) -> Self {
        Self(since_start)
    }

    /// How long after the client's start this is.
    #[must_use]
    pub const fn since_start(self) -> Duration {
        self.0
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

/// Reads the time of the runtime, so that a paused clock works.
///
/// Wall-clock time is read once, at the start; afterwards it advances with the same clock, so that differences
/// between two readings are exact.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
    wall_origin: Duration,
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        let wall_origin = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        Self { origin: Instant::now(), wall_origin }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment(self.origin.elapsed())
    }

    /// `moment` on the clock of the runtime.
    #[must_use]
    pub fn instant(&self, moment: Moment) -> Instant {
        self.origin + moment.0
    }

    /// Now in milliseconds since 1970.
    #[must_use]
    pub fn unix_ms(&self) -> i64 {
        let wall = self.wall_origin + self.origin.elapsed();
        i64::try_from(wall.as_millis()).unwrap_or(i64::MAX)
    }
}
