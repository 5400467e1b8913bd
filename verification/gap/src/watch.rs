//! The present owners, as far as the handled records show them: pure.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_audit::Micros;
use kafka_assigner_types::moment::micros;

use crate::check::{Handled, Who};

/// A process that handled no record of a partition for so long, and five that were due, does not own it.
const RECENT: Duration = Duration::from_millis(450);

/// The owner of each partition.
pub(crate) type Owners = BTreeMap<i32, Who>;

/// The progress of all processes.
#[derive(Debug)]
pub(crate) struct Watch {
    /// A record from before this time ago does not count.
    recent: Micros,
    /// The time at which each process last handled a record of each partition.
    last: BTreeMap<(i32, Who), Micros>,
    /// The offset after the farthest record of each partition that anybody handled.
    reached: BTreeMap<i32, i64>,
}

impl Watch {
    /// Nothing was seen yet; each partition gets a record each `interval`.
    pub(crate) fn new(interval: Duration) -> Self {
        let recent = micros(RECENT + 5 * interval);
        Self { recent, last: BTreeMap::new(), reached: BTreeMap::new() }
    }

    /// Takes in a record that was handled.
    pub(crate) fn take(&mut self, handled: &Handled) {
        let last = self.last.entry((handled.partition, handled.by)).or_default();
        *last = (*last).max(handled.at);
        let reached = self.reached.entry(handled.partition).or_default();
        *reached = (*reached).max(handled.offset + 1);
    }

    /// True if every partition was handled up to its end.
    pub(crate) fn has_reached(&self, ends: &BTreeMap<i32, i64>) -> bool {
        ends.iter().all(|(partition, end)| self.reached.get(partition).is_some_and(|reached| reached >= end))
    }

    /// The owners, unless one of so many partitions has none or several.
    pub(crate) fn owners(&self, partitions: usize, now: Micros) -> Option<Owners> {
        let since = now.saturating_sub(self.recent);
        let mut owners = Owners::new();
        for ((partition, who), _) in self.last.iter().filter(|(_, last)| **last >= since) {
            if owners.insert(*partition, *who).is_some() {
                return None;
            }
        }
        (owners.len() == partitions).then_some(owners)
    }
}

/// True if so many members have equal shares, as far as that can be.
pub(crate) fn is_even(owners: &Owners, members: usize) -> bool {
    let mut shares: BTreeMap<Who, usize> = BTreeMap::new();
    for owner in owners.values() {
        *shares.entry(*owner).or_default() += 1;
    }
    let least = shares.values().min().copied().unwrap_or_default();
    shares.len() == members && shares.values().all(|share| *share <= least + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn who(number: usize) -> Who {
        Who { name: number, process: number }
    }

    const fn handled(partition: i32, by: usize, at: Micros) -> Handled {
        Handled { at, partition, offset: 0, by: who(by) }
    }

    fn owners(records: &[Handled], now: Micros) -> Option<Owners> {
        let mut watch = Watch::new(Duration::from_millis(10));
        records.iter().for_each(|record| watch.take(record));
        watch.owners(2, now)
    }

    #[test]
    fn owners_are_known_where_each_partition_has_one() {
        let both = [handled(0, 1, 1_000_000), handled(1, 2, 900_000)];
        let known = Owners::from([(0, who(1)), (1, who(2))]);
        assert_eq!(owners(&both, 1_400_000), Some(known));
        assert_eq!(owners(&both, 1_400_001), None, "one has handled nothing of late");
        assert_eq!(owners(&[both.to_vec(), vec![handled(0, 2, 999_999)]].concat(), 1_000_000), None);
    }

    #[test]
    fn the_end_is_reached_where_each_partition_was_handled_up_to_it() {
        let mut watch = Watch::new(Duration::from_millis(10));
        let ends = BTreeMap::from([(0, 1), (1, 1)]);
        watch.take(&handled(0, 1, 5));
        assert!(!watch.has_reached(&ends));
        watch.take(&handled(1, 2, 6));
        assert!(watch.has_reached(&ends));
    }

    #[test]
    fn shares_are_even_if_no_two_differ_by_more_than_one() {
        let owners = |of: &[usize]| -> Owners { (0..).zip(of.iter().map(|number| who(*number))).collect() };
        assert!(is_even(&owners(&[1, 2, 1]), 2));
        assert!(!is_even(&owners(&[1, 2, 1, 1]), 2));
        assert!(!is_even(&owners(&[1, 2, 1]), 3), "one has nothing");
    }
}
