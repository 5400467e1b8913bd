//! The store's history: whether it goes on, went back, or is another one.

use crate::record::ClusterRecord;
use kafka_assigner_types::kv::Revision;

/// The store's history, as one linearizable read of its identity shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreHistory {
    /// The one that is known.
    Continues,
    /// Another one: everything that is known belongs to the past.
    Another,
    /// The known one, at a revision below what it had reached: the store was put back.
    WentBack,
    /// None: the identity is absent. The store was wiped, or it is another store.
    Unidentified,
}

/// Judges a read of the store's identity, which was `read` at the revision `at`. `known` is the identity under which
/// `reached` was seen, before the read began.
#[must_use]
pub fn judge(
    known: &ClusterRecord,
    reached: Revision,
    read: Option<&ClusterRecord>,
    at: Revision,
) -> StoreHistory {
    match read {
        None => StoreHistory::Unidentified,
        Some(read) if read.id != known.id => StoreHistory::Another,
        Some(_) if at < reached => StoreHistory::WentBack,
        Some(_) => StoreHistory::Continues,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_identity_at_a_lower_revision_means_that_a_store_went_back() {
        let (known, other) = (ClusterRecord::new("a"), ClusterRecord::new("b"));
        let judged = |read, at| judge(&known, Revision(7), read, Revision(at));
        assert_eq!(judged(Some(&known), 7), StoreHistory::Continues);
        assert_eq!(judged(Some(&known), 6), StoreHistory::WentBack);
        assert_eq!(judged(Some(&other), 6), StoreHistory::Another);
        assert_eq!(judged(Some(&other), 8), StoreHistory::Another);
        assert_eq!(judged(None, 6), StoreHistory::Unidentified);
    }

    #[test]
    fn epochs_of_another_history_are_above_all_before() {
        let first = ClusterRecord::new("a");
        let second = first.begun_anew("b");
        assert_eq!((second.id.as_str(), second.epoch_offset), ("b", 1 << 32));
        assert_eq!(second.begun_anew("c").epoch_offset, 2 << 32);
    }
}
