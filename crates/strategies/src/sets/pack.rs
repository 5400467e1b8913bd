//! Places for all units at once, where one after the other finds none: [`pack`].

use std::cmp::Reverse;

use super::unit_table::UnitTable;
use crate::problem::{MemberIndex, MemberState, UnitIndex};

/// The most units that are packed: more are not packed exactly in any reasonable time (bin packing is a part of this).
const MOST_UNITS: usize = 512;

/// The most units that are looked at, about a quarter of a second's worth. A few members and units are searched
/// through; larger groups that are nearly full may seem to have no place for everything.
const MOST_LOOKS: usize = 20_000_000;

/// Looks for a placement in which every free unit, but for `left_out`, has an owner: within limits, but that a draining
/// member may keep what it has all of, or, failing that, also a member above its limit that takes nothing. Leaves the
/// table as it is, and returns false, where there is none or the search ends early.
pub(super) fn pack(table: &mut UnitTable<'_>, left_out: &[UnitIndex]) -> bool {
    let is_packed = |unit: &UnitIndex| table.is_free(*unit) && left_out.binary_search(unit).is_err();
    let mut units: Vec<_> = table.layout.units().filter(is_packed).collect();
    if units.len() > MOST_UNITS || !may_fit(table, &units) {
        return false;
    }
    units.sort_by_cached_key(|unit| (Reverse(table.size(*unit)), takers(table, *unit), *unit));
    let mut packed = table.clone();
    units.iter().for_each(|unit| packed.put(*unit, None));
    for keeping in [Keeping::Draining, Keeping::All] {
        let mut packing = Packing { units: &units, keeping, looks: 0 };
        if packing.rest(&mut packed, 0) {
            *table = packed;
            return true;
        }
    }
    false
}

/// The members that may keep what they have all of without regard to limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    Draining,
    All,
}

/// True if there is room for all `units` together, as far as sums tell.
fn may_fit(table: &UnitTable<'_>, units: &[UnitIndex]) -> bool {
    let size = |unit: &UnitIndex| u64::from(table.size(*unit));
    let mut kept = vec![0; table.units.members().len()];
    let whole = units.iter().filter_map(|unit| Some((size(unit), table.whole_owner(*unit)?)));
    whole.for_each(|(size, owner)| kept[owner.index()] += size);
    let room = |member: MemberIndex| match table.state(member) {
        MemberState::Active => u64::from(table.limit(member)).max(kept[member.index()]),
        MemberState::Hold | MemberState::Draining => kept[member.index()],
    };
    units.iter().map(size).sum::<u64>() <= table.units.member_indices().map(room).sum()
}

fn takers(table: &UnitTable<'_>, unit: UnitIndex) -> usize {
    table.units.active().filter(|member| table.may_take(unit, *member)).count()
}

struct Packing<'u> {
    /// The largest first.
    units: &'u [UnitIndex],
    keeping: Keeping,
    looks: usize,
}

impl Packing<'_> {
    /// Places the units from position `at` on.
    fn rest(&mut self, table: &mut UnitTable<'_>, at: usize) -> bool {
        let Some(unit) = self.units.get(at).copied() else { return is_within(table) };
        self.looks += self.units.len() * table.units.members().len();
        for member in self.candidates(table, unit) {
            if self.looks > MOST_LOOKS {
                return false;
            }
            table.put(unit, Some(member));
            if self.rest(table, at + 1) {
                return true;
            }
            table.put(unit, None);
        }
        false
    }

    /// The members with room beside what is placed so far, who has most of the unit first; parts of what is still to be
    /// placed do not count.
    fn candidates(&self, table: &UnitTable<'_>, unit: UnitIndex) -> Vec<MemberIndex> {
        let placed = |member: MemberIndex| {
            let open = self.units.iter().filter(|other| table.owner(**other).is_none());
            let parts = open.filter(|other| table.units.may_own(**other, member));
            table.load(member) - parts.map(|other| table.parts.at(*other, member)).sum::<u32>()
        };
        let rooms = table.units.active().filter(|member| table.may_take(unit, *member));
        let mut able: Vec<_> = rooms
            .map(|member| (table.limit(member).saturating_sub(placed(member)), member))
            .filter(|(room, _)| *room >= table.size(unit))
            .collect();
        able.sort_by_key(|(room, member)| (Reverse(table.parts.at(unit, *member)), Reverse(*room), *member));
        let keeps = |owner: &MemberIndex| {
            let drains = table.state(*owner) == MemberState::Draining;
            drains || (self.keeping == Keeping::All && !able.iter().any(|(_, member)| member == owner))
        };
        let keeper = table.whole_owner(unit).filter(keeps);
        able.iter().map(|(_, member)| *member).chain(keeper).collect()
    }
}

/// True if no member that took anything is above its limit.
fn is_within(table: &UnitTable<'_>) -> bool {
    let is_above = |member: MemberIndex| table.load(member) > table.limit(member);
    let taken = |unit: UnitIndex, owner: MemberIndex| table.is_free(unit) && !table.is_whole_at(unit, owner);
    let owned = table.layout.units().filter_map(|unit| Some((unit, table.owner(unit)?)));
    !owned.into_iter().any(|(unit, owner)| {
        table.state(owner) == MemberState::Active && taken(unit, owner) && is_above(owner)
    })
}
