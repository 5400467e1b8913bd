//! Detection of a stalled forwarder, robust against suspensions of the process.
//!
//! After a suspension neither the session's loop nor the forwarder has run for long, and the one that runs first finds
//! the other one late. So the loop judges the forwarder only after it has run without a pause itself.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;

/// The longest sleep of the loop: it checks the progress of the forwarder at least that often.
pub(super) const WATCH: Duration = Duration::from_millis(500);
/// The loop runs at least each [`WATCH`]; a run twice as late means that it was suspended.
const LONGEST_PAUSE: Duration = WATCH.saturating_mul(2);

/// Measures for how long the loop has run without a pause.
#[derive(Debug)]
pub(super) struct StallDetector {
    since: Moment,
    last: Moment,
}

impl StallDetector {
    pub(super) const fn new(now: Moment) -> Self {
        Self { since: now, last: now }
    }

    /// Records this run of the loop; true = it has run without a pause for `span` by now.
    pub(super) fn has_run_for(&mut self, now: Moment, span: Duration) -> bool {
        if self.last + LONGEST_PAUSE < now {
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
    fn a_pause_of_the_loop_starts_the_span_anew() {
        let at = |millis| Moment(Duration::from_millis(millis));
        let mut detector = StallDetector::new(at(0));
        let mut run = |millis| detector.has_run_for(at(millis), Duration::from_secs(2));
        assert_eq!([500, 1_000, 1_999, 2_000].map(&mut run), [false, false, false, true]);
        // A pause: the span begins anew.
        assert_eq!([9_000, 10_000, 10_999, 11_000].map(&mut run), [false, false, false, true]);
    }
}
