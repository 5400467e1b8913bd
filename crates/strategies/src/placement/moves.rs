//! Units that change their owner, with reasons: [`Move`].

use super::{Choice, MoveReason, Placement, counts};
use crate::{MemberIndex, MemberState, Problem, UnitIndex};

/// The number of units that are compared at once while nothing differs.
const STRIDE: usize = 64;

/// One unit that changes hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The unit.
    pub unit: UnitIndex,
    /// The member that owns it today.
    pub from: Option<MemberIndex>,
    /// The member that should own it; never equal to `from`.
    pub to: Option<MemberIndex>,
    /// The reason why it does not stay.
    pub reason: MoveReason,
    /// The reason for its new owner; [`Choice::Room`] also if it is to have none.
    pub choice: Choice,
}

/// The reason of a strategy to move units that their owners could have kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Surplus {
    /// Their owners had more units, or take others instead.
    Count,
    /// Their owners carried more work.
    Weight,
    /// Their hash points to another member.
    Hash,
    /// Their set was spread, if they are among these, which ascend; otherwise their owners had more.
    Spread(Vec<UnitIndex>),
}

impl Placement {
    /// Every unit whose owner in this placement of `problem` differs from [`Problem::current`], with the current owner
    /// and the one it should have; ascending. Fixed units are never among them: their move is under way already.
    ///
    /// # Panics
    ///
    /// May panic, or tell nonsense, if this is a placement of another problem.
    pub fn changes<'a>(
        &'a self,
        problem: &'a Problem,
    ) -> impl Iterator<Item = (UnitIndex, Option<MemberIndex>, Option<MemberIndex>)> + 'a {
        let starts = (0..self.owner.len()).step_by(STRIDE);
        let strides = starts.map(|start| start..(start + STRIDE).min(self.owner.len()));
        strides
            .filter(|stride| !problem.is_owned_by(stride.clone(), &self.owner[stride.clone()]))
            .flat_map(|stride| {
                let owners = problem.owners_at(stride.clone());
                let placed = self.owner[stride.clone()].iter().enumerate();
                placed.map(move |(at, to)| {
                    (UnitIndex::new(stride.start + at), owners.get(at).copied().flatten(), *to)
                })
            })
            .filter(|(_, from, to)| from != to)
            .filter(|(unit, _, _)| problem.fixed(*unit).is_none())
    }

    /// The [`changes`](Self::changes) of this placement of `problem` with the reason of each.
    ///
    /// # Panics
    ///
    /// May panic, or tell nonsense, if this is a placement of another problem.
    pub fn moves(&self, problem: &Problem) -> Vec<Move> {
        let counted = Counted::of(problem, &self.surplus, &self.owner);
        let told = |(unit, from, to)| Move {
            unit,
            from,
            to,
            reason: from.map_or(MoveReason::Unowned, |from| self.reason(problem, unit, from, &counted)),
            choice: choice(problem, unit, to),
        };
        self.changes(problem).map(told).collect()
    }

    fn reason(&self, problem: &Problem, unit: UnitIndex, from: MemberIndex, counted: &Counted) -> MoveReason {
        let [had, target] = [&counted.had, &counted.has].map(|counts| counts[from.index()]);
        compelled(problem, unit, from, had).unwrap_or_else(|| match &self.surplus {
            Surplus::Hash => MoveReason::Hash,
            Surplus::Spread(units) if units.binary_search(&unit).is_ok() => MoveReason::SetSpread,
            Surplus::Weight => {
                let [had, target] = [&counted.carried, &counted.carries].map(|loads| loads[from.index()]);
                MoveReason::Overloaded { had, target }
            }
            Surplus::Count | Surplus::Spread(_) => MoveReason::OverTarget { had, target },
        })
    }
}

/// By member what it has today, what is under way to it included, and what it is to have.
struct Counted {
    had: Vec<u32>,
    has: Vec<u32>,
    /// In thousandths of weight, where that is the reason; otherwise empty.
    carried: Vec<u64>,
    carries: Vec<u64>,
}

impl Counted {
    fn of(problem: &Problem, surplus: &Surplus, owner: &[Option<MemberIndex>]) -> Self {
        let today = |unit| problem.fixed(unit).or(problem.current(unit));
        let placed = |unit: UnitIndex| owner[unit.index()];
        let is_weighed = *surplus == Surplus::Weight;
        Self {
            had: counts(problem, today),
            has: counts(problem, placed),
            carried: if is_weighed { problem.loads(today) } else { Vec::new() },
            carries: if is_weighed { problem.loads(placed) } else { Vec::new() },
        }
    }
}

/// The reason why `owner`, which has `had` units, must let go of `unit` under any strategy, if it must.
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

/// The reason for `to` as the owner of `unit`.
fn choice(problem: &Problem, unit: UnitIndex, to: Option<MemberIndex>) -> Choice {
    let standby = problem.standbys(unit).iter().find(|standby| Some(standby.member) == to);
    let rack = to.and_then(|to| problem.member(to).rack);
    match (standby, rack) {
        (Some(standby), _) => Choice::Standby { lag: standby.lag },
        (None, Some(rack)) if problem.replica_racks(unit).contains(&rack) => Choice::SameRack,
        _ => Choice::Room,
    }
}
