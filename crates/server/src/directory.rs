//! The groups there are.
//!
//! Beside the groups' own records one key stands for each group: `{prefix}~/groups/{group}`. It is written and deleted
//! together with the group's configuration, so every instance learns of every group by one small watch.

use std::collections::BTreeSet;

use bytes::Bytes;
use kafka_assigner_core::key::{ClusterLayout, Key, Layout};
use kafka_assigner_core::record::{GroupConfig, HistoryNote, Tombstone, encode};
use kafka_assigner_store::view::Materialized;
use kafka_assigner_types::kv::{Change, Compare, Must, Op, Revision, Txn};
use kafka_assigner_types::name::GroupName;

use crate::identity::StoreIdentity;

/// The known groups, kept by a view.
#[derive(Debug)]
pub struct GroupDirectory {
    prefix: Bytes,
    groups: BTreeSet<GroupName>,
}

impl GroupDirectory {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: ClusterLayout::new(prefix).groups(), groups: BTreeSet::new() }
    }

    pub(crate) fn prefix(&self) -> Bytes {
        self.prefix.clone()
    }

    /// The groups, by name.
    #[must_use]
    pub const fn groups(&self) -> &BTreeSet<GroupName> {
        &self.groups
    }

    fn decode(&self, key: &[u8]) -> Option<GroupName> {
        std::str::from_utf8(key.strip_prefix(&*self.prefix)?).ok()?.parse().ok()
    }
}

impl Materialized for GroupDirectory {
    type Touched = ();

    fn apply(&mut self, changes: &[Change], _revision: Revision) {
        for change in changes {
            let Some(group) = self.decode(change.key()) else { continue };
            match change {
                Change::Put(_) => self.groups.insert(group),
                Change::Delete { .. } => self.groups.remove(&group),
            };
        }
    }
}

/// The key that stands for a group.
pub(crate) fn entry(prefix: &str, group: &GroupName) -> Bytes {
    ClusterLayout::new(prefix).group(group)
}

/// The claims that may still run where a group is created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EarlierClaims {
    /// True if claims of an earlier history of the store may run.
    pub(crate) of_lost_history: bool,
    /// The revision and the claims, in milliseconds, of the tombstone of a group of the same name; `None`: there is none.
    pub(crate) tombstone: Option<(Revision, u64)>,
}

/// Creates a group with `config` where it does not exist. Its note says which earlier claims its strict grants wait for.
pub(crate) fn create(
    prefix: &str,
    layout: &Layout,
    config: &GroupConfig,
    store: &StoreIdentity,
    earlier: EarlierClaims,
) -> Txn {
    let key = layout.encode(&Key::GroupConfig);
    let cluster_id = if earlier.of_lost_history { "" } else { store.id() };
    let earlier_claims_ms = earlier.tombstone.map_or(0, |(_, claims_ms)| claims_ms);
    let note = HistoryNote { earlier_claims_ms, ..HistoryNote::new(cluster_id) };
    let entry = Op::put(entry(prefix, layout.group()), Bytes::from_static(b"{}"));
    let note = Op::put(layout.encode(&Key::History), encode(&note));
    let must = earlier.tombstone.map_or(Must::BeAbsent, |(revision, _)| Must::HaveModRevision(revision));
    let gone = Compare::new(layout.gone(), must);
    let guards = vec![Compare::new(key.clone(), Must::BeAbsent), store.guard(), gone];
    Txn::guarded(guards, vec![Op::put(key, encode(config)), entry, note])
}

/// Deletes a group with all its records where its configuration is as it was read, no consumer has registered, and
/// nothing was granted since the revision `read`. The tombstone tells which claims of it may run; `None`: none do, and one of
/// an earlier group of its name goes as well.
pub(crate) fn delete(
    prefix: &str,
    layout: &Layout,
    config: Option<Revision>,
    read: Revision,
    tombstone: Option<&Tombstone>,
) -> Txn {
    let key = layout.encode(&Key::GroupConfig);
    let must = config.map_or(Must::BeAbsent, Must::HaveModRevision);
    Txn::guarded(
        vec![
            Compare::new(key, must),
            Compare::new(layout.consumers(), Must::HaveNoKeys),
            Compare::new(layout.assignments(), Must::HaveNoChangesSince(read)),
        ],
        vec![
            Op::DeletePrefix { prefix: layout.prefix() },
            Op::delete(entry(prefix, layout.group())),
            tombstone.map_or_else(|| Op::delete(layout.gone()), |t| Op::put(layout.gone(), encode(t))),
        ],
    )
}

#[cfg(test)]
mod tests {
    use kafka_assigner_store::{MemoryStore, Store as _};

    use super::*;

    const PREFIX: &str = "/p/";

    /// True if a group is deleted on what was read before `key` was written.
    async fn is_deleted_although(key: &str) -> bool {
        let (store, layout) = (MemoryStore::new(), Layout::new(PREFIX, "g".parse().unwrap()));
        let config = Op::put(layout.encode(&Key::GroupConfig), "{}");
        let created = store.txn(Txn::guarded(Vec::new(), vec![config])).await.unwrap().revision;
        let put = Op::put(format!("{PREFIX}{key}"), "{}");
        store.txn(Txn::guarded(Vec::new(), vec![put])).await.unwrap();
        store.txn(delete(PREFIX, &layout, Some(created), created, None)).await.unwrap().succeeded
    }

    #[tokio::test]
    async fn a_group_into_which_somebody_came_meanwhile_is_not_deleted() {
        assert!(!is_deleted_although("g/consumers/a").await);
        assert!(!is_deleted_although("g/assignments/t/0").await);
        assert!(is_deleted_although("g/topics/t").await && is_deleted_although("other/consumers/a").await);
    }
}
