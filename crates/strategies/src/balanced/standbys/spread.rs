//! Standbys that move because two copies are in one rack, or because some member holds too many.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::StandbyTable;
use crate::{MemberIndex, UnitIndex};

/// The number of standbys that may be looked at: about half a second's worth, which only problems made to be hard need.
const MOST_LOOKS: usize = 20_000_000;
/// The number of members of a rack that are tried, from the one that holds the fewest.
const TRIES: usize = 16;

/// Moves standbys while that helps.
///
/// It ends: each move lowers the number of copies that share a rack, or keeps it and lowers the sum of the squared
/// levels.
pub(super) fn spread(copies: &mut StandbyTable<'_>) {
    let mut spreading = Spreading::new(copies);
    loop {
        let any = spreading.part() | spreading.even_out();
        if !any || spreading.looks == 0 {
            return;
        }
    }
}

struct Spreading<'c, 'a> {
    copies: &'c mut StandbyTable<'a>,
    /// By unit: the number of its class.
    class_of: Vec<u32>,
    /// By member: the places it has.
    held: Vec<Vec<u32>>,
    /// The members that may hold anything, by rack (the last for none): the one that holds the fewest first.
    racks: Vec<BTreeSet<(u64, MemberIndex)>>,
    /// The same of all racks together.
    levels: BTreeSet<(u64, MemberIndex)>,
    looks: usize,
}

impl<'c, 'a> Spreading<'c, 'a> {
    fn new(copies: &'c mut StandbyTable<'a>) -> Self {
        let mut class_of = vec![0; copies.problem.units()];
        for (number, class) in (0..).zip(&copies.classes.classes) {
            class.unit_indices().for_each(|unit| class_of[unit.index()] = number);
        }
        let mut held = vec![Vec::new(); copies.problem.members().len()];
        for (place, holder) in (0..).zip(&copies.places) {
            if let Some(holder) = holder {
                held[holder.index()].push(place);
            }
        }
        let racks = vec![BTreeSet::new(); copies.problem.racks().len() + 1];
        let mut spreading =
            Self { copies, class_of, held, racks, levels: BTreeSet::new(), looks: MOST_LOOKS };
        for member in spreading.copies.problem.active() {
            spreading.enter(member);
        }
        spreading
    }

    fn rack(&self, member: MemberIndex) -> usize {
        self.copies.rack(member).map_or(self.racks.len() - 1, crate::RackIndex::index)
    }

    fn capacity(&self, member: MemberIndex) -> u64 {
        u64::from(self.copies.problem.member(member).capacity.thousandths())
    }

    fn held(&self, member: MemberIndex) -> u64 {
        u64::from(self.copies.held[member.index()])
    }

    fn level(&self, member: MemberIndex) -> u64 {
        self.copies.level(member)
    }

    fn enter(&mut self, member: MemberIndex) {
        let (rack, entry) = (self.rack(member), (self.level(member), member));
        self.racks[rack].insert(entry);
        self.levels.insert(entry);
    }

    fn leave(&mut self, member: MemberIndex) {
        let (rack, entry) = (self.rack(member), (self.level(member), member));
        self.racks[rack].remove(&entry);
        self.levels.remove(&entry);
    }

    /// True if `taker` would hold fewer for its capacity than `giver` does now, with `more` more.
    fn is_below(&self, taker: MemberIndex, giver: MemberIndex, more: u64) -> bool {
        let [taken, given] = [
            u128::from(self.held(taker) + more) * u128::from(self.capacity(giver)),
            u128::from(self.held(giver)) * u128::from(self.capacity(taker)),
        ];
        if more == 0 { taken <= given } else { taken < given }
    }

