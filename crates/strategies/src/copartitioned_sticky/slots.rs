//! Owners of the slots of a set before any is shared out: [`survey`].

use super::copartitioned_set::CopartitionedSet;
use crate::ledger::Ledger;
use crate::{MemberIndex, MemberState, UnitIndex};

/// The owner of a slot, if it is with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// All of it is with this active member, which can give it.
    At(MemberIndex),
    /// It looks for a member that takes all of it.
    Open,
    /// Some of its units must stay with this member; the others follow as far as they may.
    Anchored(MemberIndex),
    /// No member may take all of it, so that its units go one by one.
    Torn,
}

/// The owner of each slot of `set`, after slots that were spread over several members have been brought together as far
/// as one of these has room; and the number of units that moved for that.
pub(super) fn survey(set: &CopartitionedSet, ledger: &mut Ledger<'_>) -> (Vec<Slot>, usize) {
    let (first, uneven) = look(set, ledger);
    let mut moved = 0;
    let slots = (0..).zip(first).zip(uneven).map(|((slot, owner), uneven)| match owner {
        _ if uneven => sort_out(set, ledger, slot, &mut moved),
        Some(owner) if ledger.state(owner) == MemberState::Active => Slot::At(owner),
        Some(_) | None => open(set, ledger, slot),
    });
    (slots.collect(), moved)
}

/// By slot: the owner of its first unit, and whether that is not all there is to say, as others have
/// another owner or some must stay.
fn look(set: &CopartitionedSet, ledger: &Ledger<'_>) -> (Vec<Option<MemberIndex>>, Vec<bool>) {
    let mut first = vec![None; set.slots as usize];
    let mut uneven = vec![false; set.slots as usize];
    for (nth, units) in set.by_topic().enumerate() {
        for (slot, unit) in units {
            let owner = ledger.owner(unit);
            if nth == 0 {
                first[slot] = owner;
            }
            uneven[slot] |= first[slot] != owner || stays(ledger, unit).is_some();
        }
    }
    (first, uneven)
}

/// The member that `unit` must stay with, and how firmly: its handoff is under way, or its owner is
/// on hold, or it moved lately and its owner is within its limit.
fn stays(ledger: &Ledger<'_>, unit: UnitIndex) -> Option<(u8, MemberIndex)> {
    if let Some(member) = ledger.problem.fixed(unit) {
        return Some((0, member));
    }
    let owner = ledger.owner(unit)?;
    match ledger.state(owner) {
        MemberState::Hold => Some((1, owner)),
        MemberState::Active
            if ledger.problem.is_cooling(unit) && ledger.load(owner) <= ledger.limit(owner) =>
        {
            Some((2, owner))
        }
        MemberState::Active | MemberState::Draining => None,
    }
}

fn sort_out(set: &CopartitionedSet, ledger: &mut Ledger<'_>, slot: u32, moved: &mut usize) -> Slot {
    let firm: Vec<_> = set.units(slot).filter_map(|unit| stays(ledger, unit)).collect();
    if let Some(firmest) = firm.iter().map(|(how, _)| *how).min() {
        let held = firm.iter().filter(|(how, _)| *how == firmest).map(|(_, member)| *member);
        let anchor = by_number(held)[0].1;
        *moved += follow(set, ledger, slot, anchor);
        return Slot::Anchored(anchor);
    }
    match gatherer(set, ledger, slot) {
        Some(member) => {
            *moved += follow(set, ledger, slot, member);
            Slot::At(member)
        }
        None => open(set, ledger, slot),
    }
}

/// The members with how often each is named, who is named most first and then by id.
pub(super) fn by_number(named: impl Iterator<Item = MemberIndex>) -> Vec<(u32, MemberIndex)> {
    let mut names: Vec<_> = named.collect();
    names.sort_unstable();
    let runs = names.chunk_by(|a, b| a == b);
    let mut numbers: Vec<_> =
        runs.map(|run| (u32::try_from(run.len()).expect("units are counted in u32"), run[0])).collect();
    numbers.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    numbers
}

/// Gives `member` the units of `slot` that can go to it; returns how many went.
fn follow(set: &CopartitionedSet, ledger: &mut Ledger<'_>, slot: u32, member: MemberIndex) -> usize {
    let mut moved = 0;
    if set.takers.binary_search(&member).is_err() {
        return moved;
    }
    for unit in set.units(slot) {
        let elsewhere = ledger.owner(unit) != Some(member) && stays(ledger, unit).is_none();
        if elsewhere && ledger.has_room(member) && !ledger.problem.is_banned(unit, member) {
            ledger.give(unit, member);
            moved += 1;
        }
    }
    moved
}

/// The active member that has most of `slot`, may have all of it, and has room for the rest.
fn gatherer(set: &CopartitionedSet, ledger: &Ledger<'_>, slot: u32) -> Option<MemberIndex> {
    let owners = by_number(set.units(slot).filter_map(|unit| ledger.owner(unit)));
    let can = |(has, member): &(u32, MemberIndex)| {
        ledger.state(*member) == MemberState::Active
            && ledger.room(*member) >= set.size() - has
            && !set.bars(ledger.problem, slot, *member)
    };
    owners.into_iter().find(can).map(|(_, member)| member)
}

/// `Open` if any taker may have all of `slot`.
fn open(set: &CopartitionedSet, ledger: &Ledger<'_>, slot: u32) -> Slot {
    let may = |member: &MemberIndex| !set.bars(ledger.problem, slot, *member);
    if set.takers.iter().any(may) { Slot::Open } else { Slot::Torn }
}
