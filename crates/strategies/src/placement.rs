//! The answer of a strategy: [`Placement`].

mod bound;
mod moves;
mod standbys;
mod unassigned;

use std::fmt;

use crate::{MemberIndex, Problem, UnitIndex};
pub use moves::Move;
pub(crate) use moves::Surplus;
pub use standbys::Standbys;
pub use unassigned::Unassigned;

/// The owners, and standbys, that units should have.
///
/// The differences from today are told on request: in bare numbers by [`changes`](Self::changes), which takes no longer
/// than to look, and with reasons by [`moves`](Self::moves).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// By unit: the member that should own it; `None` only if it is in
    /// [`unassigned`](Self::unassigned).
    pub owner: Vec<Option<MemberIndex>>,
    /// The holders of copies of each unit's state. Empty for strategies that place none.
    pub standbys: Standbys,
    /// The units that no member should own, ascending, each with the reason.
    pub unassigned: Vec<(UnitIndex, Unassigned)>,
    pub(crate) surplus: Surplus,
}

impl Placement {
    /// The placement in which `owner` says by unit who owns it, and no member is a standby. A unit that its
    /// owner could have kept moves because the owner had more, or takes others instead.
    ///
    /// # Panics
    ///
    /// If `owner` does not say one thing of each unit, or names a member that there is not.
    pub fn of(problem: &Problem, owner: Vec<Option<MemberIndex>>) -> Self {
        assert_eq!(owner.len(), problem.units(), "every unit has one entry");
        let is_known = |member: &MemberIndex| member.index() < problem.members().len();
        assert!(owner.iter().flatten().all(is_known), "every owner is a member");
        Self::new(problem, owner, Surplus::Count)
    }

    /// The placement in which `owner` says by unit who owns it, and units that their owners could have kept move for
    /// the reason that `surplus` gives.
    pub(crate) fn new(problem: &Problem, owner: Vec<Option<MemberIndex>>, surplus: Surplus) -> Self {
        let unassigned = unassigned::explain(problem, &owner);
        Self { unassigned, owner, standbys: Standbys::default(), surplus }
    }
}

/// The number of units that each member owns, by member.
fn counts(problem: &Problem, owner: impl Fn(UnitIndex) -> Option<MemberIndex>) -> Vec<u32> {
    let mut counts = vec![0; problem.members().len()];
    for member in problem.unit_indices().filter_map(owner) {
        counts[member.index()] += 1;
    }
    counts
}

/// The reason for the new owner of a unit, beside that it may have it and has room. Displays as a phrase for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// It is a standby of the unit.
    Standby {
        /// The distance of its copy behind the owner, in records.
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

/// The reason why a unit does not stay with its owner. Displays as a phrase for people.
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
        /// The number of units that the owner had, those on their way to it included.
        had: u32,
        /// The number that it has in this placement. As many as before or more, if it has to take units that only few
        /// can have, and others of its own make room for them.
        target: u32,
    },
    /// Its owner carries more than its share of the work.
    Overloaded {
        /// The weight of the owner's units in thousandths, those on their way to it included.
        had: u64,
        /// The load that it carries in this placement. As much as before or more, if this unit made room for another.
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
