//! Moves and swaps between members that are out of tolerance and others, as long as that helps.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::scales::{Level, Scales};
use crate::balanced::roles::Role;
use crate::{MemberIndex, UnitIndex};

/// With how many members a member tries to trade: the lightest if it has too much, else the heaviest. Where no unit
/// fits between these, one between others hardly does.
const PARTNERS: usize = 32;

/// How many units may be looked at for swaps: about a second's worth.
const MOST_LOOKS: usize = 100_000_000;

/// Trades until everybody is within tolerance or no trade helps.
///
/// It ends: a trade helps if it lowers the higher of the two levels, so that the levels, sorted from the highest down,
/// become smaller in the order of a dictionary. It stops earlier after [`MOST_LOOKS`], which only problems made to be
/// hard come near.
pub(super) fn improve(scales: &mut Scales<'_>) {
    let levels = Levels::of(scales);
    if levels.all_within(scales, |_| 0) {
        return;
    }
    let mut market = Market::of(scales, levels);
    while market.trade() {}
}

/// The members that take and give, by level.
struct Levels(BTreeSet<(Level, MemberIndex)>);

impl Levels {
    fn of(scales: &Scales<'_>) -> Self {
        let takers =
            scales.problem.member_indices().filter(|member| scales.roles.role(*member) == Role::Takes);
        Self(takers.map(|member| (scales.level(member), member)).collect())
    }

    fn all_within(&self, scales: &Scales<'_>, heaviest: impl Fn(MemberIndex) -> Level) -> bool {
        let is_low = self.0.first().is_some_and(|(level, _)| *level < scales.target.low());
        !is_low && self.0.iter().rev().all(|(level, member)| *level <= scales.target.high(heaviest(*member)))
    }
}

/// Units of one member and class, the lightest first.
#[derive(Clone, Debug, Default)]
struct Shelf {
    class: u32,
    units: Vec<(u64, UnitIndex)>,
}

/// A unit that moves from one member to another, and perhaps one that moves back.
#[derive(Clone, Copy, Debug)]
struct Trade {
    /// The higher of the two levels afterwards.
    level: Level,
    unit: UnitIndex,
    back: Option<UnitIndex>,
    giver: MemberIndex,
    taker: MemberIndex,
}

struct Market<'s, 'a> {
    scales: &'s mut Scales<'a>,
    levels: Levels,
    /// By member: the units that it can give, by class.
    shelves: Vec<Vec<Shelf>>,
    /// By member: the weight of the heaviest unit that it has and cannot give.
    heaviest_kept: Vec<u64>,
    /// How many units may still be looked at.
    looks: Cell<usize>,
}

impl<'s, 'a> Market<'s, 'a> {
    fn of(scales: &'s mut Scales<'a>, levels: Levels) -> Self {
        let members = scales.problem.members().len();
        let mut market = Self {
            scales,
            levels,
            shelves: vec![Vec::new(); members],
            heaviest_kept: vec![0; members],
            looks: Cell::new(MOST_LOOKS),
        };
        market.stock();
        market
    }

    fn stock(&mut self) {
        let mut units: Vec<(u32, u64, UnitIndex)> = Vec::with_capacity(self.scales.problem.units());
        for unit in self.scales.problem.unit_indices() {
            units.push((self.scales.class_of[unit.index()], self.scales.weight(unit), unit));
        }
        units.sort_unstable();
        for (class, weight, unit) in units {
            let Some(owner) = self.scales.owner[unit.index()] else { continue };
            if self.scales.is_free[unit.index()] && self.scales.roles.role(owner) == Role::Takes {
                self.shelf(owner, class).units.push((weight, unit));
            } else {
                self.heaviest_kept[owner.index()] = self.heaviest_kept[owner.index()].max(weight);
            }
        }
    }

