//! The records that a handler has confirmed, where it decides what may be committed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kafka_assigner_types::id::Offset;

/// The most stretches of records that were passed over and lie behind records that nobody has confirmed. Those beyond are
/// handled again after a crash, as everything that is not committed.
const MOST_STRETCHES: usize = 1_000;

/// Decides what may be committed of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommitRule {
    /// Each record that was processed. The default.
    #[default]
    Processed,
    /// Each record that was processed, up to where the handler has [confirmed](crate::PartitionContext::confirm) them: for
    /// effects that come later than the return of `process`.
    Confirmed,
}

/// Takes the word of a handler that the effects of records are safe.
pub trait Confirm: Send + Sync {
    /// The effects of all records before `next` are safe. Smaller numbers than before say nothing new.
    fn confirm(&self, next: Offset);
}

/// The records of one partition that were confirmed while its state lives; clones share them. For runners.
#[derive(Debug, Clone, Default)]
pub struct Confirmations(Arc<Mutex<ConfirmedRecords>>);

impl Confirmations {
    /// Nothing is confirmed yet; records before `start` are of others.
    #[must_use]
    pub fn from(start: Offset) -> Self {
        Self(Arc::new(Mutex::new(ConfirmedRecords::from(start))))
    }

    fn records(&self) -> MutexGuard<'_, ConfirmedRecords> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The offset after the last record before which all are confirmed or passed over.
    #[must_use]
    pub fn next(&self) -> Offset {
        self.records().next
    }

    /// Nobody has to confirm anything from `from` on, before `next`: the record there was passed over.
    pub fn pass_over(&self, from: Offset, next: Offset) {
        self.records().pass_over(from, next);
    }
}

impl Confirm for Confirmations {
    fn confirm(&self, next: Offset) {
        self.records().confirm(next);
    }
}

/// The pure part of [`Confirmations`].
#[derive(Debug, Default)]
struct ConfirmedRecords {
    next: Offset,
    /// The records that were passed over at `next` or behind it, by their first offset: the offset after them.
    passed_over: BTreeMap<Offset, Offset>,
}

impl ConfirmedRecords {
    const fn from(start: Offset) -> Self {
        Self { next: start, passed_over: BTreeMap::new() }
    }

    fn confirm(&mut self, next: Offset) {
        self.next = self.next.max(next);
        self.close_up();
    }

    fn pass_over(&mut self, from: Offset, next: Offset) {
        self.passed_over.insert(from, next);
        self.close_up();
        if self.passed_over.len() > MOST_STRETCHES {
            self.passed_over.pop_last();
        }
    }

    /// Goes on behind what was passed over right here.
    fn close_up(&mut self) {
        while let Some(first) = self.passed_over.first_entry().filter(|first| *first.key() <= self.next) {
            self.next = self.next.max(first.remove());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(number: i64) -> Offset {
        Offset::new(number).unwrap()
    }

    fn after(steps: &[(Option<i64>, i64)]) -> i64 {
        let confirmations = Confirmations::from(offset(40));
        for (passed_over_from, next) in steps {
            match passed_over_from {
                Some(from) => confirmations.pass_over(offset(*from), offset(*next)),
                None => confirmations.confirm(offset(*next)),
            }
        }
        confirmations.next().get()
    }

    #[test]
    fn a_smaller_word_than_before_takes_nothing_back() {
        assert_eq!(after(&[]), 40);
        assert_eq!(after(&[(None, 45), (None, 43)]), 45);
    }

    #[test]
    fn what_was_passed_over_needs_no_word_and_says_none_for_others() {
        assert_eq!(after(&[(Some(40), 41)]), 41, "everything before it is of others");
        assert_eq!(after(&[(Some(44), 46)]), 40, "40 to 43 wait for a word");
        assert_eq!(after(&[(Some(44), 46), (None, 44)]), 46);
        assert_eq!(after(&[(Some(44), 46), (Some(46), 47), (Some(50), 51), (None, 45)]), 47);
    }

    #[test]
    fn no_more_is_kept_than_its_bound_and_the_last_is_forgotten() {
        let mut records = ConfirmedRecords::from(offset(0));
        (1..=2_000).for_each(|number| records.pass_over(offset(2 * number), offset(2 * number + 1)));
        assert_eq!(records.passed_over.len(), MOST_STRETCHES);
        records.confirm(offset(2));
        assert_eq!(records.next, offset(3));
    }
}
