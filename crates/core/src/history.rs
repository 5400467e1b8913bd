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
    /// The known one, at a revision below what it had reached, or one from before it, whose epochs lie lower: the store
    /// was put back.
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
        Some(read) if read.id != known.id && read.epoch_offset < known.epoch_offset => StoreHistory::WentBack,
        Some(read) if read.id != known.id => StoreHistory::Another,
        Some(_) if at < reached => StoreHistory::WentBack,
        Some(_) => StoreHistory::Continues,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_assigner_types::moment::WallMillis;

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
        let second = first.begun_anew("b", WallMillis(0));
        assert_eq!((second.id.as_str(), second.epoch_offset), ("b", 1 << 32));
        assert_eq!(second.begun_anew("c", WallMillis(0)).epoch_offset, 2 << 32);
    }

    #[test]
    fn a_backup_that_is_put_back_twice_begins_above_what_was_handed_out_between() {
        let backup = ClusterRecord::new("a");
        let hour = |n: u64| WallMillis(1_800_000_000_000 + n * 3_600_000);
        let (first, second) = (backup.begun_anew("b", hour(0)), backup.begun_anew("c", hour(1)));
        let most_handed_out = 3_600 * 1_000_000;
        assert!(second.epoch_offset > first.epoch_offset + most_handed_out);
        assert!(second.epoch_offset < 1 << 53);
    }

    #[test]
    fn an_identity_from_before_the_known_one_means_that_a_store_went_back() {
        let backup = ClusterRecord::new("a");
        let known = backup.begun_anew("b", WallMillis(5_000));
        assert_eq!(judge(&known, Revision(7), Some(&backup), Revision(9)), StoreHistory::WentBack);
        let next = backup.not_below(&known).begun_anew("c", WallMillis(5_000));
        assert!(next.epoch_offset > known.epoch_offset);
        assert_eq!(judge(&known, Revision(7), Some(&next), Revision(9)), StoreHistory::Another);
    }
}
