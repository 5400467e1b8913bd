//! The clocks that all processes of a run share: they run on one machine.

use std::ops::Add;
use std::time::{Duration, UNIX_EPOCH};

use kafka_assigner_audit::Micros;
use kafka_assigner_types::moment::micros;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The wall clock, as journals have it: microseconds since 1970.
#[must_use]
pub fn wall() -> Micros {
    let since = UNIX_EPOCH.elapsed().unwrap_or_default();
    micros(since)
}

/// Microseconds of the machine's monotonic clock, by which claims are counted too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub u64);

impl Moment {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = now.tv_sec.unsigned_abs() * 1_000_000 + now.tv_nsec.unsigned_abs() / 1_000;
        Self(micros)
    }

    /// The time from `earlier` to this; zero where `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(micros(span)))
    }
}
