//! The store's history, as a group knows it.

use std::sync::Arc;

use super::{Entry, GroupState};
use crate::record::ClusterRecord;

impl GroupState {
    /// The same group in a store with the identity `cluster`. Without one, the store has a single history.
    #[must_use]
    pub fn in_cluster(self, cluster: Arc<ClusterRecord>) -> Self {
        Self { cluster: Some(cluster), ..self }
    }

    /// The identity of the store.
    #[must_use]
    pub fn cluster(&self) -> Option<&ClusterRecord> {
        self.cluster.as_deref()
    }

    /// The least epoch of a grant that is decided on this state.
    ///
    /// Taking the revision in keeps epochs rising over deleted groups and re-created topics, whose old epochs nobody
    /// remembers; the offset keeps them rising over a store that was put back.
    #[must_use]
    pub fn epoch_floor(&self) -> u64 {
        self.revision.0.saturating_add(self.cluster().map_or(0, |cluster| cluster.epoch_offset))
    }

    /// True if claims may run that began in another history of the store: nobody knows whose.
    #[must_use]
    pub fn is_of_earlier_history(&self) -> bool {
        let noted = self.history.as_ref().and_then(Entry::readable).map(|note| note.cluster_id.as_str());
        self.cluster().is_some_and(|cluster| noted != Some(cluster.id.as_str()))
    }
}
