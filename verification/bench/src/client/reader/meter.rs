//! Counts what was read, and the CPU time that it took.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::client::case::Case;
use crate::client::cpu_share::of_this_process;

/// So many records of a partition are added at once: readers of several partitions must not wait for each other.
const STEP: u64 = 1_024;

/// The time of one look at a reader that has nothing to do: two heartbeats of a session of 30 s.
const REST: Duration = Duration::from_secs(15);

/// The records that were read of one partition.
#[derive(Debug, Default)]
pub(super) struct Tally {
    records: u64,
    /// Of every byte, as of one that is looked at.
    sum: u64,
}

/// The records that were read of all partitions.
#[derive(Debug)]
pub(super) struct Meter {
    case: Case,
    begun: AtomicU32,
    records: AtomicU64,
    /// The CPU time at the first tenth.
    from: OnceLock<Duration>,
}

impl Meter {
    pub(super) fn new(case: Case) -> Self {
        let (begun, records) = (AtomicU32::default(), AtomicU64::default());
        Self { case, begun, records, from: OnceLock::new() }
    }

    /// One more partition is read.
    pub(super) fn begin(&self) {
        if self.begun.fetch_add(1, Ordering::Relaxed) + 1 == self.case.partitions() {
            println!("ready");
            if self.case == Case::Idle {
                thread::spawn(look_again_and_again);
            }
        }
    }

    /// A record was read: each of its bytes, as by any program that has a use for it.
    pub(super) fn count(&self, tally: &mut Tally, value: Option<&[u8]>) {
        tally.records += 1;
        tally.sum += value.unwrap_or_default().iter().map(|byte| u64::from(*byte)).sum::<u64>();
        if tally.records.is_multiple_of(STEP) {
            self.add(STEP);
        }
    }

    fn add(&self, more: u64) {
        let before = self.records.fetch_add(more, Ordering::Relaxed);
        let is_passed = |mark: u64| before < mark && mark <= before + more;
        let [first, last] = marks(self.case.records());
        if is_passed(first) {
            self.from.get_or_init(of_this_process);
        }
        if is_passed(last) {
            let used = of_this_process().saturating_sub(self.from.get().copied().unwrap_or_default());
            println!("measured {}", used.as_nanos() / u128::from(last - first));
        }
    }
}

/// From where to where records count: at both ends as much is fetched ahead, and nothing begins or ends there.
const fn marks(records: u64) -> [u64; 2] {
    [records / 10, records / 10 * 9]
}

fn look_again_and_again() {
    loop {
        println!("rest");
        let before = of_this_process();
        thread::sleep(REST);
        println!("rested {}", of_this_process().saturating_sub(before).as_nanos());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_tenth_of_the_records_do_not_count() {
        assert_eq!(marks(2_000), [200, 1_800]);
    }

    #[test]
    fn records_are_added_in_steps_and_time_counts_from_the_first_mark() {
        let (meter, mut tally) = (Meter::new(Case::Small), Tally::default());
        let [first, _] = marks(Case::Small.records());
        for _ in 0..first.next_multiple_of(STEP) - 1 {
            meter.count(&mut tally, Some(&[1, 2]));
        }
        assert_eq!((meter.from.get(), tally.sum), (None, 3 * tally.records));
        meter.count(&mut tally, None);
        assert!(meter.from.get().is_some());
    }
}
