//! How long two processes handled records of one partition at the same time.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Handled, Incident, Ledger, Micros, Slot};

/// From the first to the last record that one process handled of a partition under one epoch.
#[derive(Debug, Clone, Copy)]
struct Tenure<'a> {
    process: &'a str,
    first: Micros,
    last: Micros,
}

impl Ledger {
    /// The time in which two processes handled records of one partition, summed over partitions. What a frozen process
    /// does under an old epoch once it goes on is [told apart](Ledger::stale).
    #[must_use]
    pub fn together(&self) -> Micros {
        self.tenures().values().map(|of_slot| overlap(&of_slot.values().copied().collect::<Vec<_>>())).sum()
    }

    fn tenures(&self) -> BTreeMap<&Slot, BTreeMap<u64, Tenure<'_>>> {
        let mut tenures: BTreeMap<&Slot, BTreeMap<u64, Tenure<'_>>> = BTreeMap::new();
        let thawed = self.thawed();
        for handled in self.handled.iter().filter(|handled| !thawed.contains(&std::ptr::from_ref(*handled))) {
            let new = Tenure { process: &handled.process, first: handled.at, last: handled.at };
            let tenure = tenures.entry(&handled.slot).or_default().entry(handled.epoch).or_insert(new);
            tenure.first = tenure.first.min(handled.at);
            tenure.last = tenure.last.max(handled.at);
        }
        tenures
    }

    /// Which of the records a process that had been frozen handled under an epoch that it had before.
    fn thawed(&self) -> BTreeSet<*const Handled> {
        let frozen = self.incidents.iter().filter_map(|incident| match incident {
            Incident::ConsumerFrozen { process, thawed, .. } => Some((process.as_str(), *thawed)),
            Incident::ConsumerKilled { .. } | Incident::LeaderKilled { .. } => None,
        });
        frozen
            .flat_map(|(process, thawed)| self.after_thaw(process, thawed))
            .map(std::ptr::from_ref)
            .collect()
    }
}

/// Over all pairs of different processes: one that goes on too long may meet more than its successor.
fn overlap(tenures: &[Tenure<'_>]) -> Micros {
    let mut overlap = 0;
    for (n, old) in tenures.iter().enumerate() {
        for new in tenures[n + 1..].iter().filter(|new| new.process != old.process) {
            overlap += old.last.min(new.last).saturating_sub(old.first.max(new.first));
        }
    }
    overlap
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handled(epoch: u64, process: &str, at: Micros) -> Handled {
        let slot = Slot { topic: "t".to_owned(), partition: 0 };
        Handled { slot, offset: 0, id: at, epoch, process: process.to_owned(), at }
    }

    fn together(handled: Vec<Handled>, incidents: Vec<Incident>) -> Micros {
        Ledger { handled, incidents, ..Ledger::default() }.together()
    }

    #[test]
    fn one_after_the_other_is_not_together() {
        let rows = vec![handled(1, "a", 10), handled(1, "a", 30), handled(2, "b", 31), handled(3, "a", 40)];
        assert_eq!(together(rows, vec![]), 0);
    }

    #[test]
    fn one_that_goes_on_after_another_began_is_together_with_it_for_that_long() {
        let rows = vec![handled(1, "a", 10), handled(1, "a", 38), handled(2, "b", 31), handled(2, "b", 60)];
        assert_eq!(together(rows, vec![]), 7);
    }

    #[test]
    fn what_a_thawed_process_finishes_under_its_old_epoch_is_told_apart() {
        let frozen = Incident::ConsumerFrozen { process: "a".to_owned(), at: 15, thawed: 50 };
        let rows = vec![handled(1, "a", 10), handled(2, "b", 40), handled(2, "b", 70), handled(1, "a", 51)];
        assert_eq!(together(rows, vec![frozen]), 0);
    }
}
