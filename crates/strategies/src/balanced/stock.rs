//! Who has what, by class, before anything moves.

use std::ops::Range;

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
            let of_class = stock.take_stock(roles, &eligible, &mut entries);
            of_class.holdings.iter().for_each(|held| entries.0[held.owner.index()] = None);
            stock.classes.push(of_class);
        }
        stock
    }

    fn take_stock(&mut self, roles: &Roles, eligible: &Eligible<'_>, entries: &mut Entries) -> ClassStock {
        let (problem, fates) = (eligible.problem, Fates::of(roles, eligible));
        let mut of_class = ClassStock::default();
        for range in eligible.class.units.iter().cloned() {
            let mut start = range.start;
            for (owner, count) in runs(problem.owners_at(range.clone()), range.len()) {
                let units = start..start + count;
                start = units.end;
                match (fates.of_owner(owner), owner) {
                    (Fate::Gives, Some(owner)) => self.has(&mut of_class, entries, owner, count),
                    (Fate::Keeps, Some(keeper)) => self.settle(units, keeper),
                    (Fate::Waits, None) => of_class.unowned += in_units(count),
                    _ => units.map(UnitIndex::new).for_each(|unit| {
                        self.enter(problem, roles, eligible, unit, &mut of_class, entries);
                    }),
                }
            }
        }
        of_class
    }

    fn settle(&mut self, units: Range<usize>, keeper: MemberIndex) {
        let count = in_units(units.len());
        self.owner[units].fill(Some(keeper));
        self.settled[keeper.index()] += count;
        self.loads[keeper.index()] += count;
    }

    fn has(&mut self, of_class: &mut ClassStock, entries: &mut Entries, owner: MemberIndex, units: usize) {
        let units = in_units(units);
        entries.count(of_class, owner, units);
        self.loads[owner.index()] += units;
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
            self.settle(unit.index()..unit.index() + 1, keeper);
        } else if let Some(owner) = owner {
            self.has(of_class, entries, owner, 1);
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

/// The owners of units that follow each other, each with how many it has in a row; nobody has all `units` where there
/// are no `owners` at all.
fn runs(owners: &[Option<MemberIndex>], units: usize) -> impl Iterator<Item = (Option<MemberIndex>, usize)> {
    let nobodys = (owners.is_empty() && units > 0).then_some((None, units));
    owners.chunk_by(PartialEq::eq).map(|run| (run[0], run.len())).chain(nobodys)
}

fn in_units(count: usize) -> u32 {
    u32::try_from(count).expect("units are counted in u32")
}

/// What becomes of units with the same owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It keeps them for certain.
    Keeps,
    /// It may lose them.
    Gives,
    /// They have none, and nobody has copies of them.
    Waits,
    /// That has to be looked at unit by unit.
    Depends,
}

/// What becomes of the units of one class.
struct Fates {
    /// By member, where it is worth to know in advance; otherwise empty.
    of_owners: Vec<Fate>,
    of_nobodys: Fate,
}

impl Fates {
    fn of(roles: &Roles, eligible: &Eligible<'_>) -> Self {
        let problem = eligible.problem;
        if problem.has_fixed() || problem.has_cooling() || eligible.class.len() < problem.members().len() {
            return Self { of_owners: Vec::new(), of_nobodys: Fate::Depends };
        }
        Self {
            of_owners: eligible.fates(roles),
            of_nobodys: if problem.has_standbys() { Fate::Depends } else { Fate::Waits },
        }
    }

    fn of_owner(&self, owner: Option<MemberIndex>) -> Fate {
        let Some(owner) = owner else { return self.of_nobodys };
        self.of_owners.get(owner.index()).copied().unwrap_or(Fate::Depends)
    }
}

/// By member: where in the holdings of a class it is.
struct Entries(Vec<Option<u32>>);

impl Entries {
    fn count(&mut self, of_class: &mut ClassStock, owner: MemberIndex, units: u32) {
        let entry = &mut self.0[owner.index()];
        let position = *entry.get_or_insert_with(|| {
            of_class.holdings.push(Holding { owner, units: 0 });
            u32::try_from(of_class.holdings.len() - 1).expect("members are counted in u32")
        });
        of_class.holdings[position as usize].units += units;
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
            Some(_) if roles.keeps(member) => Fate::Keeps,
            Some(_) => Fate::Gives,
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
