//! The groups there are.
//!
//! Beside the groups' own records, under a sibling prefix that no group's name can reach, one key stands for each
//! group: `{prefix without its last slash}.groups/{group}`. It is written and deleted together with the group's
//! configuration, so every instance learns of every group by one small watch.

use std::collections::BTreeSet;

use bytes::Bytes;
use kafka_assigner_core::key::{Key, Layout};
use kafka_assigner_core::record::{GroupConfig, encode};
use kafka_assigner_store::view::Materialized;
use kafka_assigner_types::kv::{Change, Compare, Must, Op, Revision, Txn};
use kafka_assigner_types::name::GroupName;

/// The sibling prefix `{prefix}.{name}/`.
pub(crate) fn sibling(prefix: &str, name: &str) -> String {
    format!("{}.{name}/", prefix.trim_end_matches('/'))
}

/// The known groups, kept by a view.
#[derive(Debug)]
pub struct GroupDirectory {
    prefix: String,
    groups: BTreeSet<GroupName>,
}

impl GroupDirectory {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: sibling(prefix, "groups"), groups: BTreeSet::new() }
    }

    pub(crate) fn prefix(&self) -> Bytes {
        Bytes::copy_from_slice(self.prefix.as_bytes())
    }

    /// The groups, by name.
    #[must_use]
    pub const fn groups(&self) -> &BTreeSet<GroupName> {
        &self.groups
    }

    fn decode(&self, key: &[u8]) -> Option<GroupName> {
        std::str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?.parse().ok()
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
    Bytes::from(format!("{}{group}", sibling(prefix, "groups")))
}

/// Creates a group with `config` where it does not exist.
pub(crate) fn create(prefix: &str, layout: &Layout, config: &GroupConfig) -> Txn {
    let key = layout.encode(&Key::GroupConfig);
    Txn::guarded(
        vec![Compare::new(key.clone(), Must::BeAbsent)],
        vec![Op::put(key, encode(config)), Op::put(entry(prefix, layout.group()), Bytes::from_static(b"{}"))],
    )
}

/// Deletes a group with all its records where its configuration is as it was read.
pub(crate) fn delete(prefix: &str, layout: &Layout, config: Option<Revision>) -> Txn {
    let key = layout.encode(&Key::GroupConfig);
    let must = config.map_or(Must::BeAbsent, Must::HaveModRevision);
    Txn::guarded(
        vec![Compare::new(key, must)],
        vec![Op::DeletePrefix { prefix: layout.prefix() }, Op::delete(entry(prefix, layout.group()))],
    )
}
