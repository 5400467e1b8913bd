//! Owners and their units, by class, before anything moves.

use super::classes::{Classes, UnitClass};
use super::roles::{MemberRole, Roles};
use crate::{MemberIndex, Problem, UnitIndex};

/// Units of one class that one member has and may keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    pub(super) owner: MemberIndex,
    pub(super) units: u32,
}

/// The units of one class that are to be placed.
#[derive(Debug, Default)]
pub(super) struct ClassHoldings {
    /// The owners with the number of their units, in the order in which they come up.
    pub(super) holdings: Vec<Holding>,
    /// The units that no member may keep, ascending.
    pub(super) unowned: Vec<UnitIndex>,
}

impl ClassHoldings {
    /// The number of units that no member may keep.
    pub(super) fn unowned_units(&self) -> u32 {
        in_units(self.unowned.len())
    }
}

/// The owners and loads of all units.
#[derive(Debug)]
pub(super) struct Holdings {
    pub(super) classes: Vec<ClassHoldings>,
    /// By unit: who owns it for certain or, failing that, has it and may keep it.
    pub(super) owner: Vec<Option<MemberIndex>>,
    /// By member: how many units it owns for certain.
    pub(super) settled: Vec<u32>,
    /// By member: how many units it has, those that it may lose among them.
    pub(super) loads: Vec<u32>,
    /// By member: of how many units that no member may keep it is the nearest standby.
    pub(super) warm: Vec<u64>,
}

impl Holdings {
    pub(super) fn of(problem: &Problem, roles: &Roles, classes: &Classes) -> Self {
        let members = problem.members().len();
        let mut stock = Self {
            classes: Vec::new(),
            owner: problem.owners(),
            settled: vec![0; members],
            loads: vec![0; members],
            warm: vec![0; members],
        };
        let mut tally = Tally { counts: vec![0; members], owners: Vec::new() };
        for class in &classes.classes {
            let eligible = Eligible::of(problem, classes, class);
            let of_class = stock.take_stock(roles, &eligible, &mut tally);
            stock.classes.push(of_class);
        }
        stock
    }

    fn take_stock(&mut self, roles: &Roles, eligible: &Eligible<'_>, tally: &mut Tally) -> ClassHoldings {
        let fates = Fates::of(roles, eligible);
        let mut unowned = Vec::new();
        for mut units in eligible.class.units.iter().cloned() {
            if fates.unowned_wait && eligible.problem.owners_at(units.clone()).is_empty() {
                unowned.extend(units.by_ref().map(UnitIndex::new));
            }
            while !units.is_empty() {
                let owners = eligible.problem.owners_at(units.clone());
                units.start += tally.add_all(owners, &fates);
                let unit = units.next().map(UnitIndex::new);
                unit.into_iter().for_each(|unit| self.enter(roles, eligible, unit, tally, &mut unowned));
            }
        }
        ClassHoldings { holdings: self.enter_owners(&fates, tally), unowned }
    }

    /// Counts what owners have of a class, and returns what they may lose of it.
    fn enter_owners(&mut self, fates: &Fates, tally: &mut Tally) -> Vec<Holding> {
        let mut holdings = Vec::with_capacity(tally.owners.len());
        for owner in tally.owners.drain(..) {
            let units = std::mem::take(&mut tally.counts[owner.index()]);
            self.loads[owner.index()] += units;
            match fates.of_owner(owner) {
                Fate::Keeps => self.settled[owner.index()] += units,
                _ => holdings.push(Holding { owner, units }),
            }
        }
        holdings
    }

