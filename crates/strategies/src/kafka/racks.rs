//! Racks of members and replicas.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{MemberIndex, RackIndex, UnitIndex};

/// The racks of one partition's replicas, as a number that equal sets share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RackSet(u32);

impl RackSet {
    pub(super) const EMPTY: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Gives equal names, and equal sets of them, equal numbers.
#[derive(Clone, Debug)]
pub(super) struct RackRegistry {
    racks: FxHashMap<Arc<str>, RackIndex>,
    sets: Vec<Vec<RackIndex>>,
    set_of: FxHashMap<Vec<RackIndex>, RackSet>,
}

impl Default for RackRegistry {
    fn default() -> Self {
        let set_of = [(Vec::new(), RackSet::EMPTY)].into_iter().collect();
        Self { racks: FxHashMap::default(), sets: vec![Vec::new()], set_of }
    }
}

impl RackRegistry {
    pub(super) fn rack(&mut self, name: &str) -> RackIndex {
        if let Some(known) = self.racks.get(name) {
            return *known;
        }
        let rack = RackIndex::new(self.racks.len());
        self.racks.insert(name.into(), rack);
        rack
    }

    pub(super) fn set<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> RackSet {
        let mut racks: Vec<_> = names.into_iter().map(|name| self.rack(name)).collect();
        racks.sort_unstable();
        racks.dedup();
        let next = RackSet(u32::try_from(self.sets.len()).expect("there are fewer sets than that"));
        let sets = &mut self.sets;
        *self.set_of.entry(racks).or_insert_with_key(|racks| {
            sets.push(racks.clone());
            next
        })
    }
}

/// The racks of members and units.
#[derive(Clone, Debug)]
pub(super) struct Racks {
    /// By rack.
    members_in: Vec<usize>,
    sets: Vec<Vec<RackIndex>>,
    /// By member.
    member: Vec<Option<RackIndex>>,
    /// By unit; empty if no replica has a rack.
    unit: Vec<RackSet>,
}

impl Racks {
    pub(super) fn new(names: RackRegistry, member: Vec<Option<RackIndex>>, unit: Vec<RackSet>) -> Self {
        let mut members_in = vec![0; names.racks.len()];
        member.iter().flatten().for_each(|rack| members_in[rack.index()] += 1);
        Self { members_in, sets: names.sets, member, unit }
    }

    /// The number of racks; [`RackIndex::index`] is below it.
    pub(super) fn count(&self) -> usize {
        self.members_in.len()
    }

    pub(super) fn of_member(&self, member: MemberIndex) -> Option<RackIndex> {
        self.member[member.index()]
    }

    /// The number of members in `rack`.
    pub(super) fn members_in(&self, rack: RackIndex) -> usize {
        self.members_in[rack.index()]
    }

    fn set_of(&self, unit: UnitIndex) -> RackSet {
        self.unit.get(unit.index()).copied().unwrap_or_default()
    }

    /// The racks of the replicas of `unit`, distinct.
    pub(super) fn of_unit(&self, unit: UnitIndex) -> &[RackIndex] {
        &self.sets[self.set_of(unit).index()]
    }

    /// True if `member` names no rack, or that of a replica of `unit`.
    pub(super) fn fit(&self, member: MemberIndex, unit: UnitIndex) -> bool {
        self.of_member(member).is_none_or(|rack| self.of_unit(unit).contains(&rack))
    }

    /// True if it can make a difference which of `members` gets which of `units`: some rack has both a member and a
    /// replica, and not every unit has replicas in all racks that any has.
    pub(super) fn matter(
        &self,
        members: impl Iterator<Item = MemberIndex>,
        units: impl Iterator<Item = UnitIndex>,
    ) -> bool {
        let mut wanted = vec![false; self.count()];
        members.filter_map(|member| self.of_member(member)).for_each(|rack| wanted[rack.index()] = true);
        if self.unit.is_empty() || !wanted.contains(&true) {
            return false;
        }
        let mut seen = vec![false; self.sets.len()];
        units.for_each(|unit| seen[self.set_of(unit).index()] = true);
        let mut sets = self.sets.iter().zip(&seen).filter(|(_, seen)| **seen);
        let reached = sets.clone().any(|(set, _)| set.iter().any(|rack| wanted[rack.index()]));
        reached && sets.nth(1).is_some()
    }
}

#[cfg(test)]
#[path = "racks_test.rs"]
mod tests;
