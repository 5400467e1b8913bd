//! Whether the loop itself was there to see that the traffic stood still.
//!
//! A process that was suspended wakes with a loop and with traffic that both have not turned for long, and whichever turns
//! first finds the other one late. Only who has turned all the time can tell.

use std::time::Duration;

use kafka_assigner_client::Moment;

use super::WATCH;

/// The loop turns at least each [`WATCH`]; whoever comes twice as late was not there in between.
const AWAY: Duration = WATCH.saturating_mul(2);

/// For how long the loop has turned without a pause.
#[derive(Debug)]
pub(super) struct Witness {
    since: Moment,
    last: Moment,
}

impl Witness {
    pub(super) const fn new(now: Moment) -> Self {
        Self { since: now, last: now }
    }

    /// Takes note of this turn; whether the loop has turned for all of `span` by now.
    pub(super) fn has_watched(&mut self, now: Moment, span: Duration) -> bool {
        if self.last + AWAY < now {
            self.since = now;
        }
        self.last = now;
        self.since + span <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_turned_all_the_time_has_watched() {
        let at = |millis| Moment::after_start(Duration::from_millis(millis));
        let mut witness = Witness::new(at(0));
        let mut turn = |millis| witness.has_watched(at(millis), Duration::from_secs(2));
        assert_eq!([500, 1_000, 1_999, 2_000].map(&mut turn), [false, false, false, true]);
        // It was away, and begins anew.
        assert_eq!([9_000, 10_000, 10_999, 11_000].map(&mut turn), [false, false, false, true]);
    }
}
