//! The polls of the transport that run now, to be looked at without a lock.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The most polls that are watched at once. As many run at once as the runtime has threads; those of a larger one go
/// unwatched while all slots are taken.
const SLOTS: usize = 256;

/// The polls that run now, each with the time of its beginning in its slot. Times are those of the caller, above 0.
#[derive(Debug)]
pub(super) struct RunningPolls {
    /// 0 = free.
    slots: [AtomicU64; SLOTS],
    /// The slot to try next, so that polls seldom meet at one.
    next: AtomicUsize,
}

impl RunningPolls {
    pub(super) const fn new() -> Self {
        Self { slots: [const { AtomicU64::new(0) }; SLOTS], next: AtomicUsize::new(0) }
    }

    /// A poll begins; it runs until the returned value is dropped.
    pub(super) fn begin(&self, now: u64) -> RunningPoll<'_> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let mut slots = (0..SLOTS).map(|nth| &self.slots[first.wrapping_add(nth) % SLOTS]);
        let is_taken =
            |slot: &&AtomicU64| slot.compare_exchange(0, now, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        RunningPoll(slots.find(is_taken))
    }

    /// The time at which the oldest poll began that runs now; `None` = none runs.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.slots.iter().map(|slot| slot.load(Ordering::SeqCst)).filter(|since| *since > 0).min()
    }
}

/// A poll that runs.
#[must_use = "dropped, the poll has ended"]
pub(super) struct RunningPoll<'a>(Option<&'a AtomicU64>);

impl Drop for RunningPoll<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.store(0, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_poll_that_runs_is_found() {
        let polls = RunningPolls::new();
        assert_eq!(polls.oldest(), None);
        let (first, second) = (polls.begin(7), polls.begin(9));
        assert_eq!(polls.oldest(), Some(7));
        drop(first);
        assert_eq!(polls.oldest(), Some(9));
        drop(second);
        assert_eq!(polls.oldest(), None);
    }

    #[test]
    fn more_polls_than_slots_leave_those_that_are_watched_as_they_are() {
        let polls = RunningPolls::new();
        let running: Vec<_> = (1..=300).map(|now| polls.begin(now)).collect();
        assert_eq!(polls.oldest(), Some(1));
        drop(running);
        assert_eq!(polls.oldest(), None);
        let _again = polls.begin(5);
        assert_eq!(polls.oldest(), Some(5));
    }
}
