//! Units with their owners while these are settled, and loads in partitions: [`UnitTable`].

use super::unit_layout::UnitLayout;
use super::united::Parts;
use crate::problem::{MemberIndex, MemberState, Problem, UnitIndex};

/// Owners by unit and, always in step with them, loads by member in partitions. The parts of a unit without an owner
/// count with the members that keep them.
#[derive(Clone, Debug)]
pub(super) struct UnitTable<'a> {
    /// The problem of placing units, without limits.
    pub(super) units: &'a Problem,
    pub(super) layout: &'a UnitLayout,
    pub(super) parts: &'a Parts,
    /// By member, in partitions.
    limit: Vec<u32>,
    owner: Vec<Option<MemberIndex>>,
    load: Vec<u32>,
    /// By unit.
    bond: Vec<Bond>,
}

/// The firmness with which a unit is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bond {
    /// It may move.
    Free,
    /// It stays with its owner.
    RestingPlacement,
    /// A part of it stays with a member on hold, so that no member can have all of it.
    Waits,
}

/// The shortcomings of a table, in the order in which they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    unowned: u64,
    at_draining: u64,
    above_limits: u64,
    imbalance: u128,
}

impl<'a> UnitTable<'a> {
    /// The table in which those units have owners that do not move.
    pub(super) fn new(told: &Problem, units: &'a Problem, layout: &'a UnitLayout, parts: &'a Parts) -> Self {
        let limit = told.members().iter().map(|member| member.max_partitions.unwrap_or(u32::MAX)).collect();
        let mut table = Self {
            units,
            layout,
            parts,
            limit,
            owner: vec![None; units.units()],
            load: vec![0; units.members().len()],
            bond: vec![Bond::Free; units.units()],
        };
        for unit in layout.units() {
            table.count_parts(unit, true);
            table.bind(unit);
        }
        table
    }

    fn bind(&mut self, unit: UnitIndex) {
        let current = self.units.current(unit);
        let cools =
            |owner: &MemberIndex| self.units.is_cooling(unit) && self.state(*owner) == MemberState::Active;
        let held = self.kept(unit).find(|(member, _)| self.state(*member) == MemberState::Hold);
        let owner = match (self.units.fixed(unit), held) {
            (Some(member), _) => Some(member),
            (None, Some((member, count))) if count == self.size(unit) => Some(member),
            (None, Some(_)) => {
                self.bond[unit.index()] = Bond::Waits;
                return;
            }
            (None, None) => current.filter(cools).filter(|owner| self.is_whole_at(unit, *owner)),
        };
        if owner.is_some() {
            self.put(unit, owner);
            self.bond[unit.index()] = Bond::RestingPlacement;
        }
    }

    /// Leaves each free unit with the member that has all of it, and may.
    pub(super) fn stay(&mut self) {
        for unit in self.layout.units().filter(|unit| self.is_free(*unit)).collect::<Vec<_>>() {
            self.put(unit, self.whole_owner(unit));
        }
    }

    /// Takes over the `owners` of free units, as far as these may take them or have all of them.
    pub(super) fn adopt(&mut self, owners: &[Option<MemberIndex>]) {
        for unit in self.layout.units().filter(|unit| self.is_free(*unit)).collect::<Vec<_>>() {
            let may = |member: &MemberIndex| {
                self.may_take(unit, *member) || self.whole_owner(unit) == Some(*member)
            };
            self.put(unit, owners[unit.index()].filter(may));
        }
    }

    pub(super) fn owner(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.owner[unit.index()]
    }

    pub(super) fn owners(&self) -> &[Option<MemberIndex>] {
        &self.owner
    }

    /// The load of `member` in partitions.
    pub(super) fn load(&self, member: MemberIndex) -> u32 {
        self.load[member.index()]
    }

    /// The most partitions that `member` should own.
    pub(super) fn limit(&self, member: MemberIndex) -> u32 {
        self.limit[member.index()]
    }

    pub(super) fn size(&self, unit: UnitIndex) -> u32 {
        self.layout.size(unit)
    }

    pub(super) fn is_free(&self, unit: UnitIndex) -> bool {
        self.bond[unit.index()] == Bond::Free
    }

    /// True if a part of `unit` stays with a member on hold.
    pub(super) fn waits(&self, unit: UnitIndex) -> bool {
        self.bond[unit.index()] == Bond::Waits
    }

