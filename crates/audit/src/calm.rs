//! Waits for records of partitions that stay: what the machine does to everybody.

use std::collections::BTreeMap;

use kafka_assigner_types::id::{Epoch, TopicPartition};

use crate::{Handled, Incident, Ledger, Micros, Spread};

impl Ledger {
    /// The waits between two records of a partition under one owner, each less the `interval` at which records were
    /// produced; zero where it was no longer. Beside these, gaps of moves can be judged: what delays both is the
    /// machine. The waits of a frozen process are left out.
    #[must_use]
    pub fn calm(&self, interval: Micros) -> Spread {
        let mut moments: BTreeMap<(&TopicPartition, Epoch, &str), Vec<Micros>> = BTreeMap::new();
        for Handled { slot, epoch, process, at, .. } in &self.handled {
            moments.entry((slot, *epoch, process.as_str())).or_default().push(*at);
        }
        let mut waits = Vec::with_capacity(self.handled.len());
        for ((_, _, process), mut moments) in moments {
            moments.sort_unstable();
            let pairs = moments.windows(2).filter(|pair| !self.was_frozen(process, pair[0], pair[1]));
            waits.extend(pairs.map(|pair| (pair[1] - pair[0]).saturating_sub(interval)));
        }
        Spread::of(waits)
    }

    /// True if this process was frozen at a moment between the two.
    fn was_frozen(&self, frozen: &str, from: Micros, to: Micros) -> bool {
        self.incidents.iter().any(|incident| {
            matches!(incident, Incident::ConsumerFrozen { process, at, thawed }
                if process == frozen && from <= *thawed && *at <= to)
        })
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_types::id::Offset;

    use super::*;

    fn handled(epoch: u64, process: &str, at: Micros) -> Handled {
        let slot = TopicPartition::try_from(("t", 0)).unwrap();
        Handled { slot, offset: Offset::ZERO, id: at, epoch: Epoch(epoch), process: process.to_owned(), at }
    }

    #[test]
    fn a_wait_counts_beyond_the_interval_and_within_one_owner_only() {
        let stays = [0, 10_000, 25_000, 30_000].map(|at| handled(1, "a", at));
        let moved = [90_000, 100_000].map(|at| handled(2, "b", at));
        let ledger = Ledger { handled: [&stays[..], &moved].concat(), ..Ledger::default() };
        let calm = ledger.calm(10_000);
        assert_eq!((calm.count, calm.p50, calm.max), (4, 0.0, 5.0));
    }

    #[test]
    fn the_time_in_which_a_process_is_frozen_is_no_calm() {
        let rows = [0, 10_000, 6_000_000].map(|at| handled(1, "a", at)).to_vec();
        let frozen = Incident::ConsumerFrozen { process: "a".to_owned(), at: 12_000, thawed: 5_000_000 };
        let ledger = Ledger { handled: rows, incidents: vec![frozen], ..Ledger::default() };
        let calm = ledger.calm(10_000);
        assert_eq!((calm.count, calm.max), (1, 0.0));
    }
}
