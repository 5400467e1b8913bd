//! The histories of the store, by the cluster ids under which they are served.

use std::collections::BTreeMap;

use kafka_assigner_core::record::{ClusterRecord, decode};
use kafka_assigner_types::kv::{Change, Record, Revision, Snapshot};

use crate::history::{Entry, What};
use crate::hole::IDENTITY;

/// The histories so far; each begins with a store that is put back, and is served once it has a cluster id of its own.
#[derive(Debug, Default)]
pub(super) struct Histories {
    now: u32,
    ids: BTreeMap<String, u32>,
    /// The last revision.
    reached: Revision,
    /// The cluster id that the store has.
    present: String,
}

impl Histories {
    pub(super) fn entry(&mut self, entry: &Entry) {
        match &entry.what {
            What::WentBack(to) => self.go_back(to),
            What::Changed { changes, revision } => {
                self.reached = *revision;
                let puts = changes.iter().filter_map(|change| match change {
                    Change::Put(record) => cluster_id(record),
                    Change::Delete { .. } => None,
                });
                for id in puts {
                    self.ids.insert(id.clone(), self.now);
                    self.present = id;
                }
            }
            _ => {}
        }
    }

    /// Where nothing is lost the history goes on.
    fn go_back(&mut self, to: &Snapshot) {
        self.now += u32::from(to.revision != self.reached);
        self.reached = to.revision;
        self.present = to.records.iter().find_map(cluster_id).unwrap_or_default();
    }

    /// True if the store has that cluster id.
    pub(super) fn is_present(&self, cluster_id: &str) -> bool {
        self.present == cluster_id
    }

    /// The history with that cluster id; `None`: it is lost, or nobody knows of it.
    pub(super) fn of(&self, cluster_id: &str) -> Option<u32> {
        self.ids.get(cluster_id).copied().filter(|history| *history == self.now)
    }
}

fn cluster_id(record: &Record) -> Option<String> {
    let identity = (record.key == *IDENTITY).then(|| decode::<ClusterRecord>(&record.value).ok());
    identity.flatten().map(|identity| identity.id)
}
