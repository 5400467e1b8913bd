//! Loads of members, and the levels that count as balanced.

use super::components::Components;
use super::target::{self, LevelRange};
use crate::balanced::classes::{Classes, UnitClass};
use crate::balanced::holdings::Eligible;
use crate::balanced::roles::{MemberRole, Roles};
use crate::{MemberIndex, Problem, ProblemMember, UnitIndex};

/// A load per capacity, comparable between members. Rounded down, on every machine alike.
pub(super) type Level = u128;

/// The level of one unit of weight on one of capacity: loads and capacities both are in thousandths, so that levels are
/// told apart this finely.
pub(super) const ONE: Level = 1 << 20;

/// A placement while it is made, with every member's loads.
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
    /// The components of members that can trade with each other.
    pub(super) components: Components,
    /// By component: which levels count as balanced.
    pub(super) targets: Vec<LevelRange>,
}

/// Units that look for an owner, with the one that keeps them if there is no other.
pub(super) type LoosePool = Vec<(UnitIndex, Option<MemberIndex>)>;

impl<'a> Scales<'a> {
    /// Leaves units with their owners as far as those may keep them; the others are the pool.
    pub(super) fn load(problem: &'a Problem, roles: &'a Roles, classes: &'a Classes) -> (Self, LoosePool) {
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
            most: problem.members().iter().map(ProblemMember::limit).collect(),
            components: Components::of(roles, classes),
            targets: Vec::new(),
        };
        let mut pool = LoosePool::new();
        for (number, class) in classes.classes.iter().enumerate() {
            scales.load_class(u32::try_from(number).expect("classes are counted in u32"), class, &mut pool);
        }
        scales.shed(&mut pool);
        scales.targets = target::of_components(&scales, &pool);
        (scales, pool)
    }

    fn load_class(&mut self, number: u32, class: &UnitClass, pool: &mut LoosePool) {
        let eligible = Eligible::of(self.problem, self.classes, class);
        for unit in class.unit_indices() {
            self.class_of[unit.index()] = number;
            let owner = eligible.owner(unit);
            if let Some(keeper) = self.roles.keeper(self.problem, unit, owner) {
                self.is_free[unit.index()] = false;
                self.put(unit, keeper);
            } else if let Some(owner) = owner.filter(|owner| self.roles.role(*owner) == MemberRole::Takes) {
                self.put(unit, owner);
            } else {
                pool.push((unit, owner));
            }
        }
    }

    /// Takes from members what they have above their limits, the highest units first.
    fn shed(&mut self, pool: &mut LoosePool) {
        let is_over = |scales: &Self, member: MemberIndex| {
            scales.is_over(member) && scales.roles.role(member) == MemberRole::Takes
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

    /// The levels of `member`, which takes and gives, that count as balanced.
    pub(super) fn target(&self, member: MemberIndex) -> LevelRange {
        self.targets[self.components.of_member(member).expect("who takes and gives is in a component")]
    }

    /// The number of units of `member`.
    pub(super) fn count(&self, member: MemberIndex) -> u32 {
        self.count[member.index()]
    }

    /// The number of units more that `member` may have.
    pub(super) fn room(&self, member: MemberIndex) -> u32 {
        self.most[member.index()].saturating_sub(self.count[member.index()])
    }

    /// True if `member` has more units than its limit, and so takes none, not even for one of its own.
    pub(super) fn is_over(&self, member: MemberIndex) -> bool {
        self.count[member.index()] > self.most[member.index()]
    }

    /// True if `member` may have one unit more.
    pub(super) fn has_room(&self, member: MemberIndex) -> bool {
        self.room(member) > 0
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

    /// True if `member` takes units of the class numbered `class`.
    pub(super) fn takes(&self, member: MemberIndex, class: u32) -> bool {
        self.classes.takes(member, &self.classes.classes[class as usize])
    }
}
