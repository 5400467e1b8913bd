//! The clock of a client: its moments are counted from the client's start.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_types::moment::Moment;
use tokio::time::{Instant, sleep_until};

use crate::suspensions::{self, Suspensions};

/// The longest time after its end until a suspension is noticed: it stops the runtime's timers as well, so none of them
/// runs for longer than this in one piece. Short against the third of a time to live in which others wait.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// The unit in which drifts are counted.
const MILLION: i32 = 1_000_000;

/// Reads the time of the runtime, so that a paused clock works, and counts suspended time with it.
///
/// Wall-clock time is read once, at the start; afterwards it advances with the same clock, so that differences
/// between two readings are exact. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Clock {
    origin: Instant,
    /// The time by which it runs faster than the runtime's clock, in millionths.
    drift_ppm: i32,
    wall_origin: Duration,
    suspensions: Option<Arc<dyn Suspensions>>,
}

/// A reading of a clock, to be used for what comes right after it.
#[derive(Debug, Clone, Copy)]
pub struct ClockReading {
    moment: Moment,
    /// The system's tick before it; `None` = the system tells of none.
    tick: Option<u64>,
}

impl ClockReading {
    /// The time that was read.
    #[inline]
    #[must_use]
    pub const fn moment(self) -> Moment {
        self.moment
    }
}

impl Clock {
    /// A clock that starts now. Suspended time counts where the system tells of it, which Linux does; what it means
    /// elsewhere is said at [`Suspensions`].
    #[must_use]
    pub fn start() -> Self {
        Self { suspensions: suspensions::of_the_system(), ..Self::of_the_runtime() }
    }

    /// A clock that starts now and knows nothing but the runtime's time: with that paused, readings repeat exactly.
    #[must_use]
    pub fn of_the_runtime() -> Self {
        let wall_origin = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        Self { origin: Instant::now(), drift_ppm: 0, wall_origin, suspensions: None }
    }

    /// A clock that starts now and runs faster than the runtime's time by `ppm` millionths, or slower where that is negative:
    /// for simulations, as clocks of two machines differ by up to a few hundred.
    ///
    /// # Panics
    /// At -1 000 000 or less: it would stand still or run back.
    #[must_use]
    pub fn drifting(ppm: i32) -> Self {
        assert!(ppm > -MILLION, "a clock runs forward");
        Self { drift_ppm: ppm, ..Self::of_the_runtime() }
    }

    /// A clock that starts now and counts these suspensions.
    #[must_use]
    pub fn counting(suspensions: Arc<dyn Suspensions>) -> Self {
        Self { suspensions: Some(suspensions), ..Self::of_the_runtime() }
    }

    /// Now. Sequential readings never go back, but for suspensions that add up to the shortest that counts (10 ms).
    #[must_use]
    pub fn now(&self) -> Moment {
        // In this order, or a suspension in between would be missed.
        let awake = self.awake();
        Moment(awake + self.suspended())
    }

    /// A reading, to begin with.
    #[must_use]
    pub fn read(&self) -> ClockReading {
        // In this order, or a tick in between would be missed.
        let tick = self.tick();
        ClockReading { moment: self.now(), tick }
    }

    /// The same reading within one tick of the system, which lasts for 10 ms at most, and else a new one. A suspension ends
    /// a tick. A clock of the system is read only once a tick so, however often this is asked.
    #[inline]
    #[must_use]
    pub fn read_after(&self, last: ClockReading) -> ClockReading {
        if last.tick.is_some() && self.tick() == last.tick { last } else { self.read() }
    }

    #[inline]
    fn tick(&self) -> Option<u64> {
        self.suspensions.as_ref().and_then(|suspensions| suspensions.tick())
    }

    /// The time for which the process could run since the clock started, without suspensions, by which to judge whether a
    /// task stands still.
    #[must_use]
    pub fn awake(&self) -> Duration {
        self.scaled(self.origin.elapsed(), MILLION + self.drift_ppm, MILLION)
    }

