//! The two clocks of an instance: one to decide by, one to show.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kafka_assigner_types::moment::{Moment, WallMillis, millis};
use tokio::time::Instant;

/// The unit in which drifts are counted.
const MILLION: i32 = 1_000_000;

/// The monotonic clock of a process, as the core counts it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Monotonic {
    origin: Instant,
    /// The time by which it runs faster than the runtime's clock, in millionths.
    drift_ppm: i32,
}

impl Monotonic {
    #[cfg(test)]
    pub(crate) fn start() -> Self {
        Self::drifting(0)
    }

    /// A clock that starts now, see [`Options::clock_drift_ppm`](crate::Options::clock_drift_ppm).
    pub(crate) fn drifting(ppm: i32) -> Self {
        assert!(ppm > -MILLION, "a clock runs forward");
        Self { origin: Instant::now(), drift_ppm: ppm }
    }

    pub(crate) fn now(self) -> Moment {
        Moment(self.scaled(self.origin.elapsed(), MILLION + self.drift_ppm, MILLION))
    }

    pub(crate) fn instant(self, moment: Moment) -> Instant {
        self.origin + self.scaled(moment.0, MILLION, MILLION + self.drift_ppm)
    }

    /// `span` times a ratio, rounded up, where the clock drifts at all.
    fn scaled(self, span: Duration, times: i32, of: i32) -> Duration {
        if self.drift_ppm == 0 {
            return span;
        }
        let (times, of) = (u128::from(times.unsigned_abs()), u128::from(of.unsigned_abs()));
        Duration::from_nanos(u64::try_from((span.as_nanos() * times).div_ceil(of)).unwrap_or(u64::MAX))
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

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep_until};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_drifts_is_apart_by_that_and_is_waited_for() {
        for (ppm, after_a_minute) in [(0, 60_000), (5_000, 60_300), (-5_000, 59_700)] {
            let clock = Monotonic::drifting(ppm);
            advance(Duration::from_secs(60)).await;
            assert_eq!(clock.now(), Moment(Duration::from_millis(after_a_minute)));
            let moment = Moment(Duration::from_secs(100));
            sleep_until(clock.instant(moment)).await;
            assert!(clock.now() >= moment && clock.now().since(moment) < Duration::from_millis(2));
        }
    }
}