    /// The level to which its heaviest unit alone brings `member`.
    fn heaviest(&self, member: MemberIndex) -> Level {
        let free = self.shelves[member.index()].iter().filter_map(|shelf| shelf.units.last());
        let heaviest = free.map(|(weight, _)| *weight).max().unwrap_or(0);
        self.scales.level_of(member, heaviest.max(self.heaviest_kept[member.index()]))
    }

    fn shelf(&mut self, member: MemberIndex, class: u32) -> &mut Shelf {
        let shelves = &mut self.shelves[member.index()];
        let position = shelves.partition_point(|shelf| shelf.class < class);
        if shelves.get(position).is_none_or(|shelf| shelf.class != class) {
            shelves.insert(position, Shelf { class, units: Vec::new() });
        }
        &mut shelves[position]
    }

    /// Makes the first trade that helps somebody who is out of tolerance; false if none is found.
    fn trade(&mut self) -> bool {
        if self.looks.get() == 0 {
            return false;
        }
        let trade = self.relief().or_else(|| self.supply());
        if let Some(trade) = trade {
            self.carry_out(trade);
        }
        trade.is_some()
    }

    /// A trade for the heaviest member above its target that has one.
    fn relief(&self) -> Option<Trade> {
        let heavy = self.levels.0.iter().rev().map(|(_, member)| *member);
        let least = self.scales.target.high(0);
        heavy
            .take_while(|member| self.scales.level(*member) > least)
            .filter(|member| self.scales.level(*member) > self.scales.target.high(self.heaviest(*member)))
            .find_map(|giver| {
                let takers = self.levels.0.iter().map(|(_, taker)| *taker).filter(|taker| *taker != giver);
                self.best(takers.map(|taker| (giver, taker)))
            })
    }

    /// A trade for the lightest member below its target that has one.
    fn supply(&self) -> Option<Trade> {
        let light = self.levels.0.iter().map(|(_, member)| *member);
        let low = self.scales.target.low();
        light.take_while(|member| self.scales.level(*member) < low).find_map(|taker| {
            let givers = self.levels.0.iter().rev().map(|(_, giver)| *giver).filter(|giver| *giver != taker);
            self.best(givers.map(|giver| (giver, taker)))
        })
    }

    /// The first of some pairs between whom a move helps; else the best swap between any of them.
    fn best(&self, pairs: impl Iterator<Item = (MemberIndex, MemberIndex)>) -> Option<Trade> {
        let helpful = |(giver, taker): &(MemberIndex, MemberIndex)| {
            self.scales.level(*taker) < self.scales.level(*giver)
        };
        let pairs: Vec<_> = pairs.take_while(helpful).take(PARTNERS).collect();
        let moves = pairs.iter().find_map(|(giver, taker)| self.best_move(*giver, *taker));
        moves.or_else(|| {
            let swaps = pairs.iter().filter_map(|(giver, taker)| self.best_swap(*giver, *taker));
            swaps.min_by_key(|trade| (trade.level, trade.unit))
        })
    }

    /// How much weight should change hands for both to be level.
    fn ideal(&self, giver: MemberIndex, taker: MemberIndex) -> u64 {
        let [give, take] = [giver, taker]
            .map(|member| u128::from(self.scales.problem.member(member).capacity.thousandths()));
        let [has, lacks] = [giver, taker].map(|member| u128::from(self.scales.carried(member)));
        let surplus = (has * take).saturating_sub(lacks * give);
        u64::try_from(surplus / (give + take)).expect("it is no more than the giver has")
    }

    /// The unit whose move brings the two closest, if one does.
    fn best_move(&self, giver: MemberIndex, taker: MemberIndex) -> Option<Trade> {
        if !self.scales.has_room(taker) {
            return None;
        }
        let ideal = self.ideal(giver, taker);
        let shelves =
            self.shelves[giver.index()].iter().filter(|shelf| self.scales.takes(taker, shelf.class));
        let nearest = shelves.flat_map(|shelf| {
            let at = shelf.units.partition_point(|(weight, _)| *weight <= ideal);
            let below = at.checked_sub(1).map(|below| shelf.units[below]);
            [below, shelf.units.get(at).copied()].into_iter().flatten()
        });
        nearest
            .filter_map(|(_, unit)| self.weigh(giver, taker, unit, None))
            .min_by_key(|trade| (trade.level, trade.unit))
    }

