//! Owners and their units, by class, before anything moves.

use std::ops::Range;

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
    /// The number of units that no member may keep.
    pub(super) unowned: u32,
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
        let mut entries = HoldingPositions(vec![None; members]);
        for class in &classes.classes {
            let eligible = Eligible::of(problem, classes, class);
            let of_class = stock.take_stock(roles, &eligible, &mut entries);
            for held in &of_class.holdings {
                stock.loads[held.owner.index()] += held.units;
                entries.0[held.owner.index()] = None;
            }
            stock.classes.push(of_class);
        }
        stock
    }

    fn take_stock(
        &mut self,
        roles: &Roles,
        eligible: &Eligible<'_>,
        entries: &mut HoldingPositions,
    ) -> ClassHoldings {
        let (problem, fates) = (eligible.problem, Fates::of(roles, eligible));
        let mut of_class = ClassHoldings::default();
        for range in eligible.class.units.iter().cloned() {
            for (owner, units) in runs(problem.owners_at(range.clone()), range) {
                match (fates.of_owner(owner), owner) {
                    (Fate::Gives, Some(owner)) => {
                        entries.of(&mut of_class, owner).units += in_units(units.len());
                    }
                    (Fate::Keeps, Some(keeper)) => self.settle(units, keeper),
                    (Fate::Waits, None) => of_class.unowned += in_units(units.len()),
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

    fn enter(
        &mut self,
        problem: &Problem,
        roles: &Roles,
        eligible: &Eligible<'_>,
        unit: UnitIndex,
        of_class: &mut ClassHoldings,
        entries: &mut HoldingPositions,
    ) {
        let owner = eligible.owner(unit);
        if let Some(keeper) = roles.keeper(problem, unit, owner) {
            self.settle(unit.index()..unit.index() + 1, keeper);
        } else if let Some(owner) = owner {
            entries.of(of_class, owner).units += 1;
        } else {
            self.owner[unit.index()] = None;
            of_class.unowned += 1;
            let nearest =
                problem.standbys(unit).iter().find(|standby| roles.role(standby.member) == MemberRole::Takes);
            if let Some(standby) = nearest {
                self.warm[standby.member.index()] += 1;
            }
        }
    }
}

/// The owners of the units at `positions`, each with what it has in a row; no member has all where there are no
/// `owners` at all.
pub(super) fn runs(
    owners: &[Option<MemberIndex>],
    positions: Range<usize>,
) -> impl Iterator<Item = (Option<MemberIndex>, Range<usize>)> {
    let mut start = positions.start;
    std::iter::from_fn(move || {
        let rest = owners.get(start - positions.start..).unwrap_or_default();
        let end = if owners.is_empty() { positions.end } else { start + alike(rest) };
        let run = start..end;
        start = end;
        (!run.is_empty()).then(|| (rest.first().copied().flatten(), run))
    })
}

/// The number of `owners` from the first on that are the same.
fn alike(owners: &[Option<MemberIndex>]) -> usize {
    /// The number of owners that are looked at together, once the last of them is the same.
    const STRIDE: usize = 16;
    let Some(first) = owners.first() else { return 0 };
    if owners.get(1).is_none_or(|second| second != first) {
        return 1;
    }
    let is_same = |stride: &[Option<MemberIndex>]| {
        let differs = |owner: &Option<MemberIndex>| MemberIndex::bits(*owner) ^ MemberIndex::bits(*first);
        stride.last() == Some(first) && stride.iter().fold(0, |any, owner| any | differs(owner)) == 0
    };
    let strides = owners.chunks_exact(STRIDE).take_while(|stride| is_same(stride)).count();
    let rest = &owners[strides * STRIDE..];
    strides * STRIDE + rest.iter().take_while(|owner| *owner == first).count()
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
    /// They have none, and no member has copies of them.
    Waits,
    /// That has to be looked at unit by unit.
    Depends,
}

/// The treatment of the units of one class, by owner.
struct Fates {
    /// By member, where it is worth to know in advance; otherwise empty.
    of_owners: Vec<Fate>,
    of_unowned: Fate,
}

impl Fates {
    fn of(roles: &Roles, eligible: &Eligible<'_>) -> Self {
        let problem = eligible.problem;
        if problem.has_fixed() || problem.has_cooling() || eligible.class.len() < problem.members().len() {
            return Self { of_owners: Vec::new(), of_unowned: Fate::Depends };
        }
        Self {
            of_owners: eligible.fates(roles),
            of_unowned: if problem.has_standbys() { Fate::Depends } else { Fate::Waits },
        }
    }

    fn of_owner(&self, owner: Option<MemberIndex>) -> Fate {
        let Some(owner) = owner else { return self.of_unowned };
        self.of_owners.get(owner.index()).copied().unwrap_or(Fate::Depends)
    }
}

/// By member: where in the holdings of a class it is.
struct HoldingPositions(Vec<Option<u32>>);

impl HoldingPositions {
    /// The units of the class that `owner` has.
    fn of<'a>(&mut self, of_class: &'a mut ClassHoldings, owner: MemberIndex) -> &'a mut Holding {
        let position = *self.0[owner.index()].get_or_insert_with(|| {
            of_class.holdings.push(Holding { owner, units: 0 });
            in_units(of_class.holdings.len() - 1)
        });
        &mut of_class.holdings[position as usize]
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
