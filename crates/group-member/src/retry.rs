//! The waits before something is tried again.

use std::time::Duration;

/// The wait after the first failure; as Kafka's `retry.backoff.ms`.
const FIRST: Duration = Duration::from_millis(100);

/// No wait is longer; as Kafka's `retry.backoff.max.ms`.
const LONGEST: Duration = Duration::from_secs(1);

/// Failures in a row, and the wait that follows from their number: 100 ms doubling to 1 s.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetryWait(u32);

impl RetryWait {
    /// The wait after one more failure.
    pub fn failed(&mut self) -> Duration {
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(self.0)).min(LONGEST);
        self.0 = self.0.saturating_add(1);
        wait
    }

    /// The failures in a row.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.0
    }

    /// Something went well.
    pub const fn succeeded(&mut self) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_second() {
        let mut wait = RetryWait::default();
        let waits: Vec<_> = (0..6).map(|_| wait.failed().as_millis()).collect();
        assert_eq!((waits, wait.failures()), (vec![100, 200, 400, 800, 1000, 1000], 6));
        wait.succeeded();
        assert_eq!(wait.failed().as_millis(), 100);
    }
}
