//! Failures of drains in a row.

use std::time::Duration;

use kafka_assigner_session::{Dice, RetryDelay};

/// Drains that fail so often in a row, over all partitions, won't succeed: with the waits below that takes at least
/// three seconds. Only a drain that succeeded resets the count, never time, or a broken router would run for ever.
const MOST_FAILURES: u32 = 10;
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(1);

/// The number of failures in a row, and the wait that follows each.
#[derive(Debug)]
pub(super) struct DrainFailures {
    count: u32,
    backoff: RetryDelay,
}

/// Too many drains in a row have failed.
#[derive(Debug)]
pub(super) struct TooManyFailures(pub(super) u32);

impl DrainFailures {
    pub(super) const fn new() -> Self {
        Self { count: 0, backoff: RetryDelay::new(FIRST_RETRY, LONGEST_RETRY) }
    }

    pub(super) const fn reset(&mut self) {
        self.count = 0;
        self.backoff.reset();
    }

    pub(super) fn count_one(&mut self) -> Result<(), TooManyFailures> {
        self.count += 1;
        if self.count < MOST_FAILURES { Ok(()) } else { Err(TooManyFailures(self.count)) }
    }

    /// The wait before the next attempt.
    pub(super) fn next_wait(&mut self, dice: &mut Dice) -> Duration {
        self.backoff.next(dice)
    }
}
