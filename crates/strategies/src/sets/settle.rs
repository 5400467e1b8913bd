//! Limits in partitions, and a place for what fits: [`settle`].

use super::pack;
use super::unit_table::UnitTable;
use crate::problem::{MemberIndex, MemberState, UnitIndex};

/// The most units that are looked at to make room, about a quarter of a second's worth. Past it, units for which room
/// would have to be made stay unplaced; only groups near their limits with units of many sizes come near.
const MOST_LOOKS: usize = 20_000_000;

/// The members through which making room for one unit may go: with more, a place is rare and the search long.
const DEEPEST: usize = 4;

/// Brings every member within its limit and finds places for what has none, but for `left_out`, which ascend.
///
/// A unit without a place goes back to the member that has all of it today, even above its limit; this then gives what
/// it would have taken. Otherwise it stays split.
pub(super) fn settle(table: &mut UnitTable<'_>, left_out: &[UnitIndex]) {
    let mut pool = release(table);
    pool.retain(|unit| left_out.binary_search(unit).is_err());
    pool.sort_by_key(|unit| (std::cmp::Reverse(table.size(*unit)), *unit));
    let mut unplaced = Vec::new();
    for unit in pool {
        match table.choose(unit, &[]) {
            Some(member) => table.put(unit, Some(member)),
            None => unplaced.push(unit),
        }
    }
    let mut search = RoomSearch { looks: 0, journal: Vec::new() };
    unplaced.retain(|unit| !search.make_room(table, *unit, &mut Vec::new()));
    if !unplaced.is_empty() && !pack::pack(table, left_out) {
        give_back(table, unplaced);
    }
    evict(table);
}

/// Takes from members what they have above their limits and from draining ones everything; returns the free units
/// without an owner.
fn release(table: &mut UnitTable<'_>) -> Vec<UnitIndex> {
    let members: Vec<_> = table.units.member_indices().collect();
    let mut of_member: Vec<Vec<UnitIndex>> = vec![Vec::new(); members.len()];
    let mut pool = Vec::new();
    for unit in table.layout.units().filter(|unit| table.is_free(*unit)) {
        match table.owner(unit) {
            Some(owner) => of_member[owner.index()].push(unit),
            None => pool.push(unit),
        }
    }
    for (member, mut units) in members.into_iter().zip(of_member) {
        let drains = table.state(member) == MemberState::Draining;
        while let Some(at) = excess(table, member, &units, drains) {
            let unit = units.swap_remove(at);
            table.put(unit, None);
            pool.push(unit);
        }
    }
    pool
}

/// The next of `units` that `member` is to give: first those that it does not have all of today, then the smallest that
/// brings it within its limit, or else the largest.
fn excess(table: &UnitTable<'_>, member: MemberIndex, units: &[UnitIndex], drains: bool) -> Option<usize> {
    let above = table.load(member).saturating_sub(table.limit(member));
    if above == 0 && !drains {
        return None;
    }
    (0..units.len()).min_by_key(|at| {
        let (unit, size) = (units[*at], table.size(units[*at]));
        let is_enough = size >= above;
        let order = if is_enough { size } else { u32::MAX - size };
        (table.is_whole_at(unit, member), !is_enough, order, std::cmp::Reverse(unit))
    })
}

/// Gives units back to those that have all of them today.
fn give_back(table: &mut UnitTable<'_>, unplaced: Vec<UnitIndex>) {
    for unit in unplaced {
        let owner = table.choose(unit, &[]).or_else(|| table.whole_owner(unit));
        table.put(unit, owner);
    }
}

/// Takes from members that are above their limits what they do not have all of today. Each time this makes another unit
/// without an owner or brings one home for good, so that it ends.
fn evict(table: &mut UnitTable<'_>) {
    while let Some((unit, member)) = taken_above(table) {
        table.put(unit, None);
        let owner = table.choose(unit, &[member]).or_else(|| table.whole_owner(unit));
        table.put(unit, owner);
    }
}

fn taken_above(table: &UnitTable<'_>) -> Option<(UnitIndex, MemberIndex)> {
    let is_above = |member: &MemberIndex| table.load(*member) > table.limit(*member);
    if !table.units.active().any(|member| is_above(&member)) {
        return None;
    }
    let taken = table.layout.units().filter(|unit| table.is_free(*unit)).filter_map(|unit| {
        let owner = table.owner(unit).filter(is_above)?;
        (table.state(owner) == MemberState::Active && !table.is_whole_at(unit, owner))
            .then_some((unit, owner))
    });
    taken.min_by_key(|(unit, _)| (table.size(*unit), *unit))
}

/// A search for room that can be taken back.
struct RoomSearch {
    looks: usize,
    /// The units that were moved, each with its owner before.
    journal: Vec<(UnitIndex, Option<MemberIndex>)>,
}

impl RoomSearch {
    fn put(&mut self, table: &mut UnitTable<'_>, unit: UnitIndex, owner: Option<MemberIndex>) {
        self.journal.push((unit, table.owner(unit)));
        table.put(unit, owner);
    }

    fn undo(&mut self, table: &mut UnitTable<'_>, to: usize) {
        for (unit, owner) in self.journal.split_off(to).into_iter().rev() {
            table.put(unit, owner);
        }
    }

    /// Places `unit` with a member outside of `through`, from which others give way. Returns whether it could.
    fn make_room(
        &mut self,
        table: &mut UnitTable<'_>,
        unit: UnitIndex,
        through: &mut Vec<MemberIndex>,
    ) -> bool {
        let mut takers: Vec<_> = table.units.active().filter(|member| !through.contains(member)).collect();
        takers
            .retain(|member| table.units.may_own(unit, *member) && table.size(unit) <= table.limit(*member));
        takers.sort_by_key(|member| (table.excess_with(unit, *member), *member));
        for taker in takers {
            let before = self.journal.len();
            through.push(taker);
            let made = self.clear(table, unit, taker, through);
            through.pop();
            if made {
                self.put(table, unit, Some(taker));
                return true;
            }
            self.undo(table, before);
        }
        false
    }

    /// Moves units away from `taker`, the smallest first, until `unit` fits.
    fn clear(
        &mut self,
        table: &mut UnitTable<'_>,
        unit: UnitIndex,
        taker: MemberIndex,
        through: &mut Vec<MemberIndex>,
    ) -> bool {
        if table.fits(unit, taker) {
            return true;
        }
        if self.looks >= MOST_LOOKS {
            return false;
        }
        self.looks += table.units.units();
        let mut movable: Vec<_> = table
            .layout
            .units()
            .filter(|other| table.owner(*other) == Some(taker) && table.is_free(*other) && *other != unit)
            .collect();
        movable.sort_by_key(|other| (table.size(*other), *other));
        for other in movable {
            self.send_away(table, other, through);
            if table.fits(unit, taker) {
                return true;
            }
        }
        false
    }

    fn send_away(&mut self, table: &mut UnitTable<'_>, unit: UnitIndex, through: &mut Vec<MemberIndex>) {
        let before = self.journal.len();
        self.put(table, unit, None);
        if let Some(member) = table.choose(unit, through) {
            self.put(table, unit, Some(member));
        } else if through.len() >= DEEPEST || !self.make_room(table, unit, through) {
            self.undo(table, before);
        }
    }
}