    /// The swap that brings the two closest, if one does.
    fn best_swap(&self, giver: MemberIndex, taker: MemberIndex) -> Option<Trade> {
        let looks = [giver, taker]
            .map(|member| self.shelves[member.index()].iter().map(|shelf| shelf.units.len()).sum());
        self.looks.set(self.looks.get().saturating_sub(looks.iter().sum::<usize>()));
        let ideal = self.ideal(giver, taker);
        let giving = self.shelves[giver.index()].iter().filter(|shelf| self.scales.takes(taker, shelf.class));
        giving
            .flat_map(|shelf| {
                let backs =
                    self.shelves[taker.index()].iter().filter(|back| self.scales.takes(giver, back.class));
                backs.filter_map(move |back| self.best_of(giver, taker, shelf, back, ideal))
            })
            .min_by_key(|trade| (trade.level, trade.unit))
    }

    /// For each unit the one to swap it for whose weight differs by about `ideal`: both shelves are sorted, so one
    /// walk along both finds them all.
    fn best_of(
        &self,
        giver: MemberIndex,
        taker: MemberIndex,
        shelf: &Shelf,
        back: &Shelf,
        ideal: u64,
    ) -> Option<Trade> {
        let mut at = 0;
        let mut best: Option<Trade> = None;
        for (weight, unit) in &shelf.units {
            let Some(wanted) = weight.checked_sub(ideal) else { continue };
            while back.units.get(at).is_some_and(|(weight, _)| *weight < wanted) {
                at += 1;
            }
            let candidates = [at.checked_sub(1).map(|below| back.units[below]), back.units.get(at).copied()];
            for (_, other) in candidates.into_iter().flatten() {
                let trade = self.weigh(giver, taker, *unit, Some(other));
                best = [best, trade].into_iter().flatten().min_by_key(|trade| (trade.level, trade.unit));
            }
        }
        best
    }

    /// The trade, if it lowers the higher level of the two by enough to be worth it.
    fn weigh(
        &self,
        giver: MemberIndex,
        taker: MemberIndex,
        unit: UnitIndex,
        back: Option<UnitIndex>,
    ) -> Option<Trade> {
        let scales = &self.scales;
        let there = scales.weight(unit);
        let here = back.map_or(0, |back| scales.weight(back));
        let after_giver = scales.level_of(giver, scales.carried(giver) - there + here);
        let after_taker = scales.level_of(taker, scales.carried(taker) + there - here);
        let level = after_giver.max(after_taker);
        (level + scales.target.worthwhile() < scales.level(giver)).then_some(Trade {
            level,
            unit,
            back,
            giver,
            taker,
        })
    }

    fn carry_out(&mut self, trade: Trade) {
        let Trade { unit, back, giver, taker, .. } = trade;
        for member in [giver, taker] {
            self.levels.0.remove(&(self.scales.level(member), member));
        }
        self.hand_over(unit, giver, taker);
        if let Some(back) = back {
            self.hand_over(back, taker, giver);
        }
        for member in [giver, taker] {
            self.levels.0.insert((self.scales.level(member), member));
        }
    }

    fn hand_over(&mut self, unit: UnitIndex, giver: MemberIndex, taker: MemberIndex) {
        let (class, entry) = (self.scales.class_of[unit.index()], (self.scales.weight(unit), unit));
        let shelf = self.shelf(giver, class);
        let position = shelf.units.binary_search(&entry).expect("the giver has it");
        shelf.units.remove(position);
        let shelf = self.shelf(taker, class);
        let position = shelf.units.binary_search(&entry).expect_err("the taker has it not");
        shelf.units.insert(position, entry);
        self.scales.take(unit);
        self.scales.put(unit, taker);
    }
}