    /// Looks at a unit by itself.
    fn enter(
        &mut self,
        roles: &Roles,
        eligible: &Eligible<'_>,
        unit: UnitIndex,
        tally: &mut Tally,
        unowned: &mut Vec<UnitIndex>,
    ) {
        let problem = eligible.problem;
        let owner = eligible.owner(unit);
        if let Some(keeper) = roles.keeper(problem, unit, owner) {
            self.owner[unit.index()] = Some(keeper);
            self.settled[keeper.index()] += 1;
            self.loads[keeper.index()] += 1;
        } else if let Some(owner) = owner {
            tally.add(owner);
        } else {
            self.owner[unit.index()] = None;
            unowned.push(unit);
            let nearest =
                problem.standbys(unit).iter().find(|standby| roles.role(standby.member) == MemberRole::Takes);
            if let Some(standby) = nearest {
                self.warm[standby.member.index()] += 1;
            }
        }
    }
}

fn in_units(count: usize) -> u32 {
    u32::try_from(count).expect("units are counted in u32")
}

/// The treatment of units with the same owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It keeps them for certain.
    Keeps,
    /// It may lose them.
    Gives,
    /// That has to be looked at unit by unit.
    Depends,
}

/// The treatment of the units of one class, by owner.
struct Fates {
    /// By member, where it is worth to know in advance; otherwise empty.
    of_owners: Vec<Fate>,
    /// True if units that nobody owns wait for an owner, and no member has copies of them.
    unowned_wait: bool,
}

impl Fates {
    fn of(roles: &Roles, eligible: &Eligible<'_>) -> Self {
        let problem = eligible.problem;
        if problem.has_fixed() || problem.has_cooling() || eligible.class.len() < problem.members().len() {
            return Self { of_owners: Vec::new(), unowned_wait: false };
        }
        Self { of_owners: eligible.fates(roles), unowned_wait: !problem.has_standbys() }
    }

    #[inline]
    fn of_owner(&self, owner: MemberIndex) -> Fate {
        self.of_owners.get(owner.index()).copied().unwrap_or(Fate::Depends)
    }
}

/// The units of one class that members have and may lose, or keep all.
struct Tally {
    /// By member: how many.
    counts: Vec<u32>,
    /// The members that have some, in the order in which they come up.
    owners: Vec<MemberIndex>,
}

impl Tally {
    /// Counts a unit for each of `owners`, up to the first that has to be looked at by itself. Returns how many.
    fn add_all(&mut self, owners: &[Option<MemberIndex>], fates: &Fates) -> usize {
        for (at, owner) in owners.iter().enumerate() {
            match owner.filter(|owner| fates.of_owner(*owner) != Fate::Depends) {
                Some(owner) => self.add(owner),
                None => return at,
            }
        }
        owners.len()
    }

    #[inline]
    fn add(&mut self, owner: MemberIndex) {
        let count = &mut self.counts[owner.index()];
        if *count == 0 {
            self.owners.push(owner);
        }
        *count += 1;
    }
}

/// The members that may own the units of one class.
pub(super) struct Eligible<'a> {
    problem: &'a Problem,
    classes: &'a Classes,
    class: &'a UnitClass,
    /// By kind, whether all its members may.
    kinds: Vec<bool>,
}

impl<'a> Eligible<'a> {
    pub(super) fn of(problem: &'a Problem, classes: &'a Classes, class: &'a UnitClass) -> Self {
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
            Some(kind) if !self.takes(kind, member) => Fate::Depends,
            Some(_) if roles.keeps(member) => Fate::Keeps,
            Some(_) => Fate::Gives,
            None => Fate::Depends,
        };
        self.problem.member_indices().map(fate).collect()
    }

    /// The units of a class have the same takers. Of the other members, the topics may differ.
    fn may(&self, unit: UnitIndex, member: MemberIndex) -> bool {
        match self.classes.kind_of[member.index()] {
            Some(kind) => self.takes(kind, member),
            None => self.problem.may_own(unit, member),
        }
    }

    /// True if `member` of `kind` takes them.
    fn takes(&self, kind: usize, member: MemberIndex) -> bool {
        self.kinds[kind] || self.class.members.binary_search(&member).is_ok()
    }
}
