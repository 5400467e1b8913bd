//! Owners of the slots of a set: [`settle`].

use super::copartitioned_set::{CopartitionedSet, place_of};
use super::copies::{Copies, Copy};
use super::seat::{self, Seat};
use super::slots::{Slot, survey};
use super::strays;
use crate::ledger::Ledger;
use crate::{MemberIndex, UnitIndex};

/// The number of a member's slots that an exchange looks at for one that the other member may have, at best one that it
/// has a copy of. With all of them, a set of a million slots at two members would take some 10¹¹ looks after one left.
/// What is missed is small: without bans and pins the first will do, and a copy of the slot given away is only the
/// nicer of two good ends. If the other member may have none of these, the slot stays at the member that it went to,
/// and is warmed there.
const LOOKED_AT: usize = 32;

/// Shares the slots of `set` out once; whether anything moved.
///
/// Each move improves, in this order, how many units are stuck (without an owner, or with a member that
/// drains), how many are above limits, how many slots are spread, how far members are from their
/// shares, and the sum of squared loads over all sets; and worsens none before it. So repeating it
/// over all sets ends.
pub(super) fn settle(set: &CopartitionedSet, ledger: &mut Ledger<'_>) -> bool {
    if set.takers.is_empty() {
        return false;
    }
    let (slots, gathered) = survey(set, ledger);
    let mut deal = SlotSharing::new(set, ledger, slots);
    deal.run();
    let SlotSharing { slots, dealt, .. } = deal;
    gathered + dealt + strays::place(set, ledger, &slots) > 0
}

/// The slots of a set while they are shared out. Who should have how many is found first, then which.
struct SlotSharing<'a, 'p> {
    set: &'a CopartitionedSet,
    ledger: &'a mut Ledger<'p>,
    slots: Vec<Slot>,
    /// By position in the set's takers.
    seats: Vec<Seat>,
    /// By seat: how many slots it has still to take, and to give.
    lacks: Vec<u32>,
    spare: Vec<u32>,
    copies: Copies<'p>,
    dealt: usize,
}

impl<'a, 'p> SlotSharing<'a, 'p> {
    fn new(set: &'a CopartitionedSet, ledger: &'a mut Ledger<'p>, slots: Vec<Slot>) -> Self {
        let copies = Copies::new(ledger.problem);
        let none = vec![0; set.takers.len()];
        Self { set, ledger, slots, seats: Vec::new(), lacks: none.clone(), spare: none, copies, dealt: 0 }
    }

    fn run(&mut self) {
        let open = self.open();
        self.seat();
        let placed = self.decide(&open);
        let open = &open[..placed as usize];
        let cold = self.promote(open);
        self.hand_back();
        self.deal_round(&cold);
        self.pass_on(open);
        self.exchange(&cold);
    }

    fn seat_of(&self, member: MemberIndex) -> Option<usize> {
        seat_of(self.set, self.ledger, member)
    }

    /// The open slots, those of which no member owns anything first: they go first if room is short.
    fn open(&self) -> Vec<u32> {
        let open = (0..).zip(&self.slots).filter(|(_, slot)| **slot == Slot::Open).map(|(number, _)| number);
        let is_owned = |slot: &u32| self.set.units(*slot).any(|unit| self.ledger.owner(unit).is_some());
        let (owned, mut open): (Vec<u32>, Vec<u32>) = open.partition(is_owned);
        open.extend(owned);
        open
    }

    /// Seats the takers with what they have.
    fn seat(&mut self) {
        let ledger = &*self.ledger;
        let seat = |member: &MemberIndex| {
            Seat::new(ledger.problem, *member, ledger.load(*member), ledger.limit(*member))
        };
        self.seats = self.set.takers.iter().map(seat).collect();
        for slot in &self.slots {
            let (Slot::At(member) | Slot::Anchored(member)) = slot else { continue };
            let Some(at) = seat_of(self.set, self.ledger, *member) else { continue };
            self.seats[at].count += 1;
            self.seats[at].movable += u32::from(matches!(slot, Slot::At(_)));
        }
    }

    /// Decides how many slots each seat is to take and to give; returns how many of the `open` ones
    /// there is room for.
    fn decide(&mut self, open: &[u32]) -> u32 {
        let free = u32::try_from(open.len()).expect("units are counted in u32");
        let mut seats = self.seats.clone();
        let slots = free + seats.iter().map(|seat| seat.count).sum::<u32>();
        seat::share(&mut seats, slots);
        let placed = seat::fill(&mut seats, self.set.size(), free);
        seat::level(&mut seats, self.set.size());
        for (at, (before, after)) in self.seats.iter().zip(&seats).enumerate() {
            self.lacks[at] = after.count.saturating_sub(before.count);
            self.spare[at] = before.count.saturating_sub(after.count);
        }
        placed
    }

