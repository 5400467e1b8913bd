//! The limits of a caller, on each instance.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;

/// The limits of one caller on each instance; `None`: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// The most calls a second, with as many at once.
    pub calls_per_second: Option<u32>,
    /// The most open streams of consumers and routers.
    pub streams: Option<u32>,
    /// The most open streams of `watch`.
    pub watches: Option<u32>,
}

/// The calls that a caller may still make: a bucket of one second's calls, which fills by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallBucket {
    left: f64,
    at: Moment,
}

impl CallBucket {
    /// A full bucket of a caller that may make so many calls a second.
    #[must_use]
    pub fn full(calls_per_second: u32, now: Moment) -> Self {
        Self { left: f64::from(calls_per_second), at: now }
    }

    /// Takes one call out at `now`.
    ///
    /// # Errors
    /// The time until there is one again.
    pub fn take(&mut self, calls_per_second: u32, now: Moment) -> Result<(), Duration> {
        let rate = f64::from(calls_per_second);
        self.left = rate.min(self.left + rate * now.since(self.at).as_secs_f64());
        self.at = self.at.max(now);
        if self.left >= 1.0 {
            self.left -= 1.0;
            return Ok(());
        }
        // A rate of 0 lets nobody call; an hour stands for "never".
        Err(Duration::try_from_secs_f64((1.0 - self.left) / rate).unwrap_or(Duration::from_secs(3_600)))
    }

    /// True if nothing would be lost by forgetting it: by `now` it is full again.
    #[must_use]
    pub fn is_full(&self, calls_per_second: u32, now: Moment) -> bool {
        let rate = f64::from(calls_per_second);
        self.left + rate * now.since(self.at).as_secs_f64() >= rate
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: u64) -> Moment {
        Moment(Duration::from_millis(millis))
    }

    #[test]
    fn a_caller_has_one_second_of_calls_at_once_and_then_its_rate() {
        let mut bucket = CallBucket::full(2, at(0));
        assert_eq!([bucket.take(2, at(0)), bucket.take(2, at(0))], [Ok(()), Ok(())]);
        assert_eq!(bucket.take(2, at(0)), Err(Duration::from_millis(500)));
        assert_eq!(bucket.take(2, at(500)), Ok(()));
        assert!(!bucket.is_full(2, at(600)) && bucket.is_full(2, at(1_500)));
    }

    #[test]
    fn a_rate_of_zero_allows_nothing_and_waits_have_an_end() {
        let mut bucket = CallBucket::full(0, at(0));
        assert_eq!(bucket.take(0, at(9)), Err(Duration::from_secs(3_600)));
    }

    proptest! {
        #[test]
        fn no_pattern_of_calls_gets_more_than_the_rate_and_one_burst(
            rate in 1..50_u32,
            pauses in proptest::collection::vec(0..400_u64, 1..300),
        ) {
            let (mut bucket, mut now, mut taken) = (CallBucket::full(rate, at(0)), 0, 0_u32);
            for pause in pauses {
                now += pause;
                taken += u32::from(bucket.take(rate, at(now)).is_ok());
            }
            let most = f64::from(rate) * (1.0 + Duration::from_millis(now).as_secs_f64());
            prop_assert!(f64::from(taken) <= most + 1e-6, "{taken} of {most}");
        }
    }
}
