//! The readers by their prefixes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

/// Finds the readers that a key concerns, at a cost that does not grow with the readers.
#[derive(Debug, Default)]
pub(super) struct PrefixIndex {
    readers: BTreeMap<Bytes, BTreeSet<u64>>,
    /// The number of prefixes of each length.
    lengths: BTreeMap<usize, usize>,
}

impl PrefixIndex {
    pub(super) fn add(&mut self, prefix: Bytes, id: u64) {
        let length = prefix.len();
        let ids = self.readers.entry(prefix).or_default();
        if ids.is_empty() {
            *self.lengths.entry(length).or_default() += 1;
        }
        ids.insert(id);
    }

    pub(super) fn remove(&mut self, prefix: &[u8], id: u64) {
        let Some(ids) = self.readers.get_mut(prefix) else { return };
        ids.remove(&id);
        if !ids.is_empty() {
            return;
        }
        self.readers.remove(prefix);
        if let Some(count) = self.lengths.get_mut(&prefix.len()) {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&prefix.len());
            }
        }
    }

    /// The readers of exactly this prefix.
    pub(super) fn of(&self, prefix: &[u8]) -> Vec<u64> {
        self.readers.get(prefix).into_iter().flatten().copied().collect()
    }

    /// The readers of every prefix that `key` begins with. Names have at most 249 characters, so there are few lengths.
    pub(super) fn concerned(&self, key: &[u8]) -> Vec<u64> {
        let lengths = self.lengths.range(..=key.len()).map(|(length, _)| *length);
        lengths.filter_map(|length| self.readers.get(&key[..length])).flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_concerns_the_readers_of_each_of_its_prefixes() {
        let mut index = PrefixIndex::default();
        for (id, prefix) in ["a/", "a/leader", "b/", "a/", ""].into_iter().enumerate() {
            index.add(prefix.into(), id.try_into().unwrap());
        }
        assert_eq!(index.concerned(b"a/leader"), [4, 0, 3, 1]);
        assert_eq!(index.concerned(b"a"), [4]);
        assert_eq!(index.of(b"a/"), [0, 3]);
        index.remove(b"a/", 0);
        assert_eq!(index.concerned(b"a/1"), [4, 3]);
        index.remove(b"a/", 3);
        index.remove(b"b/", 2);
        assert_eq!(index.concerned(b"a/1"), [4]);
        assert_eq!(index.lengths.keys().copied().collect::<Vec<_>>(), [0, 8]);
    }
}
