//! Moves and swaps between members that are out of tolerance and others, as long as that helps.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::by_weight::{GivableUnits, UnitsByWeight};
use super::scales::{Level, Scales};
use super::target::LevelRange;
use crate::{MemberIndex, UnitIndex};

/// With how many members a member tries to trade: of those that can, the lightest if it has too much, else the
/// heaviest. Where no unit fits between these, one between others hardly does.
const PARTNERS: usize = 32;

/// The number of lists and units that may be looked at: about a second's worth.
const MOST_LOOKS: u64 = 100_000_000;

/// Trades until every member is within tolerance or no trade helps.
///
/// It ends: a trade helps if it lowers the higher of the two levels, so that the levels, sorted from the highest down,
/// become smaller in the order of a dictionary. So does a move of many light units, which together weigh no more than
/// makes the two level: the giver's level remains the higher one. It stops earlier after [`MOST_LOOKS`], which only
/// problems made to be hard come near. Components share these by their units, and what one leaves goes to the others.
pub(super) fn improve(scales: &mut Scales<'_>) {
    let uneven: Vec<usize> =
        (0..scales.targets.len()).filter(|component| Component::is_uneven(scales, *component)).collect();
    if uneven.is_empty() {
        return;
    }
    let sizes: Vec<u64> = uneven.iter().map(|component| Component::units(scales, *component)).collect();
    let (mut looks, mut left) = (MOST_LOOKS, sizes.iter().sum::<u64>());
    let mut givable = GivableUnits::of(scales);
    for (component, units) in uneven.into_iter().zip(sizes) {
        let share = (looks * units).checked_div(left).unwrap_or(0);
        let component = Component::of(scales, &givable, component);
        let mut search = LocalSearch { scales, givable: &mut givable, component, looks: Cell::new(share) };
        search.trade_out();
        looks -= share - search.looks.get();
        left -= units;
    }
}

/// Members by level, the lightest first.
type Levels = BTreeSet<(Level, MemberIndex)>;

/// Members that trade with each other.
struct Component {
    target: LevelRange,
    all: Levels,
    /// Those that have something to give.
    givers: Levels,
    /// Those that have not looked for a trade in vain since this round began, or have traded since.
    untried: Levels,
}

impl Component {
    /// True if any member of the component of that number is out of tolerance.
    fn is_uneven(scales: &Scales<'_>, number: usize) -> bool {
        let target = scales.targets[number];
        let within = |level: Level| (target.low()..=target.high(0)).contains(&level);
        !scales.components.members[number].iter().all(|member| within(scales.level(*member)))
    }

    /// The number of units of the members of the component of that number.
    fn units(scales: &Scales<'_>, number: usize) -> u64 {
        scales.components.members[number].iter().map(|member| u64::from(scales.count(*member))).sum()
    }

    /// The one of that number.
    fn of(scales: &Scales<'_>, givable: &GivableUnits, number: usize) -> Self {
        let members = scales.components.members[number].iter();
        let all: Levels = members.map(|member| (scales.level(*member), *member)).collect();
        let givers = all.iter().copied().filter(|(_, member)| givable.gives(*member)).collect();
        Self { target: scales.targets[number], untried: all.clone(), all, givers }
    }

    fn leave(&mut self, entry: (Level, MemberIndex)) {
        self.all.remove(&entry);
        self.givers.remove(&entry);
        self.untried.remove(&entry);
    }

    fn enter(&mut self, entry: (Level, MemberIndex), gives: bool) {
        self.all.insert(entry);
        self.untried.insert(entry);
        if gives {
            self.givers.insert(entry);
        }
    }
}

/// A unit that moves from one member to another, and perhaps one that moves back.
#[derive(Clone, Copy, Debug)]
struct TradeCandidate {
    /// The higher of the two levels afterwards.
    level: Level,
    unit: UnitIndex,
    back: Option<UnitIndex>,
    giver: MemberIndex,
    taker: MemberIndex,
}

