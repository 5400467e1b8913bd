//! The changes that the watch has delivered lately, for readers that begin a little late.

use std::collections::VecDeque;

use kafka_assigner_types::kv::{Change, Revision};

/// The most changes that are held. A reader begins at the revision of a listing, so they have to span the longest
/// listing: etcd applies about 10 000 writes in a second, and a group of 100 000 partitions is listed in about one.
const MOST_CHANGES: usize = 20_000;

/// The most bytes of keys and values that are held; large records are rare.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The latest changes, and how far the watch has come.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    changes: VecDeque<Change>,
    bytes: usize,
    /// Every change after this revision, up to `position`, is held.
    after: Revision,
    position: Revision,
}

impl Delivered {
    /// Begins anew after `revision`.
    pub(super) fn begin(&mut self, revision: Revision) {
        *self = Self { after: revision, position: revision, ..Self::default() };
    }

    /// The revision up to which everything was delivered; zero before the beginning.
    pub(super) const fn position(&self) -> Revision {
        self.position
    }

    /// The oldest revision from which a reader can begin.
    pub(super) const fn oldest(&self) -> Revision {
        self.after.next()
    }

    /// Adds what the watch delivered up to `revision`, and forgets what is too much.
    pub(super) fn add(&mut self, changes: &[Change], revision: Revision) {
        self.bytes += changes.iter().map(size).sum::<usize>();
        self.changes.extend(changes.iter().cloned());
        self.position = revision;
        while self.changes.len() > MOST_CHANGES || self.bytes > MOST_BYTES {
            let Some(forgotten) = self.changes.pop_front() else { return };
            self.bytes -= size(&forgotten);
            // Others of its revision may be left, and are of no use without it.
            self.after = forgotten.revision();
        }
    }

    /// The changes under `prefix` since `from`, which is not before [`oldest`](Self::oldest).
    pub(super) fn since(&self, prefix: &[u8], from: Revision) -> Vec<Change> {
        let begin = self.changes.partition_point(|change| change.revision() < from);
        self.changes.range(begin..).filter(|change| change.key().starts_with(prefix)).cloned().collect()
    }
}

fn size(change: &Change) -> usize {
    match change {
        Change::Put(record) => record.key.len() + record.value.len(),
        Change::Delete { key, .. } => key.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deletion(key: &'static str, revision: u64) -> Change {
        Change::Delete { key: key.into(), revision: Revision(revision) }
    }

    #[test]
    fn a_late_reader_gets_what_is_under_its_prefix_and_no_more() {
        let mut delivered = Delivered::default();
        delivered.begin(Revision(4));
        delivered.add(&[deletion("a/1", 5), deletion("b/1", 5), deletion("a/2", 7)], Revision(8));
        assert_eq!((delivered.oldest(), delivered.position()), (Revision(5), Revision(8)));
        assert_eq!(delivered.since(b"a/", Revision(5)), [deletion("a/1", 5), deletion("a/2", 7)]);
        assert_eq!(delivered.since(b"a/", Revision(6)), [deletion("a/2", 7)]);
        assert!(delivered.since(b"b/", Revision(6)).is_empty());
    }

    #[test]
    fn what_is_held_is_bounded_and_a_revision_is_held_as_a_whole() {
        let mut delivered = Delivered::default();
        let most = u64::try_from(MOST_CHANGES).unwrap();
        for revision in 1..=most {
            delivered.add(&[deletion("a", revision), deletion("b", revision)], Revision(revision));
        }
        assert_eq!(delivered.changes.len(), MOST_CHANGES);
        assert_eq!(delivered.oldest(), Revision(most / 2 + 1));
        delivered.add(&[deletion("a", most + 1)], Revision(most + 1));
        assert_eq!(delivered.oldest(), Revision(most / 2 + 2), "half of a revision is none");
        assert_eq!(delivered.since(b"", delivered.oldest())[0], deletion("a", most / 2 + 2));
    }

    #[test]
    fn large_values_are_forgotten_by_their_size() {
        let mut delivered = Delivered::default();
        let large = Change::Delete { key: vec![b'k'; MOST_BYTES / 2].into(), revision: Revision(1) };
        delivered.add(&[large.clone(), large.clone()], Revision(1));
        assert_eq!(delivered.oldest(), Revision(1));
        delivered.add(&[large], Revision(2));
        assert_eq!((delivered.changes.len(), delivered.bytes), (2, MOST_BYTES));
        assert_eq!(delivered.oldest(), Revision(2));
    }
}