    /// Gives open slots to members that have copies of them; returns the ones that are left.
    fn promote(&mut self, open: &[u32]) -> Vec<u32> {
        let mut cold = Vec::new();
        for slot in open {
            match self.heir(*slot) {
                Some(at) => self.take(*slot, at),
                None => cold.push(*slot),
            }
        }
        cold
    }

    /// The seat that has a copy of `slot`, is to take slots and may take this one.
    fn heir(&mut self, slot: u32) -> Option<usize> {
        let Self { set, ledger, lacks, copies, .. } = self;
        let seats = copies.of(set, slot).iter().filter_map(|copy| seat_of(set, ledger, copy.member));
        let mut lacking = seats.filter(|at| lacks[*at] > 0);
        lacking.find(|at| !set.bars(ledger.problem, slot, set.takers[*at]))
    }

    /// Lets members that have to give do so where the other has a copy, such as one that comes back.
    fn hand_back(&mut self) {
        let idle = self.spare.iter().all(|spare| *spare == 0) || self.lacks.iter().all(|lacks| *lacks == 0);
        if idle || !self.ledger.problem.has_standbys() {
            return;
        }
        for slot in 0..self.set.slots {
            let Some(from) = self.giver(slot) else { continue };
            if let Some(to) = self.heir(slot) {
                self.spare[from] -= 1;
                self.take(slot, to);
            }
        }
    }

    /// The seat that has `slot` if it has to give slots and can give this one.
    fn giver(&self, slot: u32) -> Option<usize> {
        let Slot::At(member) = self.slots[slot as usize] else { return None };
        self.seat_of(member).filter(|at| self.spare[*at] > 0)
    }

    /// Deals the `cold` slots, and what is above any member's share, in turn to who is to take slots.
    fn deal_round(&mut self, cold: &[u32]) {
        if self.lacks.iter().all(|lacks| *lacks == 0) {
            return;
        }
        let mut round: Vec<usize> = (0..self.lacks.len()).filter(|at| self.lacks[*at] > 0).collect();
        let mut pool: Vec<(u32, Option<usize>)> = cold.iter().map(|slot| (*slot, None)).collect();
        self.strip(&round, &mut pool);
        pool.sort_unstable();
        let mut turn = 0;
        for (slot, from) in pool {
            let Some(next) = self.next(slot, &round, turn) else { continue };
            let to = round[next];
            from.into_iter().for_each(|from| self.spare[from] -= 1);
            self.take(slot, to);
            turn = next + 1;
            if self.lacks[to] == 0 {
                round.remove(next);
                turn = next;
            }
        }
    }

    /// The place in `round`, from `turn` on, of a seat that may take `slot`.
    fn next(&self, slot: u32, round: &[usize], turn: usize) -> Option<usize> {
        let places = (0..round.len()).map(|step| (turn + step) % round.len());
        let may = |place: &usize| !self.set.bars(self.ledger.problem, slot, self.set.takers[round[*place]]);
        places.into_iter().find(may)
    }

    /// Adds what is above the shares: what went to its owner cold just now, then what it had, then
    /// what it had copies of; of each the highest slots that any in `round` may take.
    fn strip(&self, round: &[usize], pool: &mut Vec<(u32, Option<usize>)>) {
        let mut spare = self.spare.clone();
        for tie in [Tie::None, Tie::Owned, Tie::Copied] {
            if spare.iter().all(|spare| *spare == 0) {
                return;
            }
            for slot in (0..self.set.slots).rev() {
                let Some(from) = self.giver(slot).filter(|from| spare[*from] > 0) else { continue };
                if self.tie(slot) == tie && self.next(slot, round, 0).is_some() {
                    spare[from] -= 1;
                    pool.push((slot, Some(from)));
                }
            }
        }
    }

    /// The tie of `slot` to its owner.
    fn tie(&self, slot: u32) -> Tie {
        let Slot::At(owner) = self.slots[slot as usize] else { return Tie::None };
        let problem = self.ledger.problem;
        let has_copy = |unit: UnitIndex| problem.standbys(unit).iter().any(|copy| copy.member == owner);
        let mut units = self.set.units(slot);
        if self.set.units(slot).any(|unit| problem.current(unit) == Some(owner)) {
            Tie::Owned
        } else if units.any(has_copy) {
            Tie::Copied
        } else {
            Tie::None
        }
    }

    fn take(&mut self, slot: u32, at: usize) {
        self.lacks[at] -= 1;
        self.put(slot, at);
    }