/// The units that two members exchange.
#[derive(Debug)]
struct Transfer {
    giver: MemberIndex,
    taker: MemberIndex,
    units: Vec<UnitIndex>,
    back: Option<UnitIndex>,
}

impl From<TradeCandidate> for Transfer {
    fn from(trade: TradeCandidate) -> Self {
        let TradeCandidate { unit, back, giver, taker, .. } = trade;
        Self { giver, taker, units: vec![unit], back }
    }
}

struct LocalSearch<'m, 'a> {
    scales: &'m mut Scales<'a>,
    givable: &'m mut GivableUnits,
    component: Component,
    /// The number of looks that are left.
    looks: Cell<u64>,
}

impl LocalSearch<'_, '_> {
    /// Trades until a whole round has gone by in which no member that is out of tolerance finds a trade.
    fn trade_out(&mut self) {
        while self.round() {
            self.component.untried = self.component.all.clone();
        }
    }

    /// Lets every member that is out of tolerance look for trades, until each has looked in vain once since it last
    /// traded. Returns whether any member has traded.
    fn round(&mut self) -> bool {
        let mut has_traded = false;
        while let Some(deal) = self.relief().or_else(|| self.supply()) {
            self.carry_out(deal);
            has_traded = true;
        }
        has_traded
    }

    /// A trade for the heaviest member above its target that has one.
    fn relief(&mut self) -> Option<Transfer> {
        while let Some((level, giver)) = self.heavy() {
            let takers = self.component.all.iter().map(|(_, taker)| *taker);
            let deal = self.best(takers.map(|taker| (giver, taker)));
            if deal.is_some() {
                return deal;
            }
            self.component.untried.remove(&(level, giver));
        }
        None
    }

    /// A trade for the lightest member below its target that has one.
    fn supply(&mut self) -> Option<Transfer> {
        while let Some((level, taker)) = self.light() {
            let givers = self.component.givers.iter().rev().map(|(_, giver)| *giver);
            let deal = self.best(givers.map(|giver| (giver, taker)));
            if deal.is_some() {
                return deal;
            }
            self.component.untried.remove(&(level, taker));
        }
        None
    }

    /// The heaviest that is above its target and has hope. Heavier ones that have nothing to give, or owe their level
    /// to their heaviest unit, lose hope: neither changes before they trade.
    fn heavy(&mut self) -> Option<(Level, MemberIndex)> {
        while let Some(heaviest) = self.component.untried.last().copied() {
            let (level, _) = heaviest;
            if level <= self.component.target.high(0) {
                return None;
            }
            if self.can_be_relieved(heaviest) {
                return Some(heaviest);
            }
            self.component.untried.remove(&heaviest);
        }
        None
    }

    /// True if it has something to give, and its heaviest unit alone does not bring it to its level.
    fn can_be_relieved(&self, entry: (Level, MemberIndex)) -> bool {
        let (level, member) = entry;
        let heaviest = || self.scales.level_of(member, self.givable.heaviest(member));
        self.component.givers.contains(&entry) && level > self.component.target.high(heaviest())
    }

    /// The lightest that is below its target and has hope.
    fn light(&self) -> Option<(Level, MemberIndex)> {
        let lightest = self.component.untried.first().copied();
        lightest.filter(|(level, _)| *level < self.component.target.low())
    }

