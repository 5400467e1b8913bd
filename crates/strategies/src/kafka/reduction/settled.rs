//! Owners that are decided already.

use crate::{MemberIndex, MemberState, Problem, ProblemMember, UnitIndex};

/// Units with the members that get them in a round.
pub(super) type RoundShares = Vec<(UnitIndex, MemberIndex)>;

/// Units whose owner is decided, and members that take no more.
pub(super) struct SettledUnits {
    /// By unit.
    pub(super) owner: Vec<Option<MemberIndex>>,
    /// By member, how many units those are.
    pub(super) load: Vec<u32>,
    /// By member, whether it takes any.
    pub(super) is_open: Vec<bool>,
}

impl SettledUnits {
    /// Settles what is fixed and what members on hold keep. Only active members are open.
    pub(super) fn of(problem: &Problem) -> Self {
        let is_open = problem.members().iter().map(|member| member.state == MemberState::Active).collect();
        let mut settled =
            Self { owner: vec![None; problem.units()], load: vec![0; problem.members().len()], is_open };
        for unit in problem.unit_indices() {
            let keeps = |owner: &MemberIndex| {
                problem.member(*owner).state == MemberState::Hold && problem.may_own(unit, *owner)
            };
            let owner = problem.fixed(unit).or_else(|| problem.current(unit).filter(keeps));
            owner.into_iter().for_each(|owner| settled.settle(unit, owner));
        }
        settled
    }

    fn settle(&mut self, unit: UnitIndex, owner: MemberIndex) {
        self.owner[unit.index()] = Some(owner);
        self.load[owner.index()] += 1;
    }

    pub(super) fn accept(&mut self, shares: &RoundShares) {
        shares.iter().for_each(|(unit, member)| self.settle(*unit, *member));
    }

    /// Closes the members that `shares` would lead above their limits, and settles with each as
    /// much as that allows: what it owns today, and then of its share; returns whether there was any.
    pub(super) fn close_above_limits(&mut self, problem: &Problem, shares: &RoundShares) -> bool {
        let mut total = self.load.clone();
        shares.iter().for_each(|(_, member)| total[member.index()] += 1);
        let limits = problem.members().iter().map(ProblemMember::room);
        let is_above: Vec<bool> = total.iter().zip(limits).map(|(total, limit)| *total > limit).collect();
        let closes = |member: MemberIndex| is_above[member.index()] && self.is_open[member.index()];
        let closing: Vec<MemberIndex> = problem.active().filter(|member| closes(*member)).collect();
        if closing.is_empty() {
            return false;
        }
        closing.iter().for_each(|member| self.is_open[member.index()] = false);
        for unit in problem.unit_indices() {
            let keeps =
                |owner: &MemberIndex| closing.binary_search(owner).is_ok() && problem.may_own(unit, *owner);
            if let Some(owner) = problem.current(unit).filter(keeps) {
                self.settle_within_limit(problem, unit, owner);
            }
        }
        for (unit, member) in shares.iter().filter(|(_, member)| closing.binary_search(member).is_ok()) {
            self.settle_within_limit(problem, *unit, *member);
        }
        // A unit that one was to get, another may have kept: it goes on with the room that is left.
        for member in closing {
            self.is_open[member.index()] = self.load[member.index()] < problem.member(member).room();
        }
        true
    }

    fn settle_within_limit(&mut self, problem: &Problem, unit: UnitIndex, member: MemberIndex) {
        let has_room = self.load[member.index()] < problem.member(member).room();
        if has_room && self.owner[unit.index()].is_none() {
            self.settle(unit, member);
        }
    }

    /// Leaves what no member took where it is, unless it must not be there.
    pub(super) fn leave_rest_with_owners(&mut self, problem: &Problem) {
        for unit in problem.unit_indices() {
            if self.owner[unit.index()].is_none() {
                let may_stay = |owner: &MemberIndex| problem.may_own(unit, *owner);
                self.owner[unit.index()] = problem.current(unit).filter(may_stay);
            }
        }
    }
}
