//! Owners of units while a placement is made.

use crate::{MemberIndex, MemberState, Problem, ProblemMember, TopicIndex, UnitIndex};

/// Owners by unit and, always in step with them, loads by member.
pub(crate) struct Ledger<'a> {
    pub(crate) problem: &'a Problem,
    owner: Vec<Option<MemberIndex>>,
    load: Vec<u32>,
    /// By member: the most it may come to own.
    limit: Vec<u32>,
}

impl<'a> Ledger<'a> {
    /// Leaves every unit where it is fixed or, failing that, with its owner if that may own it.
    pub(crate) fn preserve(problem: &'a Problem) -> Self {
        let keeper = |topic: TopicIndex, unit: UnitIndex| {
            let may = |owner: &MemberIndex| {
                problem.is_subscribed(topic, *owner) && !problem.is_banned(unit, *owner)
            };
            problem.fixed(unit).or_else(|| problem.current(unit).filter(may))
        };
        let of_topic = |topic| problem.units_of(topic).map(move |unit| keeper(topic, unit));
        let owner: Vec<_> = problem.topic_indices().flat_map(of_topic).collect();
        let mut load = vec![0; problem.members().len()];
        for member in owner.iter().flatten() {
            load[member.index()] += 1;
        }
        let limit = problem.members().iter().map(ProblemMember::room).collect();
        Self { problem, owner, load, limit }
    }

    pub(crate) fn owner(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.owner[unit.index()]
    }

    /// The number of units that `member` owns.
    pub(crate) fn load(&self, member: MemberIndex) -> u32 {
        self.load[member.index()]
    }

    /// The most units `member` may come to own.
    pub(crate) fn limit(&self, member: MemberIndex) -> u32 {
        self.limit[member.index()]
    }

    pub(crate) fn has_room(&self, member: MemberIndex) -> bool {
        self.load(member) < self.limit(member)
    }

    /// The number of units more that `member` may come to own.
    pub(crate) fn room(&self, member: MemberIndex) -> u32 {
        self.limit(member).saturating_sub(self.load(member))
    }

    /// The owner of `unit` if that can give it: it is not fixed, nor kept by a member on hold.
    pub(crate) fn giver(&self, unit: UnitIndex) -> Option<MemberIndex> {
        let gives = |member: &MemberIndex| self.state(*member) != MemberState::Hold;
        self.owner(unit).filter(gives).filter(|_| self.problem.fixed(unit).is_none())
    }

    pub(crate) fn state(&self, member: MemberIndex) -> MemberState {
        self.problem.member(member).state
    }

    /// Makes `member` the owner of `unit`.
    pub(crate) fn give(&mut self, unit: UnitIndex, member: MemberIndex) {
        if let Some(former) = self.owner[unit.index()].replace(member) {
            self.load[former.index()] -= 1;
        }
        self.load[member.index()] += 1;
    }

    pub(crate) fn into_owners(self) -> Vec<Option<MemberIndex>> {
        self.owner
    }
}