    /// `span` times a ratio, rounded up, where the clock drifts at all.
    fn scaled(&self, span: Duration, times: i32, of: i32) -> Duration {
        if self.drift_ppm == 0 {
            return span;
        }
        let (times, of) = (u128::from(times.unsigned_abs()), u128::from(of.unsigned_abs()));
        let nanos = (span.as_nanos() * times).div_ceil(of);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Waits until `moment` has come; wakes within a second of the end of a suspension past it.
    ///
    /// Cancel safe.
    pub async fn sleep_until(&self, moment: Moment) {
        loop {
            let awake = moment.0.saturating_sub(self.suspended());
            let wake = self.origin + self.scaled(awake, MILLION, MILLION + self.drift_ppm);
            if self.suspensions.is_none() {
                return sleep_until(wake).await;
            }
            sleep_until(wake.min(Instant::now() + LONGEST_NAP)).await;
            if moment <= self.now() {
                return;
            }
        }
    }

    fn suspended(&self) -> Duration {
        self.suspensions.as_ref().map_or(Duration::ZERO, |suspensions| suspensions.total())
    }

    /// Now in milliseconds since 1970.
    #[must_use]
    pub fn unix_ms(&self) -> i64 {
        let wall = self.wall_origin + self.now().0;
        i64::try_from(wall.as_millis()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suspensions::ScriptedSuspensions;

    #[tokio::test(start_paused = true)]
    async fn suspended_time_counts_for_everything_but_time_awake() {
        let suspensions = Arc::new(ScriptedSuspensions::default());
        let clock = Clock::counting(suspensions.clone());
        let wall = clock.unix_ms();
        tokio::time::advance(Duration::from_secs(2)).await;
        suspensions.suspend(Duration::from_secs(30));
        assert_eq!(clock.now(), Moment(Duration::from_secs(32)));
        assert_eq!(clock.unix_ms() - wall, 32_000);
        assert_eq!(clock.awake(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reading_stands_until_the_tick_ends_and_not_over_a_suspension() {
        let suspensions = Arc::new(ScriptedSuspensions::default());
        let clock = Clock::counting(suspensions.clone());
        let first = clock.read();
        tokio::time::advance(Duration::from_millis(3)).await;
        assert_eq!(clock.read_after(first).moment(), first.moment());
        suspensions.end_tick();
        let second = clock.read_after(first);
        assert_eq!(second.moment().since(first.moment()), Duration::from_millis(3));
        suspensions.suspend(Duration::from_secs(60));
        assert_eq!(clock.read_after(second).moment().since(second.moment()), Duration::from_secs(60));
    }

    #[tokio::test(start_paused = true)]
    async fn without_ticks_each_reading_is_a_new_one() {
        let clock = Clock::of_the_runtime();
        let first = clock.read();
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(clock.read_after(first).moment().since(first.moment()), Duration::from_millis(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_drifts_is_apart_by_that_and_wakes_by_itself() {
        for (ppm, after_a_minute) in [(5_000, 60_300), (-5_000, 59_700), (0, 60_000)] {
            let clock = Clock::drifting(ppm);
            tokio::time::advance(Duration::from_secs(60)).await;
            assert_eq!(clock.now(), Moment(Duration::from_millis(after_a_minute)));
            let moment = Moment(Duration::from_secs(100));
            clock.sleep_until(moment).await;
            assert!(moment <= clock.now() && clock.now().0 < moment.0 + Duration::from_millis(2), "{ppm}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleeper_is_woken_soon_after_a_suspension_and_on_time_without_one() {
        let suspensions = Arc::new(ScriptedSuspensions::default());
        let clock = Clock::counting(suspensions.clone());
        let at = |seconds| Moment(Duration::from_secs(seconds));
        clock.sleep_until(at(10)).await;
        assert_eq!(clock.now(), at(10));
        let (sleeping, begun) = (clock.sleep_until(at(100)), Instant::now());
        suspensions.suspend(Duration::from_secs(3_600));
        sleeping.await;
        assert!(begun.elapsed() <= LONGEST_NAP, "{:?}", begun.elapsed());
    }
}
