//! Even numbers of partitions where units are of several sizes: [`level`].

use super::unit_table::UnitTable;
use crate::problem::{MemberIndex, UnitIndex};

/// The most pairs of units that are looked at, about a quarter of a second's worth. What is left uneven then, a later
/// run goes on with.
const MOST_LOOKS: usize = 20_000_000;

/// A unit that moves from one member to another, and perhaps one that moves back.
#[derive(Clone, Copy, Debug)]
struct UnitSwap {
    unit: UnitIndex,
    back: Option<UnitIndex>,
    giver: MemberIndex,
    taker: MemberIndex,
}

/// Moves and swaps units, from the fullest to the emptiest member that can trade, while that lowers the sum of squared
/// loads: by a transfer of less than their difference. Single moves go before swaps, and among them what brings the two
/// nearest, then a unit that the giver does not have all of today.
pub(super) fn level(table: &mut UnitTable<'_>) {
    let mut looks = 0;
    while looks < MOST_LOOKS
        && let Some(trade) = next(table, &mut looks)
    {
        table.put(trade.unit, None);
        if let Some(back) = trade.back {
            table.put(back, Some(trade.giver));
        }
        table.put(trade.unit, Some(trade.taker));
    }
}

fn next(table: &UnitTable<'_>, looks: &mut usize) -> Option<UnitSwap> {
    let mut members: Vec<_> = table.units.active().collect();
    members.sort_by_key(|member| (table.load(*member), *member));
    let mut of_member: Vec<Vec<UnitIndex>> = vec![Vec::new(); table.units.members().len()];
    for unit in table.layout.units().filter(|unit| table.is_free(*unit)) {
        table.owner(unit).iter().for_each(|owner| of_member[owner.index()].push(unit));
    }
    *looks += table.units.units();
    for giver in members.iter().rev().copied() {
        let takers = members.iter().copied().take_while(|taker| table.load(*taker) + 1 < table.load(giver));
        for taker in takers {
            let units = &of_member[giver.index()];
            let trade = best_move(table, units, giver, taker)
                .or_else(|| best_swap(table, units, &of_member[taker.index()], giver, taker, looks));
            *looks += units.len();
            if trade.is_some() {
                return trade;
            }
        }
    }
    None
}

/// The twice the distance from level that a transfer of `size` leaves between members that differ by `gap`; nothing if
/// it does not bring them nearer.
fn distance(gap: u32, size: u32) -> Option<u32> {
    (0 < size && size < gap).then(|| gap.abs_diff(2 * size))
}

fn best_move(
    table: &UnitTable<'_>,
    units: &[UnitIndex],
    giver: MemberIndex,
    taker: MemberIndex,
) -> Option<UnitSwap> {
    let gap = table.load(giver) - table.load(taker);
    let fitting = units.iter().copied().filter(|unit| table.fits(*unit, taker));
    let ranked = fitting.filter_map(|unit| {
        Some((
            (distance(gap, table.size(unit))?, table.is_whole_at(unit, giver), std::cmp::Reverse(unit)),
            unit,
        ))
    });
    let (_, unit) = ranked.min()?;
    Some(UnitSwap { unit, back: None, giver, taker })
}

fn best_swap(
    table: &UnitTable<'_>,
    given: &[UnitIndex],
    taken: &[UnitIndex],
    giver: MemberIndex,
    taker: MemberIndex,
    looks: &mut usize,
) -> Option<UnitSwap> {
    *looks += given.len() * taken.len();
    let gap = table.load(giver) - table.load(taker);
    let pairs = given.iter().flat_map(|unit| taken.iter().map(move |back| (*unit, *back)));
    let ranked = pairs.filter_map(|(unit, back)| {
        let transfer = table.size(unit).checked_sub(table.size(back))?;
        let distance = distance(gap, transfer)?;
        let has_room = table.load(taker) + transfer <= table.limit(taker);
        let may = table.may_take(unit, taker) && table.may_take(back, giver);
        (has_room && may && table.load(giver) <= table.limit(giver)).then_some((distance, unit, back))
    });
    let (_, unit, back) = ranked.min()?;
    Some(UnitSwap { unit, back: Some(back), giver, taker })
}
