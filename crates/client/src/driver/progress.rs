//! The progress of processing, as it is reported to the service.
//!
//! The service decides when a session has stood still for too long: it alone knows `max_poll_interval` for every
//! client. This side only counts. Applying the interval here as well would end a session after twice as long.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;

/// A counter that rises with each heartbeat between which and the one before everything in the works moved on.
#[derive(Debug)]
pub(super) struct PollProgress {
    counter: u64,
    asked: Moment,
}

impl PollProgress {
    pub(super) const fn since(start: Moment) -> Self {
        Self { counter: 0, asked: start }
    }

    /// The counter for a heartbeat that is sent now. `is_stuck` tells whether anything has been in the works for longer
    /// than it is given: since the heartbeat before, so a record stands still from the second one on that finds it.
    pub(super) fn count(&mut self, now: Moment, is_stuck: impl FnOnce(Duration) -> bool) -> u64 {
        let before = std::mem::replace(&mut self.asked, now);
        let since = now.since(before);
        self.counter += u64::from(!is_stuck(since));
        self.counter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    #[test]
    fn the_counter_stands_still_from_the_second_heartbeat_that_finds_the_same_record() {
        let mut progress = PollProgress::since(at(0));
        // A record that is begun at 15 s, and never done.
        let mut beat = |now: u64| progress.count(at(now), |bound| at(now) > at(15) + bound);
        assert_eq!([10, 20, 30, 40].map(&mut beat), [1, 2, 2, 2]);
    }

    #[test]
    fn the_counter_rises_while_each_record_is_done_within_a_heartbeat() {
        let mut progress = PollProgress::since(at(0));
        let mut beat = |now: u64| progress.count(at(now), |bound| Duration::from_secs(9) > bound);
        assert_eq!([10, 20, 30].map(&mut beat), [1, 2, 3]);
    }
}
