//! Who has what, by class, before anything moves.

use super::classes::{Class, Classes};
use super::roles::{Role, Roles};
use crate::{MemberIndex, Problem, UnitIndex};

/// Units of one class that one member has and may keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    pub(super) owner: MemberIndex,
    pub(super) units: u32,
}

/// What is to be placed of one class.
#[derive(Debug, Default)]
pub(super) struct ClassStock {
    /// Who has how many, in the order in which they come up.
    pub(super) holdings: Vec<Holding>,
    /// How many units nobody may keep.
    pub(super) unowned: u32,
}

/// Who has what of everything.
#[derive(Debug)]
pub(super) struct Stock {
    pub(super) classes: Vec<ClassStock>,
    /// By unit: who owns it for certain.
    pub(super) owner: Vec<Option<MemberIndex>>,
    /// By member: how many units it owns for certain.
    pub(super) settled: Vec<u32>,
    /// By member: how many units it has, those that it may lose among them.
    pub(super) loads: Vec<u32>,
    /// By member: of how many units that nobody may keep it is the nearest standby.
    pub(super) warm: Vec<u64>,
}

impl Stock {
    pub(super) fn of(problem: &Problem, roles: &Roles, classes: &Classes) -> Self {
        let members = problem.members().len();
        let mut stock = Self {
            classes: Vec::new(),
            owner: vec![None; problem.units()],
            settled: vec![0; members],
            loads: vec![0; members],
            warm: vec![0; members],
        };
        let mut entries = Entries(vec![None; members]);
        for class in &classes.classes {
            let eligible = Eligible::of(problem, classes, class);
            let mut of_class = ClassStock::default();
            let is_worth_a_table = class.len() >= members && !problem.has_fixed() && !problem.has_cooling();
            let fates = if is_worth_a_table { eligible.fates(roles) } else { Vec::new() };
            for unit in class.unit_indices() {
                match fates.get(problem.current(unit).map_or(usize::MAX, MemberIndex::index)) {
                    Some(Fate::Gives(owner)) => stock.has(&mut of_class, &mut entries, *owner),
                    Some(Fate::Keeps(keeper)) => stock.settle(unit, *keeper),
                    Some(Fate::Depends) | None => {
                        stock.enter(problem, roles, &eligible, unit, &mut of_class, &mut entries);
                    }
                }
            }
            of_class.holdings.iter().for_each(|held| entries.0[held.owner.index()] = None);
            stock.classes.push(of_class);
        }
        stock
    }

    fn settle(&mut self, unit: UnitIndex, keeper: MemberIndex) {
        self.owner[unit.index()] = Some(keeper);
        self.settled[keeper.index()] += 1;
        self.loads[keeper.index()] += 1;
    }

    fn has(&mut self, of_class: &mut ClassStock, entries: &mut Entries, owner: MemberIndex) {
        entries.count(of_class, owner);
        self.loads[owner.index()] += 1;
    }

    fn enter(
        &mut self,
        problem: &Problem,
        roles: &Roles,
        eligible: &Eligible<'_>,
        unit: UnitIndex,
        of_class: &mut ClassStock,
        entries: &mut Entries,
    ) {
        let owner = eligible.owner(unit);
        if let Some(keeper) = roles.keeper(problem, unit, owner) {
            self.settle(unit, keeper);
        } else if let Some(owner) = owner {
            self.has(of_class, entries, owner);
        } else {
            of_class.unowned += 1;
            let nearest =
                problem.standbys(unit).iter().find(|standby| roles.role(standby.member) == Role::Takes);
            if let Some(standby) = nearest {
                self.warm[standby.member.index()] += 1;
            }
        }
    }
}

/// What an owner does with its units of a class.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It keeps them for certain.
    Keeps(MemberIndex),
    /// It may lose them.
    Gives(MemberIndex),
    /// It may not own all of them, or not any.
    Depends,
}

/// By member: where in the holdings of a class it is.
struct Entries(Vec<Option<u32>>);

impl Entries {
    fn count(&mut self, of_class: &mut ClassStock, owner: MemberIndex) {
        let entry = &mut self.0[owner.index()];
        let position = *entry.get_or_insert_with(|| {
            of_class.holdings.push(Holding { owner, units: 0 });
            u32::try_from(of_class.holdings.len() - 1).expect("members are counted in u32")
        });
        of_class.holdings[position as usize].units += 1;
    }
}

/// Which members may own the units of one class.
pub(super) struct Eligible<'a> {
    problem: &'a Problem,
    classes: &'a Classes,
    class: &'a Class,
    /// By kind, whether all its members may.
    kinds: Vec<bool>,
}

impl<'a> Eligible<'a> {
    pub(super) fn of(problem: &'a Problem, classes: &'a Classes, class: &'a Class) -> Self {
        let mut kinds = vec![false; classes.kinds.len()];
        class.kinds.iter().for_each(|kind| kinds[*kind] = true);
        Self { problem, classes, class, kinds }
    }

    /// The current owner of `unit`, if it may own it.
    pub(super) fn owner(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.problem.current(unit).filter(|owner| self.may(unit, *owner))
    }

    /// By member what it does with the units, where none is on its way to a member or cooling.
    fn fates(&self, roles: &Roles) -> Vec<Fate> {
        let fate = |member: MemberIndex| match self.classes.kind_of[member.index()] {
            Some(_) if !self.classes.takes(member, self.class) => Fate::Depends,
            Some(_) if roles.keeps(member) => Fate::Keeps(member),
            Some(_) => Fate::Gives(member),
            None => Fate::Depends,
        };
        self.problem.member_indices().map(fate).collect()
    }

    /// The units of a class have the same takers. Of the other members, the topics may differ.
    fn may(&self, unit: UnitIndex, member: MemberIndex) -> bool {
        match self.classes.kind_of[member.index()] {
            Some(kind) => self.kinds[kind] || self.class.members.binary_search(&member).is_ok(),
            None => self.problem.may_own(unit, member),
        }
    }
}
