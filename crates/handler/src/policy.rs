//! The policy for errors.

use std::time::Duration;

use crate::error::{RecordError, Remedy};

/// The longest wait that doubling reaches: 2^16 times any first one is beyond every bound that makes sense.
const MOST_DOUBLINGS: u32 = 16;

/// Decides about a record whose handler failed, or panicked, without saying what is to be done.
///
/// The default tries for ever, with waits from 100 ms to 10 s: nothing is passed over, and no partition stands, unless
/// somebody has said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPolicy {
    /// The wait before the first repetition; each further one is twice as long. Default 100 ms.
    pub first_retry: Duration,
    /// The bound of the waits. Default 10 s.
    pub longest_retry: Duration,
    /// The attempts of which the last one ends it, at least 1; 0 counts as 1. `None` (the default) = no bound.
    pub attempts: Option<u32>,
    /// The decision after the last attempt. Default [`Remedy::Stop`]; of no effect without a bound.
    pub afterwards: Remedy,
}

impl Default for ErrorPolicy {
    fn default() -> Self {
        Self {
            first_retry: Duration::from_millis(100),
            longest_retry: Duration::from_secs(10),
            attempts: None,
            afterwards: Remedy::Stop,
        }
    }
}

impl ErrorPolicy {
    /// The default waits, and `afterwards` when `attempts` have failed.
    #[must_use]
    pub fn after(attempts: u32, afterwards: Remedy) -> Self {
        Self { attempts: Some(attempts), afterwards, ..Self::default() }
    }

    /// The decision about a record of which so many attempts have failed, this one included. A retry comes with its
    /// wait: at least half of the one that is due, by `dice` from 0 to 1.
    #[must_use]
    pub fn decide(&self, error: &RecordError, failed: u32, dice: f64) -> Remedy {
        let is_last = self.attempts.is_some_and(|most| failed >= most.max(1));
        match error.remedy() {
            None if is_last => self.waiting(self.afterwards, failed, dice),
            None => self.waiting(Remedy::Retry { after: None }, failed, dice),
            Some(remedy) => self.waiting(remedy, failed, dice),
        }
    }

    fn waiting(&self, remedy: Remedy, failed: u32, dice: f64) -> Remedy {
        match remedy {
            Remedy::Retry { after: None } => Remedy::Retry { after: Some(self.wait(failed, dice)) },
            other => other,
        }
    }

    fn wait(&self, failed: u32, dice: f64) -> Duration {
        let doublings = failed.saturating_sub(1).min(MOST_DOUBLINGS);
        let due = self.first_retry.saturating_mul(1 << doublings).min(self.longest_retry);
        due.mul_f64(0.5 + dice.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(millis: u64) -> Remedy {
        Remedy::Retry { after: Some(Duration::from_millis(millis)) }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_vary_by_half() {
        let policy = ErrorPolicy::default();
        let error = RecordError::new("e");
        let waits = [1, 2, 3, 7, 8, u32::MAX].map(|failed| policy.decide(&error, failed, 1.0));
        assert_eq!(waits, [100, 200, 400, 6_400, 10_000, 10_000].map(retry));
        assert_eq!(policy.decide(&error, 1, 0.0), retry(50));
    }

    #[test]
    fn the_last_attempt_ends_it() {
        let policy = ErrorPolicy::after(3, Remedy::DeadLetter);
        let error = RecordError::new("e");
        assert_eq!(policy.decide(&error, 2, 1.0), retry(200));
        assert_eq!(policy.decide(&error, 3, 1.0), Remedy::DeadLetter);
        assert_eq!(ErrorPolicy::after(0, Remedy::Skip).decide(&error, 1, 1.0), Remedy::Skip);
    }

    #[test]
    fn the_answer_of_a_handler_counts() {
        let policy = ErrorPolicy::after(1, Remedy::Stop);
        assert_eq!(policy.decide(&RecordError::skip("e"), 1, 1.0), Remedy::Skip);
        let again = RecordError::retry(Duration::from_secs(60), "e");
        assert_eq!(policy.decide(&again, 9, 1.0), retry(60_000));
    }
}
