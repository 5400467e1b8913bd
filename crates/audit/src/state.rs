//! A real state, so that a warm-up that missed a record shows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use kafka_assigner_types::id::{Epoch, TopicPartition};

use crate::{Ledger, Record};

/// The state of a consumer for one key: the number of records that it saw, and a digest that depends on their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyState {
    /// The number of records of the key.
    pub count: u64,
    /// A fold over their ids.
    pub digest: u64,
}

impl KeyState {
    /// Takes in the next record of the key.
    pub const fn fold(&mut self, id: u64) {
        self.count += 1;
        // FNV-1a over whole words: cheap, and another order gives another number.
        self.digest = (self.digest ^ id).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

/// The state of one partition as its owner had it at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalState {
    /// The partition.
    #[serde(flatten)]
    pub slot: TopicPartition,
    /// The epoch under which it was owned.
    pub epoch: Epoch,
    /// The process that owned it.
    pub process: String,
    /// By key.
    pub keys: BTreeMap<String, KeyState>,
}

impl Ledger {
    /// Partitions whose last owner's state is not the fold over all produced records, or of which no state is
    /// known.
    pub(crate) fn state_mismatches(&self) -> Vec<TopicPartition> {
        let mut last: BTreeMap<&TopicPartition, &FinalState> = BTreeMap::new();
        for state in &self.states {
            let known = last.entry(&state.slot).or_insert(state);
            if state.epoch >= known.epoch {
                *known = state;
            }
        }
        let differs = |(slot, records): (&TopicPartition, &Vec<Record>)| {
            let is_right = last.get(slot).is_some_and(|state| state.keys == expected(records));
            (!is_right).then(|| slot.clone())
        };
        self.produced.iter().filter(|(_, records)| !records.is_empty()).filter_map(differs).collect()
    }
}

fn expected(records: &[Record]) -> BTreeMap<String, KeyState> {
    let mut keys: BTreeMap<String, KeyState> = BTreeMap::new();
    for record in records {
        keys.entry(record.key.clone()).or_default().fold(record.id);
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(partition: u32) -> TopicPartition {
        TopicPartition::try_from(("t", partition)).unwrap()
    }

    fn state(partition: u32, epoch: u64, ids: &[u64]) -> FinalState {
        let mut key = KeyState::default();
        ids.iter().for_each(|id| key.fold(*id));
        let keys = BTreeMap::from([("k".to_owned(), key)]);
        FinalState { slot: slot(partition), epoch: Epoch(epoch), process: "a".to_owned(), keys }
    }

    #[test]
    fn a_state_that_missed_a_record_or_took_one_twice_or_in_another_order_is_a_mismatch() {
        let records = vec![Record { id: 1, key: "k".to_owned() }, Record { id: 2, key: "k".to_owned() }];
        let produced = (0..5).map(|p| (slot(p), records.clone())).collect();
        let states = vec![
            state(0, 1, &[1, 2]),
            state(1, 1, &[1]),
            state(2, 1, &[1, 2, 2]),
            state(3, 1, &[2, 1]),
            // Partition 4: the older owner was right, the last one is not.
            state(4, 1, &[1, 2]),
            state(4, 2, &[2]),
        ];
        let ledger = Ledger { produced, states, ..Ledger::default() };
        assert_eq!(ledger.state_mismatches(), [1, 2, 3, 4].map(slot));
    }
}
