//! What everybody carries, and what would be right.

use crate::balanced::classes::{Class, Classes};
use crate::balanced::roles::{Role, Roles};
use crate::balanced::stock::Eligible;
use crate::{Member, MemberIndex, Problem, UnitIndex};

/// A load per capacity, comparable between members. Rounded down, on every machine alike.
pub(super) type Level = u128;

/// How finely levels are told apart: loads and capacities both are in thousandths, so that one unit of weight on one
/// of capacity is this.
const ONE: Level = 1 << 20;

/// A placement while it is made, with everybody's loads.
pub(super) struct Scales<'a> {
    pub(super) problem: &'a Problem,
    pub(super) roles: &'a Roles,
    pub(super) classes: &'a Classes,
    /// By unit: the number of its class.
    pub(super) class_of: Vec<u32>,
    pub(super) owner: Vec<Option<MemberIndex>>,
    /// By unit: whether it may leave its owner, or has none.
    pub(super) is_free: Vec<bool>,
    /// By member: the weight of its units in thousandths.
    load: Vec<u64>,
    /// By member: how many units it has.
    count: Vec<u32>,
    /// By member: how many units it may come to have.
    most: Vec<u32>,
    pub(super) target: Target,
}

/// Which levels count as balanced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The mean, without what no placement can even out.
    mean: Level,
    tolerance: Level,
}

impl Target {
    /// The highest level at which a member counts as balanced whose heaviest unit alone brings it to `heaviest`.
    pub(super) fn high(self, heaviest: Level) -> Level {
        let level = self.mean.max(heaviest);
        level + level * self.tolerance / 1_000
    }

    /// The lowest level at which a member counts as balanced.
    pub(super) fn low(self) -> Level {
        self.mean - self.mean * self.tolerance / 1_000
    }

    /// By how much a trade must lower a level: a quarter of what is tolerated, so that no unit moves for less than
    /// anybody would notice.
    pub(super) fn worthwhile(self) -> Level {
        self.mean * self.tolerance / 4_000
    }
}

/// Units that look for an owner, with the one that keeps them if there is no other.
pub(super) type Pool = Vec<(UnitIndex, Option<MemberIndex>)>;

impl<'a> Scales<'a> {
    /// Leaves units with their owners as far as those may keep them; the others are the pool.
    pub(super) fn load(problem: &'a Problem, roles: &'a Roles, classes: &'a Classes) -> (Self, Pool) {
        let members = problem.members().len();
        let mut scales = Self {
            problem,
            roles,
            classes,
            class_of: vec![0; problem.units()],
            owner: vec![None; problem.units()],
            is_free: vec![true; problem.units()],
            load: vec![0; members],
            count: vec![0; members],
            most: problem.members().iter().map(Member::limit).collect(),
            target: Target { mean: 0, tolerance: Level::from(problem.options().tolerance) },
        };
        let mut pool = Pool::new();
        for (number, class) in classes.classes.iter().enumerate() {
            scales.load_class(u32::try_from(number).expect("classes are counted in u32"), class, &mut pool);
        }
        scales.shed(&mut pool);
        scales.target.mean = scales.mean(&pool);
        (scales, pool)
    }

    fn load_class(&mut self, number: u32, class: &Class, pool: &mut Pool) {
        let eligible = Eligible::of(self.problem, self.classes, class);
        for unit in class.unit_indices() {
            self.class_of[unit.index()] = number;
            let owner = eligible.owner(unit);
            if let Some(keeper) = self.roles.keeper(self.problem, unit, owner) {
                self.is_free[unit.index()] = false;
                self.put(unit, keeper);
            } else if let Some(owner) = owner.filter(|owner| self.roles.role(*owner) == Role::Takes) {
                self.put(unit, owner);
            } else {
                pool.push((unit, owner));
            }
        }
    }

