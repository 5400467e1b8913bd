//! The standbys of one set while they are placed: [`Backups`].

use super::chain;
use super::copartitioned_set::{CopartitionedSet, place_of};
use super::copies::Copies;
use super::rings::Rings;
use super::seat::{self, Seat};
use crate::ledger::Ledger;
use crate::{MemberIndex, MemberState, Problem, RackIndex};

/// The holders of the copies of each slot of a set.
pub(super) struct Backups<'a, 'p> {
    pub(super) set: &'a CopartitionedSet,
    ledger: &'a Ledger<'p>,
    /// The takers that may hold copies, ascending.
    pub(super) members: Vec<MemberIndex>,
    /// The loads of the holders.
    pub(super) seats: Vec<Seat>,
    /// The most copies that a slot has.
    stride: usize,
    /// By slot: how many of the `stride` places in `holders` are taken.
    taken: Vec<usize>,
    holders: Vec<MemberIndex>,
}

impl<'a, 'p> Backups<'a, 'p> {
    /// Keeps copies where they are and finds members for those that are wanting. `load` says by
    /// member how many copies it holds over all sets.
    pub(super) fn fill(set: &'a CopartitionedSet, ledger: &'a Ledger<'p>, load: &mut [u32]) -> Self {
        let mut backups = Self::new(set, ledger);
        backups.keep(load);
        backups.refresh(load);
        let wanting: Vec<u32> = (0..set.slots).map(|slot| backups.wanting(slot)).collect();
        backups.share(wanting.iter().sum());
        backups.deal(&wanting);
        backups.write_back(load);
        backups
    }

    fn new(set: &'a CopartitionedSet, ledger: &'a Ledger<'p>) -> Self {
        let problem = ledger.problem;
        let takers = set.takers.iter().copied();
        let members: Vec<_> = takers.filter(|member| CopartitionedSet::may_copy(problem, *member)).collect();
        let stride = (set.standbys() as usize).min(problem.members().len());
        Self {
            set,
            ledger,
            seats: members.iter().map(|member| Seat::new(problem, *member, 0, u32::MAX)).collect(),
            members,
            stride,
            taken: vec![0; set.slots as usize],
            // An entry that is not taken is never read.
            holders: vec![MemberIndex::new(0); set.slots as usize * stride],
        }
    }

