//! The records that a process handled as the owner of a partition that others owned already.

use std::collections::BTreeMap;

use kafka_assigner_types::id::{Epoch, TopicPartition};

use crate::{Handled, Incident, Ledger, Micros};

impl Ledger {
    /// Records that a frozen process handled after it could go on, under epochs that it had before; not counted is
    /// one of each partition, which may have been in its hands when it froze.
    #[must_use]
    pub fn stale(&self) -> usize {
        self.thaws().map(|(process, thawed)| self.stale_of(process, thawed)).sum()
    }

    /// The processes that were frozen, each with the moment when it could go on.
    pub(crate) fn thaws(&self) -> impl Iterator<Item = (&str, Micros)> {
        self.incidents.iter().filter_map(|incident| match incident {
            Incident::ConsumerFrozen { process, thawed, .. } => Some((process.as_str(), *thawed)),
            Incident::ConsumerKilled { .. } | Incident::LeaderKilled { .. } => None,
        })
    }

    fn stale_of(&self, process: &str, thawed: Micros) -> usize {
        let mut stale: BTreeMap<&TopicPartition, usize> = BTreeMap::new();
        for handled in self.after_thaw(process, thawed) {
            *stale.entry(&handled.slot).or_default() += 1;
        }
        stale.into_values().map(|count| count - 1).sum()
    }

    /// The records that `process` handled from `thawed` on under epochs that it had before.
    pub(crate) fn after_thaw<'l>(
        &'l self,
        process: &'l str,
        thawed: Micros,
    ) -> impl Iterator<Item = &'l Handled> {
        let of_process = move || self.handled.iter().filter(move |handled| handled.process == process);
        let mut epochs: BTreeMap<&TopicPartition, Epoch> = BTreeMap::new();
        for Handled { slot, epoch, .. } in of_process().filter(|handled| handled.at < thawed) {
            let last = epochs.entry(slot).or_default();
            *last = (*last).max(*epoch);
        }
        of_process().filter(move |handled| {
            handled.at >= thawed && epochs.get(&handled.slot).is_some_and(|last| handled.epoch <= *last)
        })
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_types::id::Offset;

    use super::*;

    fn handled(partition: u32, epoch: u64, process: &str, at: Micros) -> Handled {
        let slot = TopicPartition::try_from(("t", partition)).unwrap();
        Handled { slot, offset: Offset::ZERO, id: at, epoch: Epoch(epoch), process: process.to_owned(), at }
    }

    #[test]
    fn a_thawed_process_may_finish_one_record_of_each_partition_under_an_old_epoch() {
        let frozen = Incident::ConsumerFrozen { process: "a".to_owned(), at: 10, thawed: 20 };
        let in_flight = vec![handled(0, 1, "a", 9), handled(0, 1, "a", 20), handled(1, 3, "a", 9)];
        let mut ledger = Ledger { handled: in_flight, incidents: vec![frozen], ..Ledger::default() };
        // A new epoch, another process, a partition that it did not have.
        ledger.handled.extend([handled(0, 3, "a", 25), handled(0, 3, "a", 26)]);
        ledger.handled.extend([handled(0, 1, "b", 25), handled(0, 1, "b", 26), handled(2, 1, "a", 25)]);
        assert_eq!(ledger.stale(), 0);
        ledger.handled.extend([handled(0, 1, "a", 21), handled(1, 3, "a", 21), handled(1, 2, "a", 22)]);
        assert_eq!(ledger.stale(), 2);
    }
}
