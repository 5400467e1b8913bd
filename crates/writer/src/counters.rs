//! The state of one partition: the sum of its log.

use std::collections::BTreeMap;

use kafka_assigner_types::id::{Epoch, Offset};

use crate::entry::{Addition, Entry, EntryKind};

/// Callers whose last request is remembered. A caller is forgotten when so many others have written after it; it must
/// not repeat a request by then. A hundred bytes each make this a megabyte for each partition.
const CALLERS: usize = 10_000;

/// The counters of one partition, and what it takes to tell a repeated request from a new one.
///
/// A fold: the same entries in the same order give the same counters, whoever reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    totals: BTreeMap<String, u64>,
    last: BTreeMap<String, Last>,
    /// Callers by the offset of their last addition.
    by_age: BTreeMap<Offset, String>,
    fence: Epoch,
    next: Offset,
}

/// The last addition of one caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Last {
    number: u64,
    total: u64,
    offset: Offset,
}

/// The state of a request's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was not executed.
    New,
    /// It was executed, and this was the counter then.
    Done(u64),
    /// A later request of the same caller was executed.
    Outdated,
}

impl Counters {
    /// The offset after the last entry that was read.
    #[must_use]
    pub const fn next(&self) -> Offset {
        self.next
    }

    /// A counter; 0 where nothing was added.
    #[must_use]
    pub fn total(&self, key: &str) -> u64 {
        self.totals.get(key).copied().unwrap_or_default()
    }

    /// Takes the next entry in. Returns the counter after an addition that counts.
    pub fn apply(&mut self, offset: Offset, entry: &Entry) -> Option<u64> {
        self.next = offset.next();
        if entry.epoch < self.fence {
            return None;
        }
        self.fence = entry.epoch;
        match &entry.what {
            EntryKind::Opened => None,
            EntryKind::Added(addition) => Some(self.add(offset, addition)),
        }
    }

    /// True if the entry written at `offset` follows directly on what was read. If not, another process has written,
    /// perhaps a fence.
    pub(crate) fn is_next(&self, offset: Offset) -> bool {
        self.next == offset
    }

    pub(crate) fn known(&self, caller: &str, number: u64) -> Known {
        match self.last.get(caller) {
            Some(last) if last.number == number => Known::Done(last.total),
            Some(last) if last.number > number => Known::Outdated,
            _ => Known::New,
        }
    }

    fn add(&mut self, offset: Offset, addition: &Addition) -> u64 {
        let total = self.totals.entry(addition.key.clone()).or_default();
        *total = total.wrapping_add(addition.amount);
        let last = Last { number: addition.number, total: *total, offset };
        if let Some(before) = self.last.insert(addition.caller.clone(), last) {
            self.by_age.remove(&before.offset);
        }
        self.by_age.insert(offset, addition.caller.clone());
        if self.by_age.len() > CALLERS
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.last.remove(&oldest);
        }
        last.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: i64) -> Offset {
        Offset::new(number).unwrap()
    }

    fn added(epoch: u64, caller: &str, number: u64) -> Entry {
        let (caller, key) = (caller.to_owned(), "k".to_owned());
        Entry { epoch: Epoch(epoch), what: EntryKind::Added(Addition { caller, number, key, amount: 2 }) }
    }

    #[test]
    fn an_entry_of_an_older_epoch_after_a_fence_does_not_count() {
        let mut counters = Counters::default();
        assert_eq!(counters.apply(at(0), &added(1, "a", 1)), Some(2));
        assert_eq!(counters.apply(at(1), &Entry { epoch: Epoch(5), what: EntryKind::Opened }), None);
        assert_eq!(counters.apply(at(2), &added(1, "a", 2)), None);
        assert_eq!(counters.apply(at(3), &added(5, "b", 1)), Some(4));
        assert_eq!((counters.total("k"), counters.next()), (4, at(4)));
        assert_eq!(counters.known("a", 2), Known::New);
    }

    // Found by chaos: a session that was revoked from outside leaves its writer a claim that nobody waits for.
    #[test]
    fn what_was_written_behind_somebody_elses_entry_is_not_known_to_count() {
        let mut counters = Counters::default();
        counters.apply(at(0), &added(1, "a", 1));
        // Another owner's fence came in between, at 1.
        assert!(counters.is_next(at(1)) && !counters.is_next(at(2)));
    }

    #[test]
    fn a_repeated_request_is_told_from_a_new_one_and_from_one_that_is_outdated() {
        let mut counters = Counters::default();
        counters.apply(at(0), &added(1, "a", 3));
        assert_eq!(counters.known("a", 2), Known::Outdated);
        assert_eq!(counters.known("a", 3), Known::Done(2));
        assert_eq!(counters.known("a", 4), Known::New);
        assert_eq!(counters.known("b", 3), Known::New);
    }

    #[test]
    fn the_callers_that_were_silent_for_the_longest_are_forgotten() {
        let mut counters = Counters::default();
        let callers = i64::try_from(CALLERS).unwrap();
        for offset in 0..callers {
            counters.apply(at(offset), &added(1, &offset.to_string(), 1));
        }
        counters.apply(at(callers), &added(1, "0", 2));
        counters.apply(at(callers + 1), &added(1, "new", 1));
        assert_eq!(counters.known("1", 1), Known::New);
        assert!(matches!(counters.known("0", 2), Known::Done(_)));
        assert_eq!((counters.last.len(), counters.by_age.len()), (CALLERS, CALLERS));
    }
}