    pub(super) fn problem(&self) -> &'p Problem {
        self.ledger.problem
    }

    /// The members that hold copies of `slot`, who should take over soonest first.
    pub(super) fn of(&self, slot: u32) -> &[MemberIndex] {
        let first = slot as usize * self.stride;
        &self.holders[first..first + self.taken[slot as usize]]
    }

    fn push(&mut self, slot: u32, member: MemberIndex) {
        let taken = &mut self.taken[slot as usize];
        self.holders[slot as usize * self.stride + *taken] = member;
        *taken += 1;
    }

    fn is_full(&self, slot: u32) -> bool {
        self.taken[slot as usize] == self.stride
    }

    /// Keeps the copies there are, the nearest first; an owner that gives a slot keeps a copy if one
    /// is wanting.
    fn keep(&mut self, load: &mut [u32]) {
        let problem = self.ledger.problem;
        let mut copies = Copies::new(problem);
        for slot in 0..self.set.slots {
            let former = self.set.units(slot).next().and_then(|unit| problem.current(unit));
            let copies = copies.of(self.set, slot).iter().map(|copy| copy.member);
            for member in copies.chain(former) {
                if !self.is_full(slot) && self.may_keep(member) && self.allows(slot, member) {
                    self.push(slot, member);
                    load[member.index()] += self.set.copied();
                }
            }
        }
    }

    fn may_keep(&self, member: MemberIndex) -> bool {
        let problem = self.ledger.problem;
        match problem.member(member).state {
            MemberState::Active => self.seat_of(member).is_some(),
            MemberState::Hold => {
                CopartitionedSet::may_copy(problem, member)
                    && self.set.topics().all(|topic| problem.is_subscribed(topic, member))
            }
            MemberState::Draining => false,
        }
    }

    pub(super) fn seat_of(&self, member: MemberIndex) -> Option<usize> {
        let absent = self.problem().members().len() - self.members.len();
        place_of(&self.members, absent, member)
    }

    /// True if `member` may come to hold a copy of `slot`: it has none, owns none of it, and may own all of it.
    pub(super) fn allows(&self, slot: u32, member: MemberIndex) -> bool {
        !self.of(slot).contains(&member)
            && !self.owners(slot).any(|owner| owner == member)
            && !self.set.bars_copy(self.ledger.problem, slot, member)
    }

    /// The owners of the units of `slot`, once if all are the same.
    fn owners(&self, slot: u32) -> impl Iterator<Item = MemberIndex> {
        let mut last = None;
        self.set.units(slot).filter_map(move |unit| {
            let owner = self.ledger.owner(unit).filter(|owner| last != Some(*owner));
            last = owner.or(last);
            owner
        })
    }

    /// The number of copies more that `slot` can have.
    fn wanting(&self, slot: u32) -> u32 {
        let left = self.stride - self.taken[slot as usize];
        let able = self.members.iter().filter(|member| self.allows(slot, **member));
        u32::try_from(able.take(left).count()).expect("members are counted in u32")
    }

    /// Sets what each seat holds, here and over all sets.
    fn refresh(&mut self, load: &[u32]) {
        for seat in &mut self.seats {
            (seat.count, seat.load) = (0, load[seat.member.index()]);
        }
        for slot in 0..self.set.slots {
            for place in 0..self.taken[slot as usize] {
                let member = self.holders[slot as usize * self.stride + place];
                if let Some(at) = self.seat_of(member) {
                    self.seats[at].count += 1;
                }
            }
        }
        self.seats.iter_mut().for_each(|seat| seat.movable = seat.count);
    }

    fn write_back(&self, load: &mut [u32]) {
        self.seats.iter().for_each(|seat| load[seat.member.index()] = seat.load);
    }

    /// Sets the fair shares of what is held and `wanting`.
    fn share(&mut self, wanting: u32) {
        if !self.seats.is_empty() {
            let held: u32 = self.seats.iter().map(|seat| seat.count).sum();
            seat::share(&mut self.seats, held + wanting);
        }
    }

    /// Finds holders for the copies that are `wanting`, by slot.
    fn deal(&mut self, wanting: &[u32]) {
        let mut shares = self.seats.clone();
        seat::fill(&mut shares, self.set.copied(), wanting.iter().sum());
        let more = shares.iter().zip(&self.seats).map(|(after, before)| after.count - before.count);
        let mut rings = Rings::new(self.problem(), &self.members, more.collect());
        let mut used = Vec::new();
        let mut dealt = vec![0; self.ledger.problem.members().len()];
        for (slot, wanting) in (0..).zip(wanting) {
            for _ in 0..*wanting {
                let turn = self.turn(slot, &mut dealt, rings.len());
                self.note_racks(slot, &mut used);
                let allowed = |at: usize| self.allows(slot, self.members[at]);
                let at = rings.pick(turn, &used, allowed).or_else(|| self.cheapest(slot));
                self.push_at(slot, at.expect("as many are wanting as are allowed"));
            }
        }
    }

    /// The ring to look in first: that of the member after the owner of `slot`, and for each of the owner's copies one
    /// further on, or one further in each rack. So its copies are spread over many.
    fn turn(&self, slot: u32, dealt: &mut [usize], rings: usize) -> usize {
        let Some(owner) = self.owners(slot).next() else { return slot as usize };
        let nth = dealt[owner.index()];
        dealt[owner.index()] += 1;
        let after = self.members.partition_point(|member| *member <= owner);
        after + nth / rings.saturating_sub(1).max(1)
    }

    /// Makes `racks` those that `slot` is in.
    pub(super) fn note_racks(&self, slot: u32, racks: &mut Vec<RackIndex>) {
        racks.clear();
        let problem = self.problem();
        if !problem.racks().is_empty() {
            let members = self.owners(slot).chain(self.of(slot).iter().copied());
            racks.extend(members.filter_map(|member| problem.member(member).rack));
        }
    }

    /// The seat that a copy of `slot` costs least, whatever its share. Levelling would put any other choice right as
    /// well, copy by copy.
    fn cheapest(&self, slot: u32) -> Option<usize> {
        let allowed = (0..self.seats.len()).filter(|at| self.allows(slot, self.members[*at]));
        allowed.min_by_key(|at| self.seats[*at].takes(self.set.copied()))
    }

    fn push_at(&mut self, slot: u32, at: usize) {
        self.push(slot, self.seats[at].member);
        self.seats[at].take_one(self.set.copied());
    }

    /// Moves copies until no move, nor chain of moves, makes the balance better; whether any moved.
    pub(super) fn level(&mut self, load: &mut [u32]) -> bool {
        self.seats.iter_mut().for_each(|seat| seat.load = load[seat.member.index()]);
        let moved = chain::level(self);
        self.write_back(load);
        moved
    }

    /// Passes the copy of `slot` from the seat `from` to the seat `to`, which comes last in order.
    pub(super) fn pass(&mut self, slot: u32, from: usize, to: usize) {
        let (giver, taker) = (self.seats[from].member, self.seats[to].member);
        let first = slot as usize * self.stride;
        let holders = &mut self.holders[first..first + self.taken[slot as usize]];
        let at = holders.iter().position(|member| *member == giver).expect("it holds what it gives");
        holders[at..].rotate_left(1);
        holders[holders.len() - 1] = taker;
        self.seats[from].give_one(self.set.copied());
        self.seats[to].take_one(self.set.copied());
    }

    /// By seat: the slots that it holds copies of, ascending.
    pub(super) fn held(&self) -> Vec<Vec<u32>> {
        let mut held: Vec<_> =
            self.seats.iter().map(|seat| Vec::with_capacity(seat.count as usize)).collect();
        for slot in 0..self.set.slots {
            for at in self.of(slot).iter().filter_map(|member| self.seat_of(*member)) {
                held[at].push(slot);
            }
        }
        held
    }
}
