//! The part of each member under this strategy, and the units that this strategy does not place.

use crate::{MemberIndex, MemberState, Problem, UnitIndex};

/// The part of a member: it takes, keeps or gives units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberRole {
    /// Takes and gives.
    Takes,
    /// Keeps what it has, and takes only what no member of the newest generation can: it is of an
    /// older generation and about to be replaced.
    TakesLast,
    /// Keeps what it has and takes nothing.
    Keeps,
    /// Gives whatever another can take.
    Gives,
}

/// The roles of all members.
#[derive(Debug)]
pub(super) struct Roles {
    role: Vec<MemberRole>,
    /// By member: whether it keeps what it has although it takes.
    keeps: Vec<bool>,
    /// True if members of several generations are active.
    pub(super) is_rolling: bool,
}

impl Roles {
    pub(super) fn of(problem: &Problem) -> Self {
        let generation = |member: MemberIndex| problem.member(member).generation;
        let newest = problem.active().map(generation).max();
        let is_rolling = problem.active().any(|member| Some(generation(member)) != newest);
        let role = |member: MemberIndex| match problem.member(member).state {
            MemberState::Active if Some(generation(member)) == newest => MemberRole::Takes,
            MemberState::Active => MemberRole::TakesLast,
            MemberState::Hold => MemberRole::Keeps,
            MemberState::Draining => MemberRole::Gives,
        };
        let keeps = if is_rolling { within_limits(problem) } else { vec![false; problem.members().len()] };
        Self { role: problem.member_indices().map(role).collect(), keeps, is_rolling }
    }

    pub(super) fn role(&self, member: MemberIndex) -> MemberRole {
        self.role[member.index()]
    }

    /// True if `member` keeps all that it may own.
    pub(super) fn keeps(&self, member: MemberIndex) -> bool {
        match self.role(member) {
            MemberRole::Keeps | MemberRole::TakesLast => true,
            MemberRole::Takes => self.keeps[member.index()],
            MemberRole::Gives => false,
        }
    }

    /// The member that keeps `unit` whatever the others have: the one that it is on its way to, or its owner if that
    /// only keeps, if the unit is cooling, or if members of older generations are still to be replaced: what evens out
    /// now would be uneven again after the next of them. `owner` is its current owner if that may own it.
    pub(super) fn keeper(
        &self,
        problem: &Problem,
        unit: UnitIndex,
        owner: Option<MemberIndex>,
    ) -> Option<MemberIndex> {
        let keeps = |owner: &MemberIndex| {
            self.keeps(*owner) || (self.role(*owner) == MemberRole::Takes && problem.is_cooling(unit))
        };
        problem.fixed(unit).or_else(|| owner.filter(keeps))
    }
}

/// By member whether it has no more than its limit.
fn within_limits(problem: &Problem) -> Vec<bool> {
    let mut loads = vec![0_u32; problem.members().len()];
    for unit in problem.unit_indices() {
        let owner = problem.fixed(unit).or(problem.current(unit));
        owner.into_iter().for_each(|owner| loads[owner.index()] += 1);
    }
    let is_within = |(load, limit): (u32, Option<u32>)| limit.is_none_or(|limit| load <= limit);
    loads
        .into_iter()
        .zip(problem.members().iter().map(|member| member.max_partitions))
        .map(is_within)
        .collect()
}
