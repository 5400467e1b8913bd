//! The rule for answers of a cache.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_rig::clock::Moment;

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CacheRead {
    /// The time at which it was asked for.
    pub(super) begun: Moment,
    /// The time at which it was there.
    pub(super) ended: Moment,
    /// The partition.
    pub(super) partition: u32,
    /// The key.
    pub(super) key: String,
    /// The epoch of the owner.
    pub(super) epoch: u64,
    /// The offset of the value's record; `None` = the key has no value.
    pub(super) offset: Option<i64>,
}

/// The newest that is known when a question is asked.
#[derive(Debug, Default)]
struct Known {
    /// The highest epoch of each partition.
    epochs: BTreeMap<u32, u64>,
    /// The highest offset of each key, by the epoch under which it was told.
    offsets: BTreeMap<(u32, String), BTreeMap<u64, Option<i64>>>,
}

impl Known {
    fn learn(&mut self, read: &CacheRead) {
        let epoch = self.epochs.entry(read.partition).or_default();
        *epoch = read.epoch.max(*epoch);
        let of_key = self.offsets.entry((read.partition, read.key.clone())).or_default();
        let offset = of_key.entry(read.epoch).or_default();
        *offset = read.offset.max(*offset);
    }

    /// True if the answer is of an owner that was replaced before the question, or older than one that came before it.
    fn refutes(&self, read: &CacheRead) -> bool {
        let is_replaced = self.epochs.get(&read.partition).is_some_and(|epoch| *epoch > read.epoch);
        let of_key = self.offsets.get(&(read.partition, read.key.clone()));
        let is_old = of_key
            .is_some_and(|by_epoch| by_epoch.range(read.epoch..).any(|(_, offset)| *offset > read.offset));
        is_replaced || is_old
    }
}

/// The number of wrong answers: only what had ended when a question was asked counts against its answer.
pub(super) fn wrong(reads: &[CacheRead]) -> usize {
    let (mut by_begin, mut by_end): (Vec<&CacheRead>, Vec<&CacheRead>) =
        (reads.iter().collect(), reads.iter().collect());
    by_begin.sort_by_key(|read| read.begun);
    by_end.sort_by_key(|read| read.ended);
    let (mut known, mut ended) = (Known::default(), by_end.into_iter().peekable());
    let is_wrong = |read: &&CacheRead| {
        while let Some(before) = ended.next_if(|before| before.ended < read.begun) {
            known.learn(before);
        }
        known.refutes(read)
    };
    by_begin.into_iter().filter(is_wrong).count()
}

/// The number of changes of an owner that answers have shown.
pub(super) fn moves(reads: &[CacheRead]) -> usize {
    let epochs: BTreeSet<(u32, u64)> = reads.iter().map(|read| (read.partition, read.epoch)).collect();
    let partitions: BTreeSet<u32> = reads.iter().map(|read| read.partition).collect();
    epochs.len() - partitions.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read((begun, ended): (u64, u64), epoch: u64, offset: i64) -> CacheRead {
        let (begun, ended) = (Moment(begun), Moment(ended));
        CacheRead { begun, ended, partition: 0, key: "a".to_owned(), epoch, offset: Some(offset) }
    }

    #[test]
    fn newer_answers_and_those_asked_for_at_once_are_right() {
        let reads = [read((1, 2), 5, 10), read((3, 4), 5, 10), read((5, 9), 6, 12), read((6, 8), 5, 11)];
        assert_eq!((wrong(&reads), moves(&reads)), (0, 1));
    }

    #[test]
    fn an_owner_that_was_replaced_before_the_question_is_wrong() {
        assert_eq!(wrong(&[read((1, 2), 6, 10), read((3, 4), 5, 11)]), 1);
    }

    #[test]
    fn an_older_answer_under_the_same_epoch_is_wrong_and_one_under_a_higher_epoch_is_not() {
        assert_eq!(wrong(&[read((1, 2), 5, 10), read((3, 4), 5, 9)]), 1);
        assert_eq!(wrong(&[read((1, 2), 5, 10), read((3, 4), 6, 9)]), 0);
        let gone = CacheRead { offset: None, ..read((3, 4), 5, 0) };
        assert_eq!(wrong(&[read((1, 2), 5, 10), gone]), 1);
    }

    #[test]
    fn other_keys_and_other_partitions_are_apart() {
        let other_key = CacheRead { key: "b".to_owned(), ..read((3, 4), 5, 1) };
        let other_partition = CacheRead { partition: 1, ..read((3, 4), 4, 1) };
        assert_eq!(wrong(&[read((1, 2), 5, 10), other_key, other_partition]), 0);
    }
}
