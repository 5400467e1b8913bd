//! No more moves for balance than the budget allows.

use std::cmp::Reverse;

use super::roles::{MemberRole, Roles};
use crate::{MemberIndex, Problem, ProblemMember, UnitIndex};

/// Takes back moves from owners that could have kept the unit until no more are left than the budget of `problem`.
/// Those stay that help most: from the fullest to the emptiest member. A move stays too if its old owner has no room
/// any more, because it had to take something else.
pub(super) fn restrict(problem: &Problem, roles: &Roles, owners: &mut [Option<MemberIndex>]) {
    let Some(budget) = problem.options().movement_budget else { return };
    let mut moves = voluntary(problem, roles, owners);
    let level = levels(problem);
    moves.sort_by_key(|(unit, from)| {
        let to = owners[unit.index()].map_or(0, |to| level[to.index()]);
        (Reverse(level[from.index()]), to, *unit)
    });
    let mut counts = vec![0; problem.members().len()];
    owners.iter().flatten().for_each(|owner| counts[owner.index()] += 1);
    for (unit, from) in moves.into_iter().skip(budget as usize).rev() {
        let limit = problem.member(from).limit();
        if counts[from.index()] < limit {
            let to = owners[unit.index()].replace(from);
            to.into_iter().for_each(|to| counts[to.index()] -= 1);
            counts[from.index()] += 1;
        }
    }
}

/// The number of moves that the budget still allows; `None` if it is not bounded.
pub(super) fn left(problem: &Problem, roles: &Roles, owners: &[Option<MemberIndex>]) -> Option<u32> {
    let budget = problem.options().movement_budget?;
    let spent = u32::try_from(voluntary(problem, roles, owners).len()).unwrap_or(u32::MAX);
    Some(budget.saturating_sub(spent))
}

/// The units that leave owners that could have kept them, with those owners. Of what a member loses, as many units as
/// it was above its limit do not count.
fn voluntary(
    problem: &Problem,
    roles: &Roles,
    owners: &[Option<MemberIndex>],
) -> Vec<(UnitIndex, MemberIndex)> {
    let holder = |unit: UnitIndex| {
        let owner = problem.current(unit).filter(|owner| roles.role(*owner) == MemberRole::Takes)?;
        (problem.fixed(unit).is_none() && problem.may_own(unit, owner)).then_some(owner)
    };
    let mut above = vec![0_u32; problem.members().len()];
    let owned = problem.unit_indices().filter_map(|unit| problem.fixed(unit).or_else(|| holder(unit)));
    owned.for_each(|owner| above[owner.index()] += 1);
    for (member, above) in problem.members().iter().zip(&mut above) {
        *above = above.saturating_sub(member.limit());
    }
    let moved = problem.unit_indices().filter_map(|unit| Some((unit, holder(unit)?)));
    let moved = moved.filter(|(unit, from)| owners[unit.index()] != Some(*from));
    moved
        .filter(|(_, from)| {
            let must = above[from.index()] > 0;
            above[from.index()] = above[from.index()].saturating_sub(1);
            !must
        })
        .collect()
}

/// By member the load that it has today for its capacity.
fn levels(problem: &Problem) -> Vec<u128> {
    let loads = problem.loads(|unit| problem.fixed(unit).or(problem.current(unit)));
    let level = |(member, load): (&ProblemMember, u64)| {
        (u128::from(load) << 20) / u128::from(member.capacity.thousandths())
    };
    problem.members().iter().zip(loads).map(level).collect()
}