    fn put(&mut self, slot: u32, at: usize) {
        let member = self.set.takers[at];
        for unit in self.set.units(slot) {
            self.ledger.give(unit, member);
        }
        let former = std::mem::replace(&mut self.slots[slot as usize], Slot::At(member));
        if let Slot::At(former) = former
            && let Some(former) = self.seat_of(former)
        {
            self.seats[former].give_one(self.set.size());
        }
        self.seats[at].take_one(self.set.size());
        self.dealt += 1;
    }

    /// Passes open slots on to members whose copies are less behind, where that is as balanced: of
    /// equal members any could have had what is left over.
    fn pass_on(&mut self, open: &[u32]) {
        for slot in open {
            let Slot::At(owner) = self.slots[*slot as usize] else { continue };
            let Some(from) = self.seat_of(owner) else { continue };
            if let Some(to) = self.nearer(*slot, from) {
                self.put(*slot, to);
            }
        }
    }

    /// The seat with a copy of `slot` that is less behind than that of `from`, if that has any, and
    /// that makes the balance no worse.
    fn nearer(&mut self, slot: u32, from: usize) -> Option<usize> {
        let Self { set, ledger, seats, copies, .. } = self;
        let gain = seats[from].gives(set.size());
        let nearer =
            copies.of(set, slot).iter().map(|copy| copy.member).take_while(|it| *it != set.takers[from]);
        let as_good = |at: &usize| seats[*at].takes(set.size()).is_some_and(|cost| Some(cost) <= gain);
        let mut able = nearer.filter_map(|member| seat_of(set, ledger, member)).filter(as_good);
        able.find(|at| !set.bars(ledger.problem, slot, set.takers[*at]))
    }

    /// Lets a member with a warm copy of a slot that went elsewhere have it for one of its own. So
    /// a slot that lost its owner goes on at once, and the other can be warmed while its owner works.
    fn exchange(&mut self, cold: &[u32]) {
        let mut stock = None;
        for slot in cold {
            let Slot::At(taker) = self.slots[*slot as usize] else { continue };
            let warm = self.warm(*slot, taker);
            if warm.is_empty() {
                continue;
            }
            let stock = stock.get_or_insert_with(|| self.stock());
            let found = warm.into_iter().find_map(|warm| Some((warm, self.ransom(&stock[warm], taker)?)));
            if let Some((warm, own)) = found {
                let own = stock[warm].remove(own);
                self.put(own, self.seat_of(taker).expect("it took a slot"));
                self.put(*slot, warm);
            }
        }
    }

    /// The seats that have warm copies of `slot`, unless `taker` has one itself.
    fn warm(&mut self, slot: u32, taker: MemberIndex) -> Vec<usize> {
        let Self { set, ledger, copies, .. } = self;
        let is_warm = |copy: &&Copy| copy.is_warm(ledger.problem);
        let warm = copies.of(set, slot).iter().take_while(is_warm).map(|copy| copy.member);
        if warm.clone().any(|member| member == taker) {
            return Vec::new();
        }
        let able = warm.filter(|member| !set.bars(ledger.problem, slot, *member));
        able.filter_map(|member| seat_of(set, ledger, member)).collect()
    }

    /// By seat: the slots that it has and had, ascending.
    fn stock(&self) -> Vec<Vec<u32>> {
        let mut stock = vec![Vec::new(); self.seats.len()];
        for slot in 0..self.set.slots {
            let Slot::At(owner) = self.slots[slot as usize] else { continue };
            if self.tie(slot) == Tie::Owned
                && let Some(at) = self.seat_of(owner)
            {
                stock[at].push(slot);
            }
        }
        stock
    }

    /// The one of the slots in `stock` that goes to `taker` instead: one that it has a copy of, or the highest.
    fn ransom(&self, stock: &[u32], taker: MemberIndex) -> Option<usize> {
        let problem = self.ledger.problem;
        let last = stock.len().saturating_sub(LOOKED_AT)..stock.len();
        let may = |at: &usize| !self.set.bars(problem, stock[*at], taker);
        let has_copy = |at: &usize| {
            let mut copies = self.set.units(stock[*at]).flat_map(|unit| problem.standbys(unit));
            copies.any(|copy| copy.member == taker)
        };
        let mut able = last.rev().filter(may);
        able.clone().find(has_copy).or_else(|| able.next())
    }
}

/// The position of `member` among the takers of `set`.
fn seat_of(set: &CopartitionedSet, ledger: &Ledger<'_>, member: MemberIndex) -> Option<usize> {
    place_of(&set.takers, ledger.problem.members().len() - set.takers.len(), member)
}

/// The reason why a slot stays with its owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tie {
    /// Nothing but that it was dealt to it just now.
    None,
    /// It owns it today.
    Owned,
    /// It has a copy of its state.
    Copied,
}
