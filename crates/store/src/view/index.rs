//! The version of each key in the copy: enough to find the differences to a listing.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use kafka_assigner_types::kv::{Change, Record, Revision, Snapshot};

/// The revision of the last change of every key. A key's contents follow from it.
#[derive(Debug, Default)]
pub(super) struct Index(BTreeMap<Bytes, Revision>);

impl Index {
    /// Follows changes that were applied.
    pub(super) fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Put(record) => self.0.insert(record.key.clone(), record.mod_revision),
                Change::Delete { key, .. } => self.0.remove(key),
            };
        }
    }

    /// True if the copy has a later state of a key than `snapshot`, except for the keys in `overtaken`. In one history a key
    /// never goes back.
    pub(super) fn is_ahead_of(&self, snapshot: &Snapshot, overtaken: &BTreeSet<Bytes>) -> bool {
        let goes_back = |record: &Record| self.0.get(&record.key) > Some(&record.mod_revision);
        snapshot.records.iter().any(|record| goes_back(record) && !overtaken.contains(&record.key))
    }

    /// The changes that lead from here to `snapshot`, except for the keys in `overtaken`.
    pub(super) fn difference(&self, snapshot: Snapshot, overtaken: &BTreeSet<Bytes>) -> Vec<Change> {
        let listed: BTreeSet<_> = snapshot.records.iter().map(|record| record.key.clone()).collect();
        let gone = self.0.keys().filter(|key| !listed.contains(*key) && !overtaken.contains(*key));
        let delete = |key: &Bytes| Change::Delete { key: key.clone(), revision: snapshot.revision };
        let mut changes: Vec<_> = gone.map(delete).collect();
        let differs = snapshot.records.into_iter().filter(|record| {
            self.0.get(&record.key) != Some(&record.mod_revision) && !overtaken.contains(&record.key)
        });
        changes.extend(differs.map(Change::Put));
        changes
    }
}