    /// The first of some pairs between whom a move helps, of one unit or else of several; else the best swap
    /// between any of them. Pairs that cannot trade do not count. Finds nothing more once there are no looks left.
    fn best(&self, pairs: impl Iterator<Item = (MemberIndex, MemberIndex)>) -> Option<Transfer> {
        let differs = |(giver, taker): &(MemberIndex, MemberIndex)| {
            self.may_look() && self.is_worth(*giver, self.scales.level(*taker))
        };
        let can = |(giver, taker): &(MemberIndex, MemberIndex)| self.can_trade(*giver, *taker);
        let pairs: Vec<_> = pairs.take_while(differs).filter(can).take(PARTNERS).collect();
        let pairs = || pairs.iter().copied().take_while(|_| self.may_look());
        let moves = pairs().find_map(|(giver, taker)| self.best_move(giver, taker));
        let parts = || pairs().find_map(|(giver, taker)| self.best_part(giver, taker));
        let swaps = || {
            let swaps = pairs().filter_map(|(giver, taker)| self.best_swap(giver, taker));
            swaps.min_by_key(|trade| (trade.level, trade.unit)).map(Transfer::from)
        };
        moves.map(Transfer::from).or_else(parts).or_else(swaps)
    }

    /// True if a trade between them could be worth it: they are far enough apart, `taker` may take units of `giver`
    /// that could be heavy enough together, and has room or something that `giver` may take for one.
    fn can_trade(&self, giver: MemberIndex, taker: MemberIndex) -> bool {
        self.look(1);
        let level = |weight| self.scales.level_of(giver, weight);
        let least = self.component.target.worthwhile();
        // One more than whole thousandths of weight that would make them level: no trade leaves both below this.
        let beyond = || self.scales.carried(giver).saturating_sub(self.ideal(giver, taker) + 1);
        self.offers(giver, taker).any(|list| level(list.at_most()) >= least)
            && self.is_worth(giver, level(beyond()))
            && (self.scales.has_room(taker) || self.can_swap(giver, taker))
    }

    /// True if the taker has anything for the giver, and neither has more than its limit.
    fn can_swap(&self, giver: MemberIndex, taker: MemberIndex) -> bool {
        let is_over = [giver, taker].into_iter().any(|member| self.scales.is_over(member));
        !is_over && self.offers(taker, giver).next().is_some()
    }

    /// The units of `giver` that `taker` may take.
    fn offers(&self, giver: MemberIndex, taker: MemberIndex) -> impl Iterator<Item = &UnitsByWeight> {
        let lists = self.givable.of_member(giver);
        lists.iter().filter(move |list| {
            self.look(1);
            !list.units.is_empty() && self.scales.takes(taker, list.class)
        })
    }

    /// True if any looks are left.
    fn may_look(&self) -> bool {
        self.looks.get() > 0
    }

    fn look(&self, looks: usize) {
        self.looks.set(self.looks.get().saturating_sub(looks as u64));
    }

    /// The weight that would have to move for both to be level.
    fn ideal(&self, giver: MemberIndex, taker: MemberIndex) -> u64 {
        let [give, take] = [giver, taker]
            .map(|member| u128::from(self.scales.problem.member(member).capacity.thousandths()));
        let [has, lacks] = [giver, taker].map(|member| u128::from(self.scales.carried(member)));
        let surplus = (has * take).saturating_sub(lacks * give);
        u64::try_from(surplus / (give + take)).expect("it is no more than the giver has")
    }

    /// The unit whose move brings the two closest, if one does; of two such the lighter, which costs less to move.
    fn best_move(&self, giver: MemberIndex, taker: MemberIndex) -> Option<TradeCandidate> {
        if !self.scales.has_room(taker) {
            return None;
        }
        let ideal = self.ideal(giver, taker);
        let nearest = self.offers(giver, taker).flat_map(|list| {
            let at = list.units.partition_point(|(weight, _)| *weight <= ideal);
            let below = at.checked_sub(1).map(|below| list.units[below]);
            [below, list.units.get(at).copied()].into_iter().flatten()
        });
        nearest
            .filter_map(|(_, unit)| self.weigh(giver, taker, unit, None))
            .min_by_key(|trade| (trade.level, self.scales.weight(trade.unit), trade.unit))
    }

