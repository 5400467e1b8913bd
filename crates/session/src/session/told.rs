//! The roles or routes that a stream told, and the digest of them.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_types::digest::{Digest, Fingerprint};
use kafka_assigner_types::id::TopicPartition;

/// All that was told on one stream and still holds, as fingerprints.
#[derive(Debug, Default)]
pub struct ToldItems {
    items: BTreeMap<TopicPartition, Fingerprint>,
    digest: Digest,
}

impl ToldItems {
    /// Forgets all that was told before, except for the partitions in `kept`.
    pub fn clear(&mut self, kept: &BTreeSet<TopicPartition>) {
        self.items.retain(|at, _| kept.contains(at));
        self.digest = self.items.values().copied().collect();
    }

    /// Takes in what was told of one partition: an item in the place of the one before, or that there is none any more.
    pub fn take(&mut self, at: &TopicPartition, item: Option<Fingerprint>) {
        let before = match item {
            Some(item) => self.items.insert(at.clone(), item),
            None => self.items.remove(at),
        };
        before.into_iter().for_each(|item| self.digest.remove(item));
        item.into_iter().for_each(|item| self.digest.add(item));
    }

    /// The digest of all of it.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}
