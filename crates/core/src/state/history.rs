//! The things that were before the group: the store's history, and an earlier group of its name.

use std::sync::Arc;

use kafka_assigner_types::claim::LONGEST_OUTAGE_GRACE;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::millis;

use super::{Entry, GroupState};
use crate::record::{Assignment, ClusterRecord, OwnersStopped};

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

    /// The time for which claims of an earlier group of this name may run, in milliseconds from a leader's first sight of
    /// this one; 0: it is over, or there was none. A note that can't be read may say the longest time that there is.
    #[must_use]
    pub fn earlier_claims_ms(&self) -> u64 {
        let Some(noted) = &self.history else { return 0 };
        noted.readable().map_or(millis(LONGEST_OUTAGE_GRACE), |note| note.earlier_claims_ms)
    }

    /// True if an operator has said, after the grant of `at`, that everybody has stopped who owned it before.
    #[must_use]
    pub fn owners_have_stopped(&self, at: &TopicPartition) -> bool {
        let config = self.config_entry().and_then(Entry::readable);
        let said = config.and_then(|config| config.owners_stopped_at.as_ref());
        let said = said.filter(|said| said.cluster_id.as_deref() == self.cluster_id());
        let granted = self.assignments().get(at).and_then(Entry::readable);
        said.zip(granted).is_some_and(|(said, granted)| granted.mod_revision <= said.revision)
    }

    /// An operator's word, said on this state, that all former owners have stopped.
    #[must_use]
    pub fn owners_stopped_now(&self) -> OwnersStopped {
        OwnersStopped { revision: self.revision, cluster_id: self.cluster_id().map(str::to_owned) }
    }

    fn cluster_id(&self) -> Option<&str> {
        self.cluster().map(|cluster| cluster.id.as_str())
    }

    /// The time for which claims of the group may run once it is deleted though the leases of its owners are gone, in
    /// milliseconds; 0: there is none. In `overlap` an owner that reaches no instance goes on for its outage grace.
    #[must_use]
    pub fn claims_after_deletion_ms(&self) -> u64 {
        let longest_session = self.configured(|config| config.max_session_timeout_ms);
        let of = |assignment: &Assignment| {
            let owner = assignment.owner.as_ref();
            let ttl_ms = owner.map_or(longest_session, |owner| owner.ttl_ms).max(assignment.outlived_ttl_ms);
            let grace_ms = owner.map_or(millis(LONGEST_OUTAGE_GRACE), |owner| owner.outage_grace_ms);
            let grace_ms = if assignment.mode.is_strict() { 0 } else { grace_ms };
            ttl_ms.max(grace_ms).max(assignment.outlived_grace_ms)
        };
        // A registration that can't be read may have anything that is allowed.
        let unread = longest_session.max(millis(LONGEST_OUTAGE_GRACE));
        let claims = self.assignments().values().map(|entry| entry.last_good().map_or(unread, &of));
        let leaving = self.handoffs().keys().filter_map(|at| self.handoff(at)?.old_owner.as_ref());
        let leaving = leaving.map(|owner| owner.ttl_ms.max(owner.outage_grace_ms));
        claims.chain(leaving).max().unwrap_or_default().max(self.earlier_claims_ms())
    }
}
