//! Lost, duplicated, out of order.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};

use crate::{Incident, Ledger};

/// The number of records that were handled under more than one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Duplicates {
    /// Those of which all owners but the last lived on.
    pub(crate) planned: usize,
    /// Those of which an owner was killed or frozen before it could commit.
    pub(crate) after_crash: usize,
}

impl Ledger {
    /// Produced ids that nobody handled.
    pub(crate) fn lost(&self) -> Vec<u64> {
        let handled: BTreeSet<u64> = self.handled.iter().map(|handled| handled.id).collect();
        let produced = self.produced.values().flatten().map(|record| record.id);
        produced.filter(|id| !handled.contains(id)).collect()
    }

    /// Ids that were handled by two epochs.
    pub(crate) fn duplicates(&self) -> Duplicates {
        let silenced = self.silenced();
        let mut epochs: BTreeMap<(&TopicPartition, u64), BTreeMap<Epoch, &str>> = BTreeMap::new();
        for handled in &self.handled {
            let of_id = epochs.entry((&handled.slot, handled.id)).or_default();
            of_id.insert(handled.epoch, &handled.process);
        }
        let mut duplicates = Duplicates::default();
        for epochs in epochs.into_values().filter(|epochs| epochs.len() > 1) {
            let processes: Vec<&str> = epochs.into_values().collect();
            let before_last = &processes[..processes.len() - 1];
            if before_last.iter().any(|process| silenced.contains(process)) {
                duplicates.after_crash += 1;
            } else {
                duplicates.planned += 1;
            }
        }
        duplicates
    }

    /// The processes that lost partitions without a chance to commit.
    fn silenced(&self) -> BTreeSet<&str> {
        let processes = self.incidents.iter().filter_map(|incident| match incident {
            Incident::ConsumerKilled { process, .. } | Incident::ConsumerFrozen { process, .. } => {
                Some(process.as_str())
            }
            Incident::LeaderKilled { .. } => None,
        });
        processes.collect()
    }

    /// The number of times that an offset went back within one partition, epoch and process, in the
    /// order in which the process wrote them down.
    pub(crate) fn out_of_order(&self) -> usize {
        let mut last: BTreeMap<(&TopicPartition, Epoch, &str), Offset> = BTreeMap::new();
        let mut went_back = 0;
        for handled in &self.handled {
            let of = (&handled.slot, handled.epoch, handled.process.as_str());
            let before = last.insert(of, handled.offset);
            went_back += usize::from(before.is_some_and(|before| before >= handled.offset));
        }
        went_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Handled, Record};

    fn slot() -> TopicPartition {
        TopicPartition::try_from(("t", 0)).unwrap()
    }

    fn handled(id: u64, offset: i64, epoch: u64, process: &str) -> Handled {
        let (offset, epoch) = (Offset::new(offset).unwrap(), Epoch(epoch));
        Handled { slot: slot(), offset, id, epoch, process: process.to_owned(), at: id }
    }

    #[test]
    fn what_nobody_handled_is_lost() {
        let record = |id| Record { id, key: String::new() };
        let ledger = Ledger {
            produced: BTreeMap::from([(slot(), vec![record(1), record(2)])]),
            handled: vec![handled(2, 1, 1, "a")],
            ..Ledger::default()
        };
        assert_eq!(ledger.lost(), [1]);
    }

    #[test]
    fn two_epochs_make_a_duplicate_and_a_killed_owner_makes_it_one_after_a_crash() {
        let rows = vec![
            handled(1, 0, 1, "a"),
            handled(1, 0, 1, "a"),
            handled(2, 1, 1, "a"),
            handled(2, 1, 2, "b"),
            handled(3, 2, 2, "b"),
            handled(3, 2, 3, "c"),
        ];
        let killed = Incident::ConsumerKilled { process: "b".to_owned(), at: 0 };
        let ledger = Ledger { handled: rows, incidents: vec![killed], ..Ledger::default() };
        assert_eq!(ledger.duplicates(), Duplicates { planned: 1, after_crash: 1 });
    }

    #[test]
    fn an_offset_that_does_not_rise_within_an_epoch_is_out_of_order() {
        let rows =
            vec![handled(1, 5, 1, "a"), handled(2, 4, 1, "a"), handled(3, 4, 1, "a"), handled(4, 1, 2, "a")];
        let ledger = Ledger { handled: rows, ..Ledger::default() };
        assert_eq!(ledger.out_of_order(), 2);
    }
}
