//! The pace of a preparation, and the time that it will still take at that pace. Pure.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;

/// Without progress for so long, a preparation has no pace: it may wait for a broker that never comes back.
const STALLED_AFTER: Duration = Duration::from_secs(10);

/// The amounts that were seen as done, first and last, each with the time at which it was seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WarmUpEstimate(Option<SeenAmounts>);

#[derive(Debug, Clone, Copy)]
struct SeenAmounts {
    looked: Moment,
    first: (Moment, u64),
    last: (Moment, u64),
}

impl WarmUpEstimate {
    /// Sees what is done now. What had been done before the first look, as by a snapshot, says nothing of the pace.
    pub(super) const fn see(&mut self, now: Moment, done: u64) {
        match &mut self.0 {
            Some(seen) => {
                seen.looked = now;
                if done > seen.last.1 {
                    seen.last = (now, done);
                }
            }
            None => self.0 = Some(SeenAmounts { looked: now, first: (now, done), last: (now, done) }),
        }
    }

    /// The time that is left, in whole seconds, rounded up; `None` where the whole is not known, or nothing was done between two
    /// looks, or for ten seconds before the last one.
    pub(super) fn left(&self, done: u64, total: Option<u64>) -> Option<Duration> {
        let (seen, todo) = (self.0?, total?.saturating_sub(done));
        if todo == 0 {
            return Some(Duration::ZERO);
        }
        if seen.looked.since(seen.last.0) >= STALLED_AFTER {
            return None;
        }
        let (took, gained) = (seen.last.0.since(seen.first.0), seen.last.1 - seen.first.1);
        let left = (took.as_millis() * u128::from(todo)).checked_div(u128::from(gained))?;
        Some(Duration::from_secs(u64::try_from(left.div_ceil(1_000)).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(looks: &[(u64, u64)]) -> WarmUpEstimate {
        let mut pace = WarmUpEstimate::default();
        looks.iter().for_each(|(second, done)| pace.see(Moment(Duration::from_secs(*second)), *done));
        pace
    }

    #[test]
    fn what_is_left_takes_as_long_as_what_was_done_took() {
        // 900 in 3 s, after 5 000 that a snapshot had.
        let pace = seen(&[(10, 5_000), (11, 5_200), (13, 5_900)]);
        assert_eq!(pace.left(5_900, Some(9_000)), Some(Duration::from_secs(11)));
        assert_eq!(pace.left(9_000, Some(9_000)), Some(Duration::ZERO));
        assert_eq!(pace.left(9_001, Some(9_000)), Some(Duration::ZERO), "the end was asked for before");
    }

    #[test]
    fn nothing_is_known_while_nothing_is_done() {
        let mut pace = seen(&[(10, 0), (12, 10), (21, 10)]);
        assert_eq!(pace.left(10, Some(20)), Some(Duration::from_secs(2)), "it may go on any moment");
        pace.see(Moment(Duration::from_secs(22)), 10);
        assert_eq!(pace.left(10, Some(20)), None);
        assert_eq!(pace.left(10, Some(10)), Some(Duration::ZERO));
        pace.see(Moment(Duration::from_secs(30)), 20);
        assert_eq!(pace.left(20, Some(30)), Some(Duration::from_secs(10)), "with the stop in it");
    }

    #[test]
    fn nothing_is_known_before_something_was_done_or_without_an_end() {
        assert_eq!(seen(&[]).left(0, Some(5)), None);
        assert_eq!(seen(&[(1, 3), (2, 3)]).left(3, Some(5)), None);
        assert_eq!(seen(&[(1, 3), (2, 4)]).left(4, None), None);
    }
}