    pub(super) fn state(&self, member: MemberIndex) -> MemberState {
        self.units.member(member).state
    }

    /// True if `member` takes units and may own this one; limits do not enter into it.
    pub(super) fn may_take(&self, unit: UnitIndex, member: MemberIndex) -> bool {
        self.state(member) == MemberState::Active && self.units.may_own(unit, member)
    }

    /// True if `member` may take `unit` and has room for all of it.
    pub(super) fn fits(&self, unit: UnitIndex, member: MemberIndex) -> bool {
        self.may_take(unit, member) && self.excess_with(unit, member) == 0
    }

    /// The number of partitions that `member` would have above its limit with `unit`, which it does not own.
    pub(super) fn excess_with(&self, unit: UnitIndex, member: MemberIndex) -> u32 {
        let counted = if self.owner(unit).is_none() { self.parts.at(unit, member) } else { 0 };
        (self.load(member) - counted + self.size(unit)).saturating_sub(self.limit(member))
    }

    /// The member that has all of `unit` today and may own it.
    pub(super) fn whole_owner(&self, unit: UnitIndex) -> Option<MemberIndex> {
        let [(member, count)] = self.parts.of_unit(unit) else { return None };
        (*count == self.size(unit) && self.units.may_own(unit, *member)).then_some(*member)
    }

    pub(super) fn is_whole_at(&self, unit: UnitIndex, member: MemberIndex) -> bool {
        self.parts.at(unit, member) == self.size(unit)
    }

    /// Makes `owner` the owner of `unit`.
    pub(super) fn put(&mut self, unit: UnitIndex, owner: Option<MemberIndex>) {
        let size = self.size(unit);
        match self.owner[unit.index()] {
            Some(former) => self.load[former.index()] -= size,
            None => self.count_parts(unit, false),
        }
        self.owner[unit.index()] = owner;
        match owner {
            Some(owner) => self.load[owner.index()] += size,
            None => self.count_parts(unit, true),
        }
    }

    fn count_parts(&mut self, unit: UnitIndex, are_there: bool) {
        for (member, count) in self.parts.of_unit(unit).iter().copied() {
            if self.units.may_own(unit, member) {
                let load = &mut self.load[member.index()];
                *load = if are_there { *load + count } else { *load - count };
            }
        }
    }

    /// The parts of `unit` whose owners may own it.
    fn kept(&self, unit: UnitIndex) -> impl Iterator<Item = (MemberIndex, u32)> {
        let parts = self.parts.of_unit(unit).iter().copied();
        parts.filter(move |(member, _)| self.units.may_own(unit, *member))
    }

    /// The member that is best for `unit` of those with room: first who has most of it, then the newest, then who is the
    /// least loaded with it. Who has it counts for every strategy: the loads depend on who has what, so that without it
    /// the answer to an answer could be another one, and so on for ever.
    pub(super) fn choose(&self, unit: UnitIndex, without: &[MemberIndex]) -> Option<MemberIndex> {
        let able = self.units.member_indices().filter(|member| !without.contains(member));
        able.filter(|member| self.fits(unit, *member)).min_by_key(|member| {
            let has = self.parts.at(unit, *member);
            let generation = self.units.member(*member).generation;
            let capacity = u64::from(self.units.member(*member).capacity.thousandths());
            let level = (u64::from(self.load(*member) + self.size(unit)) << 20) / capacity;
            (std::cmp::Reverse(has), std::cmp::Reverse(generation), level, *member)
        })
    }

    pub(super) fn score(&self) -> Score {
        let sizes = |is: &dyn Fn(Option<MemberIndex>) -> bool| -> u64 {
            let units = self.layout.units().filter(|unit| is(self.owner(*unit)));
            units.map(|unit| u64::from(self.size(unit))).sum()
        };
        let draining = |owner: Option<MemberIndex>| {
            owner.is_some_and(|owner| self.state(owner) == MemberState::Draining)
        };
        let active = || self.units.active();
        let above = active().map(|member| u64::from(self.load(member).saturating_sub(self.limit(member))));
        let loads = self.units.loads(|unit| self.owner(unit));
        let square = |member: MemberIndex| {
            let load = u128::from(loads[member.index()]);
            load * load / u128::from(self.units.member(member).capacity.thousandths())
        };
        Score {
            unowned: sizes(&|owner| owner.is_none()),
            at_draining: sizes(&draining),
            above_limits: above.sum(),
            imbalance: active().map(square).sum(),
        }
    }
}
