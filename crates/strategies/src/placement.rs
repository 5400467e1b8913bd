//! What a strategy answers: [`Placement`].

mod bound;
mod standbys;
mod unassigned;

use std::fmt;

use crate::{MemberIndex, MemberState, Problem, UnitIndex};
pub use standbys::Standbys;
pub use unassigned::Unassigned;

/// Who should own what, and what changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// By unit: the member that should own it; `None` only if it is in
    /// [`unassigned`](Self::unassigned).
    pub owner: Vec<Option<MemberIndex>>,
    /// Who should hold copies of each unit's state. Empty for strategies that place none.
    pub standbys: Standbys,
    /// The units that nobody should own, ascending, each with the reason.
    pub unassigned: Vec<(UnitIndex, Unassigned)>,
    /// Every unit whose owner differs from [`Problem::current`], ascending. Fixed units are never
    /// among them: their move is under way already.
    pub moves: Vec<Move>,
}

/// One unit that changes hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The unit.
    pub unit: UnitIndex,
    /// The member that owns it today.
    pub from: Option<MemberIndex>,
    /// The member that should own it; never equal to `from`.
    pub to: Option<MemberIndex>,
    /// Why it does not stay.
    pub reason: MoveReason,
    /// What speaks for its new owner.
    pub choice: Choice,
}

impl Placement {
    /// The placement in which `owner` says by unit who owns it, and nobody is a standby. A unit that its
    /// owner could have kept moves because the owner had more, or takes others instead.
    ///
    /// # Panics
    ///
    /// If `owner` does not say one thing of each unit, or names a member that there is not.
    pub fn of(problem: &Problem, owner: Vec<Option<MemberIndex>>) -> Self {
        assert_eq!(owner.len(), problem.units(), "every unit has one entry");
        Self::new(problem, owner, |had, target| MoveReason::OverTarget { had, target })
    }

    /// The placement in which `owner` says by unit who owns it. A unit that its owner could have
    /// kept moves for the reason that `surplus` gives for a member that had the first and gets to
    /// have the second number of units.
    pub(crate) fn new(
        problem: &Problem,
        owner: Vec<Option<MemberIndex>>,
        surplus: impl Fn(u32, u32) -> MoveReason,
    ) -> Self {
        let had = counts(problem, |unit| problem.fixed(unit).or(problem.current(unit)));
        let has = counts(problem, |unit| owner[unit.index()]);
        let reason = |unit, from: Option<MemberIndex>| {
            let Some(from) = from else { return MoveReason::Unowned };
            compelled(problem, unit, from, had[from.index()])
                .unwrap_or_else(|| surplus(had[from.index()], has[from.index()]))
        };
        let moves = moved(problem, &owner)
            .map(|(unit, from, to)| Move {
                unit,
                from,
                to,
                reason: reason(unit, from),
                choice: choice(problem, unit, to),
            })
            .collect();
        Self { unassigned: unassigned::explain(problem, &owner), moves, owner, standbys: Standbys::default() }
    }
}

/// How many units each member owns, by member.
fn counts(problem: &Problem, owner: impl Fn(UnitIndex) -> Option<MemberIndex>) -> Vec<u32> {
    let mut counts = vec![0; problem.members().len()];
    for member in problem.unit_indices().filter_map(owner) {
        counts[member.index()] += 1;
    }
    counts
}

/// The units whose owner is not the current one, with the current and the new one.
fn moved(
    problem: &Problem,
    owner: &[Option<MemberIndex>],
) -> impl Iterator<Item = (UnitIndex, Option<MemberIndex>, Option<MemberIndex>)> {
    problem
        .unit_indices()
        .filter(|unit| problem.fixed(*unit).is_none())
        .map(|unit| (unit, problem.current(unit), owner[unit.index()]))
        .filter(|(_, from, to)| from != to)
}

/// Why `owner`, which has `had` units, must let go of `unit` under any strategy, if it must.
fn compelled(problem: &Problem, unit: UnitIndex, owner: MemberIndex, had: u32) -> Option<MoveReason> {
    let member = problem.member(owner);
    if problem.is_pinned(unit) && problem.is_banned(unit, owner) {
        Some(MoveReason::Pinned)
    } else if !problem.may_own(unit, owner) {
        Some(MoveReason::OwnerNotEligible)
    } else if member.state == MemberState::Draining {
        Some(MoveReason::OwnerDraining)
    } else if member.max_partitions.is_some_and(|limit| had > limit) {
        Some(MoveReason::OverLimit)
    } else {
        None
    }
}

/// What speaks for `to` as the owner of `unit`.
fn choice(problem: &Problem, unit: UnitIndex, to: Option<MemberIndex>) -> Choice {
    let standby = problem.standbys(unit).iter().find(|standby| Some(standby.member) == to);
    let rack = to.and_then(|to| problem.member(to).rack);
    match (standby, rack) {
        (Some(standby), _) => Choice::Standby { lag: standby.lag },
        (None, Some(rack)) if problem.replica_racks(unit).contains(&rack) => Choice::SameRack,
        _ => Choice::Room,
    }
}

/// What speaks for the new owner of a unit, beside that it may have it and has room. Displays as a phrase for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// It is a standby of the unit.
    Standby {
        /// How far behind it is, in records.
        lag: u64,
    },
    /// It is in a rack in which the unit has a replica.
    SameRack,
    /// Nothing else.
    Room,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standby { lag } => write!(f, "a standby that is {lag} records behind"),
            Self::SameRack => f.write_str("a member in a rack with a replica"),
            Self::Room => f.write_str("a member with room"),
        }
    }
}

/// Why a unit does not stay where it is. Displays as a phrase for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MoveReason {
    /// No member owned it.
    Unowned,
    /// Its owner is draining.
    OwnerDraining,
    /// Its owner is not subscribed to its topic, or banned from it.
    OwnerNotEligible,
    /// It is pinned to another member.
    Pinned,
    /// Its owner has more than its limit.
    OverLimit,
    /// Its owner has more than its share.
    OverTarget {
        /// How many units the owner had, those on their way to it included.
        had: u32,
        /// How many it has in this placement. As many as before or more, if it has to take units
        /// that only few can have, and others of its own make room for them.
        target: u32,
    },
    /// Its owner carries more than its share of the work.
    Overloaded {
        /// The weight of the owner's units in thousandths, those on their way to it included.
        had: u64,
        /// What it carries in this placement. As much as before or more, if this unit made room for another.
        target: u64,
    },
    /// Units that belong on one member were with several, and this one joins the others.
    SetSpread,
    /// The hash of the unit points to another member.
    Hash,
}

impl fmt::Display for MoveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unowned => f.write_str("it had no owner"),
            Self::OwnerDraining => f.write_str("its owner is draining"),
            Self::OwnerNotEligible => f.write_str("its owner may not own it any more"),
            Self::Pinned => f.write_str("it is pinned to another member"),
            Self::OverLimit => f.write_str("its owner is over its limit"),
            Self::OverTarget { had, target } if had <= target => {
                f.write_str("its owner takes others instead")
            }
            Self::OverTarget { had, target } => {
                write!(f, "its owner had {had} and is to have {target}")
            }
            Self::Overloaded { had, target } if had <= target => {
                f.write_str("it makes room for another with which loads are more even")
            }
            Self::Overloaded { had, target } => {
                let [had, target] = [had, target].map(|thousandths| *thousandths as f64 / 1_000.0);
                write!(f, "its owner carried {had} and is to carry {target}")
            }
            Self::SetSpread => f.write_str("its set was spread over several members"),
            Self::Hash => f.write_str("its hash points to another member"),
        }
    }
}
