//! Moves from one member to another, so that no topic moves both ways.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::super::{Group, java};
use crate::{MemberIndex, TopicIndex, UnitIndex};

/// Units of one topic that moved from the one to the other member.
type Way = (TopicIndex, MemberIndex, MemberIndex);

/// A unit that moved, once or more: whose it was, whose it is, and how it is filed under that.
#[derive(Clone, Copy)]
struct MovedUnit {
    from: MemberIndex,
    to: MemberIndex,
    entry: Entry,
}

/// A unit in a [`JavaSet`].
#[derive(Clone, Copy)]
struct Entry {
    hash: i32,
    /// Rises from entry to entry.
    came: u32,
    unit: UnitIndex,
}

/// Units in the order of a Java set, which grows and does not shrink.
struct JavaSet {
    capacity: u32,
    /// By bucket, and within one as they came.
    entries: BTreeMap<(u32, u32), Entry>,
}

impl JavaSet {
    fn new() -> Self {
        Self { capacity: java::FIRST_CAPACITY, entries: BTreeMap::new() }
    }

    fn key(&self, entry: &Entry) -> (u32, u32) {
        (java::bucket(entry.hash, self.capacity), entry.came)
    }

    fn first(&self) -> Option<UnitIndex> {
        self.entries.first_key_value().map(|(_, entry)| entry.unit)
    }

    fn insert(&mut self, entry: Entry) {
        self.entries.insert(self.key(&entry), entry);
        if java::outgrows(self.entries.len(), self.capacity) {
            self.capacity *= 2;
            let entries = std::mem::take(&mut self.entries);
            self.entries = entries.into_values().map(|entry| (self.key(&entry), entry)).collect();
        }
    }

    fn remove(&mut self, entry: &Entry) {
        self.entries.remove(&self.key(entry));
    }
}

/// All moves so far.
#[derive(Default)]
pub(super) struct Movements {
    by_unit: FxHashMap<UnitIndex, MovedUnit>,
    by_way: FxHashMap<Way, JavaSet>,
    /// The number of entries that were ever filed.
    filed: u32,
}

impl Movements {
    /// The unit that moved from `to` to `owner` before, if any of the topic did: to move it back
    /// is as good as to move `unit` from `owner`, or from where it was first, to `to`.
    pub(super) fn reverse_of(
        &self,
        group: &Group,
        unit: UnitIndex,
        owner: MemberIndex,
        to: MemberIndex,
    ) -> Option<UnitIndex> {
        let first_owner = self.by_unit.get(&unit).map_or(owner, |moved| moved.from);
        let way = (group.topic_of[unit.index()], to, first_owner);
        self.by_way.get(&way)?.first()
    }

    /// Records that `unit` moves. What moves on counts as moved once; what moves back, not at all.
    pub(super) fn record(&mut self, group: &Group, unit: UnitIndex, from: MemberIndex, to: MemberIndex) {
        let topic = group.topic_of[unit.index()];
        let before = self.by_unit.remove(&unit);
        if let Some(moved) = &before {
            self.unfile(topic, moved);
        }
        let first_owner = before.map_or(from, |moved| moved.from);
        if first_owner != to {
            let entry = self.file(group, (topic, first_owner, to), unit);
            self.by_unit.insert(unit, MovedUnit { from: first_owner, to, entry });
        }
    }

    fn unfile(&mut self, topic: TopicIndex, moved: &MovedUnit) {
        let way = (topic, moved.from, moved.to);
        let set = self.by_way.get_mut(&way).expect("what moved is filed");
        set.remove(&moved.entry);
        if set.entries.is_empty() {
            self.by_way.remove(&way);
        }
    }

    fn file(&mut self, group: &Group, way: Way, unit: UnitIndex) -> Entry {
        let (topic, partition) = group.topic_of(unit);
        let hash = java::partition_hash(java::hash(&group.topics()[topic.index()].name), partition);
        let entry = Entry { hash, came: self.filed, unit };
        self.filed += 1;
        self.by_way.entry(way).or_insert_with(JavaSet::new).insert(entry);
        entry
    }
}