    /// Takes from members what they have above their limits, the highest units first.
    fn shed(&mut self, pool: &mut Pool) {
        let is_over = |scales: &Self, member: MemberIndex| {
            scales.count[member.index()] > scales.most[member.index()]
                && scales.roles.role(member) == Role::Takes
        };
        if !self.problem.member_indices().any(|member| is_over(self, member)) {
            return;
        }
        for unit in self.problem.unit_indices().rev() {
            let owner = self.owner[unit.index()].filter(|owner| is_over(self, *owner));
            if let Some(owner) = owner.filter(|_| self.is_free[unit.index()]) {
                self.take(unit);
                pool.push((unit, Some(owner)));
            }
        }
    }

    /// The mean level of those that take, without the units that are too heavy for any member to have only its
    /// share, and without a member for each of these.
    fn mean(&self, pool: &Pool) -> Level {
        let takers: Vec<_> =
            self.problem.member_indices().filter(|member| self.roles.role(*member) == Role::Takes).collect();
        let carried: u128 = takers.iter().map(|taker| u128::from(self.load[taker.index()])).sum();
        let free: u128 = pool.iter().map(|(unit, _)| u128::from(self.weight(*unit))).sum();
        let capacity: u128 =
            takers.iter().map(|taker| u128::from(self.problem.member(*taker).capacity.thousandths())).sum();
        let (mut total, mut left) = (carried + free, takers.len() as u128);
        for weight in self.heaviest(takers.len()) {
            if left < 2 || u128::from(weight) * left <= total {
                break;
            }
            total -= u128::from(weight);
            left -= 1;
        }
        let members = takers.len() as u128;
        (total * members * ONE).checked_div(capacity * left).unwrap_or(0)
    }

    /// The weights of the `most` heaviest units that members that take have or might get, descending.
    fn heaviest(&self, most: usize) -> Vec<u64> {
        let counts = |unit: &UnitIndex| {
            self.owner[unit.index()].is_none_or(|owner| self.roles.role(owner) == Role::Takes)
        };
        let mut weights: Vec<u64> =
            self.problem.unit_indices().filter(counts).map(|unit| self.weight(unit)).collect();
        if most < weights.len() {
            weights.select_nth_unstable_by(most, |a, b| b.cmp(a));
            weights.truncate(most);
        }
        weights.sort_unstable_by(|a, b| b.cmp(a));
        weights
    }

    pub(super) fn weight(&self, unit: UnitIndex) -> u64 {
        self.problem.weight(unit).thousandths()
    }

    /// The level of `member` if it carried `load` thousandths.
    pub(super) fn level_of(&self, member: MemberIndex, load: u64) -> Level {
        Level::from(load) * ONE / Level::from(self.problem.member(member).capacity.thousandths())
    }

    pub(super) fn level(&self, member: MemberIndex) -> Level {
        self.level_of(member, self.load[member.index()])
    }

    pub(super) fn carried(&self, member: MemberIndex) -> u64 {
        self.load[member.index()]
    }

    /// Whether `member` may have one unit more.
    pub(super) fn has_room(&self, member: MemberIndex) -> bool {
        self.count[member.index()] < self.most[member.index()]
    }

    /// Makes `owners` the owners.
    pub(super) fn adopt(&mut self, owners: Vec<Option<MemberIndex>>) {
        self.load.fill(0);
        self.count.fill(0);
        for (unit, owner) in self.problem.unit_indices().zip(&owners) {
            if let Some(owner) = owner {
                self.load[owner.index()] += self.weight(unit);
                self.count[owner.index()] += 1;
            }
        }
        self.owner = owners;
    }

    /// Makes `member` the owner of `unit`, which has none.
    pub(super) fn put(&mut self, unit: UnitIndex, member: MemberIndex) {
        self.owner[unit.index()] = Some(member);
        self.load[member.index()] += self.weight(unit);
        self.count[member.index()] += 1;
    }

    /// Takes `unit` from its owner.
    pub(super) fn take(&mut self, unit: UnitIndex) {
        if let Some(owner) = self.owner[unit.index()].take() {
            self.load[owner.index()] -= self.weight(unit);
            self.count[owner.index()] -= 1;
        }
    }

    /// Whether `member` takes units of the class numbered `class`.
    pub(super) fn takes(&self, member: MemberIndex, class: u32) -> bool {
        self.classes.takes(member, &self.classes.classes[class as usize])
    }
}
