//! The fewest moves that there could have been.

use super::{Placement, counts};
use crate::{Problem, UnitIndex};

impl Placement {
    /// The fewest moves that a placement could have in which every member owns as many units as in
    /// this one, whatever the units weigh: of a member's units as many must go as it has fewer now,
    /// and at least those that it may not own any more.
    ///
    /// A move is a unit that leaves a member. Units that no member owned do not count, nor do fixed
    /// ones. No placement with these numbers has fewer moves; subscriptions and bans may keep any
    /// from having as few.
    pub fn moves_lower_bound(&self, problem: &Problem) -> usize {
        let free = |unit: &UnitIndex| problem.fixed(*unit).is_none();
        let had = counts(problem, |unit| problem.current(unit).filter(|_| free(&unit)));
        let has = counts(problem, |unit| self.owner[unit.index()].filter(|_| free(&unit)));
        let lost = counts(problem, |unit| {
            problem.current(unit).filter(|owner| free(&unit) && !problem.may_own(unit, *owner))
        });
        let of_member = |member: usize| had[member].saturating_sub(has[member]).max(lost[member]);
        (0..problem.members().len()).map(|member| of_member(member) as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemberIndex, MemberSpec};

    /// `a` owns the four partitions of `t`, of which it is banned from the first.
    fn problem() -> Problem {
        let mut builder = Problem::builder();
        let topic = builder.topic("t", 4);
        let a = builder.member(MemberSpec::new("a"));
        builder.member(MemberSpec::new("b"));
        (0..4).for_each(|partition| builder.current(topic, partition, a));
        builder.ban(topic, 0, a);
        builder.build().unwrap()
    }

    fn bound(owner: [usize; 4]) -> usize {
        let problem = problem();
        Placement::of(&problem, owner.map(|at| Some(MemberIndex::new(at))).to_vec())
            .moves_lower_bound(&problem)
    }

    #[test]
    fn what_a_member_has_less_must_go() {
        assert_eq!(bound([1, 1, 0, 0]), 2);
        assert_eq!(bound([1, 1, 1, 1]), 4);
    }

    #[test]
    fn what_a_member_may_not_own_must_go_whatever_it_has() {
        assert_eq!(bound([1, 0, 0, 0]), 1);
        assert_eq!(bound([0, 0, 0, 0]), 1);
    }

    #[test]
    fn what_was_nobodys_is_no_move() {
        let mut builder = Problem::builder();
        let topic = builder.topic("t", 2);
        let a = builder.member(MemberSpec::new("a"));
        builder.fixed(topic, 0, a);
        let problem = builder.build().unwrap();
        let placement = Placement::of(&problem, vec![Some(MemberIndex::new(0)); 2]);
        assert_eq!(placement.moves_lower_bound(&problem), 0);
    }
}
