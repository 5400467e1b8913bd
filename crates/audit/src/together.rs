//! The time for which two processes handled records of one partition at once.

use std::collections::BTreeSet;

use crate::span::{Span, spans};
use crate::{Handled, Ledger, Micros};

impl Ledger {
    /// The time in which two processes handled records of one partition, summed over partitions. What a frozen process
    /// does under an old epoch once it goes on is [told apart](Ledger::stale).
    #[must_use]
    pub fn together(&self) -> Micros {
        let thawed = self.thawed();
        let in_time = self.handled.iter().filter(|handled| !thawed.contains(&std::ptr::from_ref(*handled)));
        spans(in_time).into_values().map(|of_slot| overlap(&of_slot.into_values().collect::<Vec<_>>())).sum()
    }

    /// The records that a process which had been frozen handled under an epoch that it had before.
    fn thawed(&self) -> BTreeSet<*const Handled> {
        let after = self.thaws().flat_map(|(process, thawed)| self.after_thaw(process, thawed));
        after.map(std::ptr::from_ref).collect()
    }
}

/// Over all pairs of different processes: one that goes on too long may meet more than its successor.
fn overlap(spans: &[Span<'_>]) -> Micros {
    let mut overlap = 0;
    for (n, old) in spans.iter().enumerate() {
        for new in spans[n + 1..].iter().filter(|new| new.process != old.process) {
            overlap += old.last.min(new.last).saturating_sub(old.first.max(new.first));
        }
    }
    overlap
}

#[cfg(test)]
mod tests {
    use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};

    use super::*;
    use crate::Incident;

    fn handled(epoch: u64, process: &str, at: Micros) -> Handled {
        let slot = TopicPartition::try_from(("t", 0)).unwrap();
        Handled { slot, offset: Offset::ZERO, id: at, epoch: Epoch(epoch), process: process.to_owned(), at }
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
