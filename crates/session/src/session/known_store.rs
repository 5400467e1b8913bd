//! The store that the service runs on, as far as this client has seen it.

use kafka_assigner_proto::v1::Seen;

/// The identity of the store and its newest revision.
#[derive(Debug, Default)]
pub(super) struct KnownStore(Seen);

impl KnownStore {
    pub(super) const fn new(cluster_id: String, revision: u64) -> Self {
        Self(Seen { cluster_id, revision })
    }

    pub(super) fn seen(&self) -> Seen {
        self.0.clone()
    }

    /// True unless both sides name a store, and not the same one.
    pub(super) fn is_same(&self, cluster_id: &str) -> bool {
        cluster_id.is_empty() || self.0.cluster_id.is_empty() || self.0.cluster_id == cluster_id
    }

    /// Takes in a message that was computed at `revision`.
    pub(super) fn saw(&mut self, cluster_id: &str, revision: u64) {
        if !cluster_id.is_empty() {
            cluster_id.clone_into(&mut self.0.cluster_id);
        }
        self.0.revision = self.0.revision.max(revision);
    }
}