    /// Several units that bring the two closer together, if they do by enough to be worth it: each alone may be too
    /// light for that. Together they are no heavier than what should change hands, so that they help.
    fn best_part(&self, giver: MemberIndex, taker: MemberIndex) -> Option<Transfer> {
        let ideal = self.ideal(giver, taker);
        let light = self.offers(giver, taker).flat_map(|list| {
            let light = list.units.partition_point(|(weight, _)| *weight <= ideal);
            list.units[..light].iter().rev()
        });
        let (mut sum, mut room) = (0, self.scales.room(taker));
        let mut units = Vec::new();
        for (weight, unit) in light {
            self.look(1);
            if room == 0 || sum + weight > ideal {
                continue;
            }
            (sum, room) = (sum + weight, room - 1);
            units.push(*unit);
            let level = self.scales.level_of(giver, self.scales.carried(giver) - sum);
            if self.is_worth(giver, level) {
                return Some(Transfer { giver, taker, units, back: None });
            }
        }
        None
    }

    /// The swap that brings the two closest, if one does.
    fn best_swap(&self, giver: MemberIndex, taker: MemberIndex) -> Option<TradeCandidate> {
        if !self.can_swap(giver, taker) {
            return None;
        }
        let ideal = self.ideal(giver, taker);
        let pairs = self
            .offers(giver, taker)
            .flat_map(|list| self.offers(taker, giver).map(move |back| (list, back)));
        pairs
            .take_while(|_| self.may_look())
            .filter_map(|(list, back)| self.best_of(giver, taker, list, back, ideal))
            .min_by_key(|trade| (trade.level, trade.unit))
    }

    /// For each unit the one to swap it for whose weight differs by about `ideal`, or the lightest if none is that much
    /// lighter: both lists are sorted, so one walk along both finds them all.
    fn best_of(
        &self,
        giver: MemberIndex,
        taker: MemberIndex,
        list: &UnitsByWeight,
        back: &UnitsByWeight,
        ideal: u64,
    ) -> Option<TradeCandidate> {
        self.look(list.units.len() + back.units.len());
        let mut at = 0;
        let mut best: Option<TradeCandidate> = None;
        for (weight, unit) in &list.units {
            let wanted = weight.saturating_sub(ideal);
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
    ) -> Option<TradeCandidate> {
        let scales = &self.scales;
        let there = scales.weight(unit);
        let here = back.map_or(0, |back| scales.weight(back));
        let after_giver = scales.level_of(giver, scales.carried(giver) - there + here);
        let after_taker = scales.level_of(taker, scales.carried(taker) + there - here);
        let level = after_giver.max(after_taker);
        self.is_worth(giver, level).then_some(TradeCandidate { level, unit, back, giver, taker })
    }

    /// True if `level` is so far below that of `giver` that a trade is worth it.
    fn is_worth(&self, giver: MemberIndex, level: Level) -> bool {
        level + self.component.target.worthwhile() < self.scales.level(giver)
    }

    fn carry_out(&mut self, transfer: Transfer) {
        let Transfer { giver, taker, units, back } = transfer;
        for member in [giver, taker] {
            self.component.leave((self.scales.level(member), member));
        }
        self.hand_over(&units, giver, taker);
        self.hand_over(back.as_slice(), taker, giver);
        for member in [giver, taker] {
            self.component.enter((self.scales.level(member), member), self.givable.gives(member));
        }
    }

    fn hand_over(&mut self, units: &[UnitIndex], giver: MemberIndex, taker: MemberIndex) {
        let class = |unit: UnitIndex| self.scales.class_of[unit.index()];
        let mut entries: Vec<_> =
            units.iter().map(|unit| (class(*unit), (self.scales.weight(*unit), *unit))).collect();
        entries.sort_unstable();
        for alike in entries.chunk_by(|(one, _), (other, _)| one == other) {
            let batch: Vec<_> = alike.iter().map(|(_, entry)| *entry).collect();
            self.givable.pass(alike[0].0, &batch, giver, taker);
        }
        for unit in units {
            self.scales.take(*unit);
            self.scales.put(*unit, taker);
        }
    }
}

#[cfg(test)]
#[path = "improve_test.rs"]
mod tests;
