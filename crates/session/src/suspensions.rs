//! Time in which the whole system stood still.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// Tells a [`Clock`](crate::Clock) for how long the system was suspended in ways that its monotonic clock does not show.
///
/// That depends on the system:
///
/// | system | its monotonic clock | so the clock |
/// | --- | --- | --- |
/// | Linux, Android | stands still | adds how far `CLOCK_BOOTTIME` got ahead of `CLOCK_MONOTONIC` |
/// | Windows | goes on | needs nothing |
/// | macOS and others | as a rule stands still | is late by it: a claim looks valid for that much longer |
///
/// A process that is stopped, or a container that is frozen, is no suspension: the clocks go on. A virtual machine that
/// is paused without being told stops all of its clocks; no clock inside can show that.
pub trait Suspensions: Debug + Send + Sync {
    /// All of them together, since the clock that asks was made. It may tell too much once, by as
    /// long as the caller was held up while it asked; else it never falls.
    fn total(&self) -> Duration;

    /// A number that is another one after some milliseconds (10 at most on Linux), and after a suspension; much quicker to
    /// read than a clock. `None` (the default) = there is none.
    fn tick(&self) -> Option<u64> {
        None
    }
}

/// Those of the system, from now on; `None` where it does not tell, or nothing has to be told.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn of_the_system() -> Option<Arc<dyn Suspensions>> {
    Some(Arc::new(system::Boottime::start()))
}

/// Those of the system, from now on; `None` where it does not tell, or nothing has to be told.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn of_the_system() -> Option<Arc<dyn Suspensions>> {
    None
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    use super::Suspensions;

    /// Less does not count. The two clocks are read one after the other, as a rule within a microsecond, and a clock that
    /// nobody suspended must not tremble by that. No machine goes to sleep and wakes up within this, and it is little
    /// against the margin of a claim, a third of the time to live.
    const SHORTEST: Duration = Duration::from_millis(10);

    /// The lead of the clock that goes on in a suspension over the one that does not.
    #[derive(Debug)]
    pub(super) struct Boottime {
        ahead_at_start: Duration,
    }

    impl Boottime {
        /// The time between the two readings makes the lead smaller here, and larger in each later reading: a thread
        /// that is held up in between may count too much for once, and never too little.
        pub(super) fn start() -> Self {
            let all = read(ClockId::Boottime);
            Self { ahead_at_start: all.saturating_sub(read(ClockId::Monotonic)) }
        }
    }

    impl Suspensions for Boottime {
        fn total(&self) -> Duration {
            let awake = read(ClockId::Monotonic);
            let ahead = read(ClockId::Boottime).saturating_sub(awake);
            grown(ahead, self.ahead_at_start)
        }

        /// The time of day at the system's last tick. The end of a suspension adds all of it at once, which the coarse
        /// monotonic clock would not show.
        fn tick(&self) -> Option<u64> {
            let tick: Duration = clock_gettime(ClockId::RealtimeCoarse).try_into().ok()?;
            u64::try_from(tick.as_nanos()).ok()
        }
    }

    /// By how much the lead has grown, as far as that counts.
    fn grown(ahead: Duration, at_start: Duration) -> Duration {
        let grown = ahead.saturating_sub(at_start);
        if grown < SHORTEST { Duration::ZERO } else { grown }
    }

    fn read(clock: ClockId) -> Duration {
        clock_gettime(clock).try_into().expect("both count up from the start of the system")
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_system_that_was_awake_all_the_time_counts_nothing() {
            let system = Boottime::start();
            std::thread::sleep(SHORTEST * 2);
            assert_eq!(system.total(), Duration::ZERO);
        }

        #[test]
        fn a_tick_lasts_for_milliseconds_and_not_for_longer() {
            let system = Boottime::start();
            let (begun, first) = (std::time::Instant::now(), system.tick());
            while system.tick() == first {
                assert!(begun.elapsed() < Duration::from_secs(5), "it does not change");
            }
            assert!(first.is_some());
        }

        #[test]
        fn what_boottime_gained_since_the_start_counts_unless_it_is_a_trifle() {
            let slept_before = Duration::from_secs(100);
            let gained = |span| grown(slept_before + span, slept_before);
            assert_eq!(gained(Duration::from_secs(7)), Duration::from_secs(7));
            assert_eq!(gained(SHORTEST), SHORTEST);
            assert_eq!(gained(SHORTEST - Duration::from_nanos(1)), Duration::ZERO);
            assert_eq!(grown(Duration::ZERO, slept_before), Duration::ZERO);
        }
    }
}

/// Suspensions that a test makes up.
#[cfg(any(test, feature = "testing"))]
#[derive(Debug, Default)]
pub struct ScriptedSuspensions {
    total: std::sync::Mutex<Duration>,
    tick: std::sync::atomic::AtomicU64,
}

#[cfg(any(test, feature = "testing"))]
impl ScriptedSuspensions {
    /// The system was suspended for `span`, and its tick has ended.
    pub fn suspend(&self, span: Duration) {
        *self.total.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += span;
        self.end_tick();
    }

    /// Another tick of the system has begun.
    pub fn end_tick(&self) {
        self.tick.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(any(test, feature = "testing"))]
impl Suspensions for ScriptedSuspensions {
    fn total(&self) -> Duration {
        *self.total.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn tick(&self) -> Option<u64> {
        Some(self.tick.load(std::sync::atomic::Ordering::SeqCst))
    }
}
