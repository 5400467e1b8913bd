//! The wait before a failed call is made again.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::sleep;

use crate::error::Error;

/// A wait that doubles with each failure in a row, up to a longest one.
///
/// Each wait is shortened by up to half, so that instances that failed together don't come back
/// together. By how much follows from the seed alone: equal seeds give equal waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure, before it is shortened. Default 50 ms.
    pub first: Duration,
    /// No wait is longer. Default 2 s, so that a store that is back is used within 5 s.
    pub longest: Duration,
    /// Tells instances apart. Default 0.
    pub seed: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(50), longest: Duration::from_secs(2), seed: 0 }
    }
}

impl Backoff {
    /// The wait after `error`, which was the `failures`th in a row.
    ///
    /// An error that repeating can't heal by itself waits longest at once: somebody has to act first.
    #[must_use]
    pub fn after(&self, error: &Error, failures: u32) -> Duration {
        let heals = error.is_transient() || matches!(error, Error::Compacted { .. });
        self.shortened(if heals { self.doubled(failures) } else { self.longest }, failures)
    }

    fn doubled(&self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.longest)
    }

    /// `wait`, shortened by up to half; each `time` by another part.
    pub(crate) fn shortened(&self, wait: Duration, time: u32) -> Duration {
        let seed = self.seed.wrapping_add(u64::from(time));
        wait.mul_f64(StdRng::seed_from_u64(seed).random_range(0.5..=1.0))
    }
}

/// Failures in a row, and the waits between them.
#[derive(Debug)]
pub(crate) struct Retries {
    backoff: Backoff,
    failures: u32,
}

impl Retries {
    pub(crate) const fn new(backoff: Backoff) -> Self {
        Self { backoff, failures: 0 }
    }

    /// A success ends the row.
    pub(crate) const fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Counts a failure of `what`, and returns the wait before the next attempt.
    pub(crate) fn failed(&mut self, what: &'static str, error: &Error) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let wait = self.backoff.after(error, self.failures);
        tracing::debug!(%error, ?wait, failures = self.failures, what, "the store failed");
        wait
    }

    /// Counts a failure of `what`, and waits.
    pub(crate) async fn wait(&mut self, what: &'static str, error: &Error) {
        let wait = self.failed(what, error);
        sleep(wait).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost() -> Error {
        Error::Unknown { operation: "txn", source: None }
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let backoff = Backoff::default();
        for failures in 1..40 {
            let whole = backoff.doubled(failures);
            let wait = backoff.after(&lost(), failures);
            assert!(wait <= whole && wait >= whole / 2, "{wait:?} of {whole:?}");
        }
        assert_eq!(backoff.doubled(2), backoff.first * 2);
        assert_eq!(backoff.doubled(40), backoff.longest);
    }

    #[test]
    fn seeds_tell_instances_apart_and_nothing_else_does() {
        let [a, b] = [1, 2].map(|seed| Backoff { seed, ..Backoff::default() });
        assert_ne!(a.after(&lost(), 5), b.after(&lost(), 5));
        assert_eq!(a.after(&lost(), 5), a.after(&lost(), 5));
    }

    #[test]
    fn what_somebody_has_to_mend_is_not_hurried() {
        let backoff = Backoff::default();
        assert!(backoff.after(&Error::Denied("no".into()), 1) >= backoff.longest / 2);
    }
}
