//! The two clocks of an instance: one to decide by, one to show.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use kafka_assigner_types::moment::{Moment, WallMillis, millis};
use tokio::time::Instant;

/// The monotonic clock of a process, as the core counts it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Monotonic(Instant);

impl Monotonic {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Moment {
        Moment(self.0.elapsed())
    }

    pub(crate) fn instant(self, moment: Moment) -> Instant {
        self.0 + moment.0
    }
}

/// Tells the time of day. A simulation brings its own.
#[derive(Clone)]
pub struct WallClock(Arc<dyn Fn() -> WallMillis + Send + Sync>);

impl WallClock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            WallMillis(millis(since))
        })
    }

    /// A clock that says what `now` says.
    pub fn new(now: impl Fn() -> WallMillis + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time of day.
    #[must_use]
    pub fn now(&self) -> WallMillis {
        (self.0)()
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}