    fn look(&mut self) -> ControlFlow<()> {
        self.looks = self.looks.saturating_sub(1);
        if self.looks == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn unit_of(&self, place: usize) -> UnitIndex {
        UnitIndex::new(self.copies.first.partition_point(|first| *first as usize <= place) - 1)
    }

    fn may_hold(&self, unit: UnitIndex, member: MemberIndex) -> bool {
        let class = &self.copies.classes.classes[self.class_of[unit.index()] as usize];
        self.copies.may_hold(class, unit, member)
    }

    /// Takes copies apart that are in one rack. Returns whether any moved.
    fn part(&mut self) -> bool {
        let mut any = false;
        if self.copies.problem.racks().is_empty() {
            return any;
        }
        for unit in self.copies.problem.unit_indices() {
            for place in self.copies.range(unit) {
                any |= self.part_from_others(unit, place);
            }
        }
        any
    }

    /// Moves the copy at `place` if another is in its rack. Returns whether it did.
    fn part_from_others(&mut self, unit: UnitIndex, place: usize) -> bool {
        let giver = self.copies.places[place];
        let gives = |giver: &MemberIndex| {
            !self.copies.is_on_hold(*giver) && self.copies.company(unit, place, *giver) > 0
        };
        let Some(giver) = giver.filter(gives) else { return false };
        let taker = self.elsewhere(unit, place, giver);
        taker.into_iter().for_each(|taker| self.hand_over(place, giver, taker));
        taker.is_some()
    }

    /// The member with the fewest standbys, and no more than `giver`, among those in racks without a copy of `unit`.
    fn elsewhere(&mut self, unit: UnitIndex, place: usize, giver: MemberIndex) -> Option<MemberIndex> {
        let mut best: Option<(u64, MemberIndex)> = None;
        for rack in 0..self.racks.len() {
            if self.look().is_break() {
                return None;
            }
            let mut few = self.racks[rack].iter().take(TRIES);
            let found = few.find(|(_, member)| {
                self.is_below(*member, giver, 0)
                    && self.copies.company(unit, place, *member) == 0
                    && self.may_hold(unit, *member)
            });
            best = [best, found.copied()].into_iter().flatten().min();
        }
        best.map(|(_, member)| member)
    }

    /// Lets members that hold more give to members that hold fewer. Returns whether any moved.
    fn even_out(&mut self) -> bool {
        let mut takers = self.levels.clone();
        let mut any = false;
        while let Some((_, taker)) = takers.pop_first() {
            let Some((place, giver)) = self.offer(taker) else { continue };
            takers.remove(&(self.level(giver), giver));
            self.hand_over(place, giver, taker);
            takers.insert((self.level(giver), giver));
            takers.insert((self.level(taker), taker));
            any = true;
        }
        any
    }

    /// A place that `taker` should have, and who has it: of the member that holds the most.
    fn offer(&mut self, taker: MemberIndex) -> Option<(usize, MemberIndex)> {
        let mut fullest = self.levels.last().copied();
        while let Some((level, giver)) = fullest.filter(|(_, giver)| self.is_below(taker, *giver, 1)) {
            fullest = self.levels.range(..(level, giver)).next_back().copied();
            for at in 0..self.held[giver.index()].len() {
                if self.look().is_break() {
                    return None;
                }
                let place = self.held[giver.index()][at] as usize;
                let unit = self.unit_of(place);
                let company = |member| self.copies.company(unit, place, member);
                if self.may_hold(unit, taker) && company(taker) <= company(giver) {
                    return Some((place, giver));
                }
            }
        }
        None
    }

    fn hand_over(&mut self, place: usize, giver: MemberIndex, taker: MemberIndex) {
        self.leave(giver);
        self.leave(taker);
        self.copies.places[place] = Some(taker);
        self.copies.held[giver.index()] -= 1;
        self.copies.held[taker.index()] += 1;
        let number = u32::try_from(place).expect("standbys are counted in u32");
        let places = &mut self.held[giver.index()];
        let position = places.iter().position(|other| *other == number).expect("the giver has it");
        places.swap_remove(position);
        self.looks = self.looks.saturating_sub(position);
        self.held[taker.index()].push(number);
        self.enter(giver);
        self.enter(taker);
    }
}
