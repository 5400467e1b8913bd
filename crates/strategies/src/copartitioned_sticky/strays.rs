//! Units that go one by one, as no member can have all of their slot: [`place`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::copartitioned_set::CopartitionedSet;
use super::seat::{Seat, SlotCost};
use super::slots::{Slot, by_number};
use crate::ledger::Ledger;
use crate::{MemberIndex, MemberState, UnitIndex};

/// Finds a member for each unit, of a slot that is not whole, that has no owner, or its owner's only
/// until another takes it; returns how many moved.
///
/// It goes to the member that has most of its slot, or else to one that has a copy of it, the least
/// behind first, or else to the emptiest for its capacity.
pub(super) fn place(set: &CopartitionedSet, ledger: &mut Ledger<'_>, slots: &[Slot]) -> usize {
    let mut moved = 0;
    let mut emptiest = None;
    for (number, slot) in (0..).zip(slots) {
        if matches!(slot, Slot::At(_)) {
            continue;
        }
        for unit in set.units(number) {
            // Asked of each in its turn: what went before may have brought its owner down to the limit.
            if !must_go(ledger, unit) {
                continue;
            }
            let taker = relation(set, ledger, number, unit)
                .or_else(|| emptiest.get_or_insert_with(|| Emptiest::of(set, ledger)).find(ledger, unit));
            if let Some(taker) = taker {
                ledger.give(unit, taker);
                moved += 1;
            }
        }
    }
    moved
}

/// True if `unit` is to leave its owner if any other member takes it.
fn must_go(ledger: &Ledger<'_>, unit: UnitIndex) -> bool {
    let Some(owner) = ledger.owner(unit) else { return true };
    let over_limit = ledger.load(owner) > ledger.limit(owner);
    ledger.giver(unit).is_some() && (ledger.state(owner) == MemberState::Draining || over_limit)
}

/// The member that has to do with `unit` and can take it.
fn relation(set: &CopartitionedSet, ledger: &Ledger<'_>, slot: u32, unit: UnitIndex) -> Option<MemberIndex> {
    let can = |member: &MemberIndex| {
        set.takers.binary_search(member).is_ok()
            && ledger.has_room(*member)
            && !ledger.problem.is_banned(unit, *member)
    };
    let owners = by_number(set.units(slot).filter_map(|unit| ledger.owner(unit)));
    let copies = ledger.problem.standbys(unit).iter().map(|standby| standby.member);
    owners.into_iter().map(|(_, member)| member).chain(copies).find(can)
}

/// The takers of a set that have room, ordered by load for their capacity.
struct Emptiest {
    takers: BinaryHeap<Reverse<(SlotCost, MemberIndex)>>,
}

impl Emptiest {
    fn of(set: &CopartitionedSet, ledger: &Ledger<'_>) -> Self {
        let entry = |member: &MemberIndex| Some(Reverse((cost(ledger, *member)?, *member)));
        Self { takers: set.takers.iter().filter_map(entry).collect() }
    }

    /// The emptiest that may take `unit`.
    fn find(&mut self, ledger: &Ledger<'_>, unit: UnitIndex) -> Option<MemberIndex> {
        let mut passed_over = Vec::new();
        let mut found = None;
        while found.is_none()
            && let Some(Reverse((listed, member))) = self.takers.pop()
        {
            let Some(present) = cost(ledger, member) else { continue };
            let may = !ledger.problem.is_banned(unit, member);
            match (listed == present, may) {
                (false, _) => self.takers.push(Reverse((present, member))),
                (true, false) => passed_over.push(Reverse((present, member))),
                (true, true) => found = Some((present, member)),
            }
        }
        self.takers.extend(passed_over);
        self.takers.extend(found.map(Reverse));
        found.map(|(_, member)| member)
    }
}

/// The cost of one more unit at `member`, whatever its share of the set; `None` if it has no room.
fn cost(ledger: &Ledger<'_>, member: MemberIndex) -> Option<SlotCost> {
    let (load, limit) = (ledger.load(member), ledger.limit(member));
    Seat::new(ledger.problem, member, load, limit).takes(1)
}
