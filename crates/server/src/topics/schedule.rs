//! The time of the next look at topics.

use std::time::Duration;

/// The shortest wait after a first failure.
const FIRST: Duration = Duration::from_millis(500);

/// The longest wait after failures, where the interval is not longer: a source that is back is asked within half a
/// minute.
const LONGEST: Duration = Duration::from_secs(30);

/// The waits between looks: an interval while they succeed, and growing ones while they fail.
#[derive(Debug, Clone)]
pub(super) struct RefreshSchedule {
    interval: Duration,
    failures: u32,
}

/// A failure as the schedule takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FailedLook {
    /// The failures in a row, with this one.
    pub(super) failures: u32,
    /// The time until the next look.
    pub(super) wait: Duration,
    /// True for the first, second, fourth, eighth … in a row: those are told.
    pub(super) is_told: bool,
}

impl RefreshSchedule {
    pub(super) const fn new(interval: Duration) -> Self {
        Self { interval, failures: 0 }
    }

    /// True while looks fail: then nobody asks out of turn.
    pub(super) const fn fails(&self) -> bool {
        self.failures > 0
    }

    /// A look has succeeded: the wait until the next one, and the failures before it. Up to a tenth is added by
    /// `draw`, so that instances do not ask together; nothing is taken away, because a denial of a topic counts only
    /// an interval after the last one.
    pub(super) fn succeeded(&mut self, draw: u64) -> (Duration, u32) {
        (self.interval + part(self.interval / 10, draw), std::mem::take(&mut self.failures))
    }

    /// The time by which a look that was asked for comes later, so that instances do not look together: up to a twentieth of
    /// the interval by `draw`, a tenth of the half for which it waits.
    pub(super) fn spread(&self, draw: u64) -> Duration {
        part(self.interval / 20, draw)
    }

    /// A look has failed: half of a wait that doubles, and the other half by `draw`.
    pub(super) fn failed(&mut self, draw: u64) -> FailedLook {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(16));
        let most = doubled.min(LONGEST.max(self.interval));
        self.failures = self.failures.saturating_add(1);
        let wait = most / 2 + part(most / 2, draw);
        FailedLook { failures: self.failures, wait, is_told: self.failures.is_power_of_two() }
    }
}

/// A part of `most` by chance.
fn part(most: Duration, draw: u64) -> Duration {
    let [.., low] = draw.to_be_bytes();
    most * u32::from(low) / 255
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(10);

    #[test]
    fn a_wait_after_a_success_is_never_shorter_than_the_interval() {
        let mut schedule = RefreshSchedule::new(INTERVAL);
        assert_eq!(schedule.succeeded(0), (INTERVAL, 0));
        assert_eq!(schedule.succeeded(u64::MAX), (INTERVAL + INTERVAL / 10, 0));
    }

    #[test]
    fn a_look_that_is_wanted_sooner_comes_a_twentieth_of_the_interval_later_at_most() {
        let schedule = RefreshSchedule::new(INTERVAL);
        assert_eq!(schedule.spread(0), Duration::ZERO);
        assert_eq!(schedule.spread(u64::MAX), Duration::from_millis(500));
    }

    #[test]
    fn waits_after_failures_grow_to_half_a_minute_and_fewer_are_told() {
        let mut schedule = RefreshSchedule::new(INTERVAL);
        let failed: Vec<FailedLook> = (0..40).map(|_| schedule.failed(u64::MAX)).collect();
        let waits: Vec<u128> = failed.iter().take(8).map(|look| look.wait.as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        let told: Vec<u32> = failed.iter().filter(|look| look.is_told).map(|look| look.failures).collect();
        assert_eq!(told, [1, 2, 4, 8, 16, 32]);
        assert!(schedule.fails());
        assert_eq!(schedule.succeeded(0), (INTERVAL, 40));
        assert!(!schedule.fails());
        assert_eq!(schedule.failed(0).wait, Duration::from_millis(250));
    }
}
