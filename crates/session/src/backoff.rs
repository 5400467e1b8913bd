//! Waiting between attempts.

use std::time::Duration;

use kafka_assigner_types::id::Incarnation;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// A member's only source of randomness, seeded from outside so that a run can be repeated.
#[derive(Debug)]
pub struct Dice(StdRng);

impl Dice {
    /// The same seed gives the same throws.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// A new incarnation: 128 random bits in hexadecimal digits.
    pub fn incarnation(&mut self) -> Incarnation {
        let digits = format!("{:032x}", self.0.random::<u128>());
        Incarnation::new(&digits).expect("hexadecimal digits obey the rule for names")
    }

    /// A random number below `end`; 0 where that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { self.0.random_range(0..end) }
    }

    /// A random part of `span`, from none to all of it.
    pub fn part_of(&mut self, span: Duration) -> Duration {
        span.mul_f64(self.0.random_range(0.0..=1.0))
    }

    /// A random span of at least half of `span` and at most all of it.
    pub fn jittered(&mut self, span: Duration) -> Duration {
        span.mul_f64(self.0.random_range(0.5..=1.0))
    }
}

/// Doubling waits with jitter, between two bounds.
#[derive(Debug, Clone)]
pub struct RetryDelay {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl RetryDelay {
    /// The first wait is `first`, and none is longer than `longest`.
    #[must_use]
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// The wait after one more failure.
    pub fn next(&mut self, dice: &mut Dice) -> Duration {
        // 2^16 times any first wait is beyond every longest one, so the shift can't overflow.
        let factor = 1_u32 << self.failures.min(16);
        self.failures = self.failures.saturating_add(1);
        dice.jittered(self.first.saturating_mul(factor).min(self.longest))
    }

    /// Forgets the failures, after a success.
    pub const fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_start_again_after_a_success() {
        let mut dice = Dice::new(1);
        let mut backoff = RetryDelay::new(Duration::from_millis(100), Duration::from_secs(1));
        for expected in [100, 200, 400, 800, 1_000, 1_000] {
            let wait = backoff.next(&mut dice).as_millis();
            assert!((expected / 2..=expected).contains(&wait), "{wait} for {expected}");
        }
        backoff.reset();
        assert!(backoff.next(&mut dice) <= Duration::from_millis(100));
    }

    #[test]
    fn the_same_seed_gives_the_same_incarnations() {
        let (mut a, mut b) = (Dice::new(7), Dice::new(7));
        let first = a.incarnation();
        assert_eq!(first, b.incarnation());
        assert_ne!(first, a.incarnation());
    }
}
