//! The histories of the store, by the cluster ids under which they are served.

use std::collections::BTreeMap;

use kafka_assigner_core::record::{ClusterRecord, decode};
use kafka_assigner_types::kv::Change;

use crate::history::{Entry, What};
use crate::hole::IDENTITY;

/// The histories so far; each begins with a store that is put back, and is served once it has a cluster id of its own.
#[derive(Debug, Default)]
pub(super) struct Histories {
    now: u32,
    ids: BTreeMap<String, u32>,
}

impl Histories {
    pub(super) fn entry(&mut self, entry: &Entry) {
        match &entry.what {
            What::WentBack(_) => self.now += 1,
            What::Changed { changes, .. } => {
                let ids = changes.iter().filter_map(cluster_id);
                self.ids.extend(ids.map(|id| (id, self.now)));
            }
            _ => {}
        }
    }

    /// The history with that cluster id; `None`: it is lost, or nobody knows of it.
    pub(super) fn of(&self, cluster_id: &str) -> Option<u32> {
        self.ids.get(cluster_id).copied().filter(|history| *history == self.now)
    }
}

fn cluster_id(change: &Change) -> Option<String> {
    match change {
        Change::Put(record) if record.key == *IDENTITY => {
            decode::<ClusterRecord>(&record.value).ok().map(|identity| identity.id)
        }
        _ => None,
    }
}
