//! The failures of the records of one partition: pure, so that every runner counts alike.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use kafka_assigner_types::id::Offset;

use crate::error::{RecordError, Remedy};
use crate::policy::ErrorPolicy;

/// The most records of a partition that are passed over without a call. Each is a record that spoiled a state, so many of
/// them are no accident of one record.
const MOST_PASSED_OVER: usize = 1_000;

/// The most records whose attempts are counted. A rebuild meets those that failed before, and must not forget the one
/// for which it is made.
const MOST_COUNTED: usize = 1_000;

/// Counts the attempts of records, and knows which ones are passed over without a call. Keep it for as
/// long as the process runs, also while the partition is prepared again: a state that is spoiled takes no count along.
#[derive(Debug, Clone, Default)]
pub struct RecordFailures {
    failed: BTreeMap<Offset, u32>,
    passed_over: BTreeSet<Offset>,
    given_up: BTreeSet<Offset>,
    seed: u64,
}

impl RecordFailures {
    /// No failures yet. The waits vary by `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// The number of failed attempts of the record at `offset`.
    #[must_use]
    pub fn attempts(&self, offset: Offset) -> u32 {
        self.failed.get(&offset).copied().unwrap_or_default()
    }

    /// True if any record has failed.
    #[must_use]
    pub fn has_any(&self) -> bool {
        !self.failed.is_empty()
    }

    /// True if the record at `offset` is to be passed over without a call: one spoiled the state.
    #[must_use]
    pub fn passes_over(&self, offset: Offset) -> bool {
        !self.passed_over.is_empty() && self.passed_over.contains(&offset)
    }

    /// The record at `offset` has failed once more: what is to be done.
    pub fn decide(&mut self, offset: Offset, error: &RecordError, policy: &ErrorPolicy) -> Remedy {
        let failed = self.attempts(offset).saturating_add(1);
        self.failed.insert(offset, failed);
        if self.failed.len() > MOST_COUNTED {
            // The oldest ones were handled, or passed over, long ago.
            self.failed.pop_first();
        }
        policy.decide(error, failed, self.dice(offset, failed))
    }

    /// A `catch_up` of the record at `offset` has spoiled the state, and it is to be passed over. False = too many are
    /// already: the partition has to stand.
    pub fn pass_over(&mut self, offset: Offset) -> bool {
        let has_room = self.passed_over.len() < MOST_PASSED_OVER;
        has_room && {
            self.passed_over.insert(offset);
            true
        }
    }

    /// The record at `offset` was passed over while it was processed, and is not committed yet, though the state has to be
    /// built anew: it may come again, and must not be given up twice.
    pub fn give_up(&mut self, offset: Offset) {
        self.given_up.insert(offset);
        if self.given_up.len() > MOST_PASSED_OVER {
            // The oldest ones were committed long ago, or their letters are written again.
            self.given_up.pop_first();
        }
    }

    /// True if the record at `offset` was given up, and is to be passed over without a call.
    #[must_use]
    pub fn gave_up(&self, offset: Offset) -> bool {
        !self.given_up.is_empty() && self.given_up.contains(&offset)
    }

    /// True if a record at `next`, or behind it, was given up.
    #[must_use]
    pub fn gave_up_behind(&self, next: Offset) -> bool {
        self.given_up.last().is_some_and(|last| *last >= next)
    }

    /// A number from 0 to 1, another one for each attempt.
    fn dice(&self, offset: Offset, failed: u32) -> f64 {
        let mut bits = self.seed ^ offset.get().cast_unsigned().rotate_left(32) ^ u64::from(failed);
        // The steps of SplitMix64 (Steele, Lea, Flood 2014).
        bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        f64::from((bits >> 32) as u32) / f64::from(u32::MAX)
    }
}

/// A call of a handler whose panic is an error.
///
/// Cancel safe if the call is.
///
/// # Errors
///
/// That of the call, or [`RecordError::panicked`].
pub async fn guarded<T>(call: impl Future<Output = Result<T, RecordError>>) -> Result<T, RecordError> {
    // The state that a panic leaves behind is dropped, since it counts as spoiled.
    AssertUnwindSafe(call).catch_unwind().await.unwrap_or_else(|_| Err(RecordError::panicked()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn offset(number: i64) -> Offset {
        Offset::new(number).unwrap()
    }

    #[test]
    fn each_record_is_counted_by_itself() {
        let (mut failures, policy) = (RecordFailures::new(1), ErrorPolicy::after(2, Remedy::Skip));
        let error = RecordError::new("e");
        assert!(matches!(failures.decide(offset(5), &error, &policy), Remedy::Retry { .. }));
        assert_eq!(failures.attempts(offset(5)), 1);
        assert!(matches!(failures.decide(offset(6), &error, &policy), Remedy::Retry { .. }));
        assert_eq!(failures.decide(offset(6), &error, &policy), Remedy::Skip);
        assert_eq!((failures.attempts(offset(6)), failures.attempts(offset(5))), (2, 1));
        assert_eq!(failures.decide(offset(5), &error, &policy), Remedy::Skip, "a rebuild forgets no attempt");
    }

    #[test]
    fn the_oldest_records_that_were_given_up_are_forgotten_beyond_the_bound() {
        let mut failures = RecordFailures::default();
        (0..1_001).for_each(|number| failures.give_up(offset(number)));
        assert!(!failures.gave_up(offset(0)) && failures.gave_up(offset(1)));
        assert!(failures.gave_up_behind(offset(1_000)) && !failures.gave_up_behind(offset(1_001)));
    }

    #[test]
    fn waits_of_partitions_differ() {
        let wait = |seed| {
            RecordFailures::new(seed).decide(offset(5), &RecordError::new("e"), &ErrorPolicy::default())
        };
        let waits: BTreeSet<Duration> = (0..20)
            .map(|seed| match wait(seed) {
                Remedy::Retry { after: Some(after) } => after,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(waits.len() > 15, "{waits:?}");
        assert!(waits.iter().all(|wait| (50..=100).contains(&wait.as_millis())), "{waits:?}");
    }

    #[test]
    fn a_thousand_records_are_passed_over_and_no_more() {
        let mut failures = RecordFailures::default();
        assert!((0..1_000).all(|number| failures.pass_over(offset(number))));
        assert!(!failures.pass_over(offset(1_000)));
        assert!(failures.passes_over(offset(999)) && !failures.passes_over(offset(1_000)));
    }

    #[test]
    fn a_panic_spoils() {
        let panics = async { if true { panic!("on purpose") } else { Ok(()) } };
        let error = guarded(panics).now_or_never().unwrap().unwrap_err();
        assert!(error.is_spoiled());
    }
}
