//! The waits between tries to reach a broker; pure.

use std::time::{Duration, Instant};

/// The wait after the first failure, before chance shortens it; as Kafka's `reconnect.backoff.ms`.
const FIRST: Duration = Duration::from_millis(50);

/// No wait is longer, so that a broker that is back is used within a second; as Kafka's `reconnect.backoff.max.ms`.
const LONGEST: Duration = Duration::from_secs(1);

/// Failures in a row to reach a broker, and the time before which it is not tried again.
///
/// The wait doubles with each failure from 50 ms to 1 s, and chance takes away up to half of it, so that clients that
/// lost a broker together do not come back together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reconnect {
    failures: u32,
    not_before: Option<Instant>,
}

impl Reconnect {
    /// The broker could not be reached at `now`. `chance` is from 0 to 1.
    pub fn failed(&mut self, now: Instant, chance: f64) {
        let doubled = FIRST.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(now + doubled.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0));
    }

    /// The broker was reached.
    pub const fn opened(&mut self) {
        *self = Self { failures: 0, not_before: None };
    }

    /// The time from `now` until the broker may be tried.
    #[must_use]
    pub fn wait(&self, now: Instant) -> Duration {
        self.not_before.map_or(Duration::ZERO, |not_before| not_before.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_second_and_chance_takes_up_to_half() {
        let now = Instant::now();
        let waits = |chance: f64| {
            let mut reconnect = Reconnect::default();
            let mut next = || {
                reconnect.failed(now, chance);
                reconnect.wait(now).as_millis()
            };
            [next(), next(), next(), next(), next(), next(), next()]
        };
        assert_eq!(waits(1.0), [50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(waits(0.0), [25, 50, 100, 200, 400, 500, 500]);
    }

    #[test]
    fn a_broker_that_was_reached_is_tried_at_once() {
        let now = Instant::now();
        let mut reconnect = Reconnect::default();
        assert_eq!(reconnect.wait(now), Duration::ZERO);
        for _ in 0..100 {
            reconnect.failed(now, 1.0);
        }
        assert_eq!(reconnect.wait(now + Duration::from_millis(400)), Duration::from_millis(600));
        reconnect.opened();
        assert_eq!(reconnect.wait(now), Duration::ZERO);
    }
}
