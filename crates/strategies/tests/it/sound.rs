//! Nobody owns what it must not, and everything that can be owned is.

use kafka_assigner_strategies::{
    MemberIndex, MemberSpec, MemberState, Move, MoveReason, Placement, Problem, TopicIndex, Unassigned,
    UnitIndex, all, by_name,
};
use proptest::prelude::*;

use crate::scenario::any_scenario;

/// A placement with the questions that the properties ask of it.
struct Outcome<'a> {
    problem: &'a Problem,
    placement: Placement,
    load: Vec<u32>,
}

impl<'a> Outcome<'a> {
    fn of(problem: &'a Problem, placement: Placement) -> Self {
        let mut load = vec![0; problem.members().len()];
        placement.owner.iter().flatten().for_each(|owner| load[owner.index()] += 1);
        Self { problem, placement, load }
    }

    fn owner(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.placement.owner[unit.index()]
    }

    fn state(&self, member: MemberIndex) -> MemberState {
        self.problem.member(member).state
    }

    fn is_over(&self, member: MemberIndex) -> bool {
        self.problem.member(member).max_partitions.is_some_and(|limit| self.load[member.index()] > limit)
    }

    /// The members that could take `unit` now.
    fn willing(&self, unit: UnitIndex) -> impl Iterator<Item = MemberIndex> {
        self.problem.member_indices().filter(move |member| {
            let limit = self.problem.member(*member).max_partitions.unwrap_or(u32::MAX);
            self.state(*member) == MemberState::Active
                && self.problem.may_own(unit, *member)
                && self.load[member.index()] < limit
        })
    }

    /// The units that the strategy was free to place.
    fn free(&self) -> impl Iterator<Item = UnitIndex> {
        self.problem.unit_indices().filter(|unit| self.problem.fixed(*unit).is_none())
    }

    /// The member that has the unit today, or is on the way to have it.
    fn holder(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.problem.fixed(unit).or(self.problem.current(unit))
    }

    /// The units that `member` holds today.
    fn held(&self, member: MemberIndex) -> impl Iterator<Item = UnitIndex> {
        self.problem.unit_indices().filter(move |unit| self.holder(*unit) == Some(member))
    }

    /// The weight of `units`, in thousandths.
    fn weight(&self, units: impl Iterator<Item = UnitIndex>) -> u64 {
        units.map(|unit| self.problem.weight(unit).thousandths()).sum()
    }

    /// The other topics' units with the number of `unit`, where topics have as many.
    fn set_of(&self, unit: UnitIndex) -> impl Iterator<Item = UnitIndex> {
        let (of, partition) = self.problem.topic_of(unit);
        let is_like = move |topic: &TopicIndex| {
            self.problem.topic(*topic).partitions == self.problem.topic(of).partitions && *topic != of
        };
        let topics = self.problem.topic_indices().filter(is_like);
        topics.map(move |topic| self.problem.unit(topic, partition))
    }

    /// True if what is said of a unit that `from` could keep is true.
    fn is_why(&self, unit: UnitIndex, from: MemberIndex, reason: MoveReason) -> bool {
        let placed = |unit: &UnitIndex| self.owner(*unit) == Some(from);
        match reason {
            MoveReason::OverLimit => {
                let limit = self.problem.member(from).max_partitions;
                limit.is_some_and(|limit| self.held(from).count() > limit as usize)
            }
            MoveReason::OverTarget { had, target } => {
                had as usize == self.held(from).count() && target == self.load[from.index()]
            }
            MoveReason::Overloaded { had, target } => {
                had == self.weight(self.held(from))
                    && target == self.weight(self.problem.unit_indices().filter(placed))
            }
            MoveReason::SetSpread => {
                self.set_of(unit).filter_map(|other| self.holder(other)).any(|holder| holder != from)
            }
            _ => true,
        }
    }

    fn taken(&self) -> impl Iterator<Item = (UnitIndex, MemberIndex)> {
        self.free()
            .filter_map(|unit| Some((unit, self.owner(unit)?)))
            .filter(|(unit, owner)| self.problem.current(*unit) != Some(*owner))
    }
}

fn outcomes(problem: &Problem) -> impl Iterator<Item = Outcome<'_>> {
    all().iter().map(|strategy| Outcome::of(problem, strategy.assign(problem)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn fixed_units_stay(scenario in any_scenario()) {
        let problem = scenario.problem();
        for outcome in outcomes(&problem) {
            for unit in problem.unit_indices().filter(|unit| problem.fixed(*unit).is_some()) {
                prop_assert_eq!(outcome.owner(unit), problem.fixed(unit));
            }
        }
    }

    #[test]
    fn owners_are_subscribed_and_not_banned(scenario in any_scenario()) {
        let problem = scenario.problem();
        for outcome in outcomes(&problem) {
            for unit in outcome.free() {
                prop_assert!(outcome.owner(unit).is_none_or(|owner| problem.may_own(unit, owner)));
            }
        }
    }

    #[test]
    fn only_active_members_take(scenario in any_scenario()) {
        let problem = scenario.problem();
        for outcome in outcomes(&problem) {
            for (_, owner) in outcome.taken() {
                prop_assert_eq!(outcome.state(owner), MemberState::Active);
            }
        }
    }

    #[test]
    fn a_member_on_hold_keeps_what_it_may(scenario in any_scenario()) {
        let problem = scenario.problem();
        for outcome in outcomes(&problem) {
            for unit in outcome.free() {
                let Some(owner) = problem.current(unit) else { continue };
                if outcome.state(owner) == MemberState::Hold && problem.may_own(unit, owner) {
                    prop_assert_eq!(outcome.owner(unit), Some(owner));
                }
            }
        }
    }

    #[test]
    fn a_unit_is_nobodys_or_at_a_draining_member_only_if_none_can_take_it(scenario in any_scenario()) {
        let problem = scenario.problem();
        for outcome in outcomes(&problem) {
            for unit in outcome.free() {
                let stuck = outcome.owner(unit).is_none_or(|owner| outcome.state(owner) == MemberState::Draining);
                prop_assert!(!stuck || outcome.willing(unit).next().is_none(), "{:?}", unit);
            }
        }
    }

    #[test]
    fn no_live_owner_loses_a_unit_to_nobody(scenario in any_scenario()) {
        let problem = scenario.problem();
        for outcome in outcomes(&problem) {
            for lost in outcome.placement.moves(&problem).iter().filter(|moved| moved.to.is_none()) {
                prop_assert!(matches!(lost.reason, MoveReason::OwnerNotEligible | MoveReason::Pinned));
            }
        }
    }

    #[test]
    fn above_its_limit_a_member_of_balanced_takes_nothing(scenario in any_scenario()) {
        let problem = scenario.problem();
        let outcome = Outcome::of(&problem, by_name("balanced").unwrap().assign(&problem));
        prop_assert!(outcome.taken().all(|(_, owner)| !outcome.is_over(owner)));
    }

    #[test]
    fn above_its_limit_a_member_takes_nothing_and_keeps_what_others_cannot_take(scenario in any_scenario()) {
        let problem = scenario.problem();
        let strategy = by_name("sticky-balanced").unwrap();
        let outcome = Outcome::of(&problem, strategy.assign(&problem));
        prop_assert!(outcome.taken().all(|(_, owner)| !outcome.is_over(owner)));
        for unit in outcome.free() {
            let Some(owner) = outcome.owner(unit) else { continue };
            let must_give = outcome.is_over(owner) && outcome.state(owner) == MemberState::Active;
            prop_assert!(!must_give || outcome.willing(unit).next().is_none(), "{:?}", unit);
        }
    }

    #[test]
    fn a_hash_goes_above_a_limit_only_with_what_stays(scenario in any_scenario()) {
        let problem = scenario.problem();
        let outcome = Outcome::of(&problem, by_name("jump-hash").unwrap().assign(&problem));
        for member in problem.member_indices() {
            let taken = outcome.taken().filter(|(_, owner)| *owner == member).count();
            let limit = problem.member(member).max_partitions.unwrap_or(u32::MAX);
            prop_assert!(taken <= limit as usize);
        }
    }

    #[test]
    fn moves_are_the_difference_with_today(scenario in any_scenario()) {
        let problem = scenario.problem();
        for outcome in outcomes(&problem) {
            let difference: Vec<_> = outcome
                .free()
                .map(|unit| (unit, problem.current(unit), outcome.owner(unit)))
                .filter(|(_, from, to)| from != to)
                .collect();
            let moves = &outcome.placement.moves(&problem);
            let told: Vec<_> = moves.iter().map(|Move { unit, from, to, .. }| (*unit, *from, *to)).collect();
            prop_assert_eq!(told, difference);
        }
    }

    #[test]
    fn reasons_are_true(scenario in any_scenario()) {
        let problem = scenario.problem();
        for outcome in outcomes(&problem) {
            for Move { unit, from, reason, .. } in &outcome.placement.moves(&problem) {
                let from = *from;
                let may = from.is_some_and(|from| problem.may_own(*unit, from));
                let state = from.map(|from| outcome.state(from));
                match reason {
                    MoveReason::Unowned => prop_assert_eq!(from, None),
                    MoveReason::OwnerNotEligible => prop_assert!(from.is_some() && !may),
                    MoveReason::OwnerDraining => prop_assert_eq!(state, Some(MemberState::Draining)),
                    MoveReason::Pinned => prop_assert!(from.is_some() && !may && problem.is_pinned(*unit)),
                    MoveReason::OverLimit
                    | MoveReason::OverTarget { .. }
                    | MoveReason::Overloaded { .. }
                    | MoveReason::SetSpread | MoveReason::Hash => {
                        prop_assert!(may);
                        prop_assert_eq!(state, Some(MemberState::Active));
                        let from = from.expect("it may keep it");
                        prop_assert!(outcome.is_why(*unit, from, *reason), "{unit:?}: {reason:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_nobodys_is_listed_with_a_true_reason(scenario in any_scenario()) {
        let problem = scenario.problem();
        for outcome in outcomes(&problem) {
            let listed = outcome.placement.unassigned.iter().map(|(unit, _)| *unit);
            let nobodys = problem.unit_indices().filter(|unit| outcome.owner(*unit).is_none());
            prop_assert!(listed.eq(nobodys));
            for (unit, reason) in &outcome.placement.unassigned {
                let (topic, _) = problem.topic_of(*unit);
                let subscribed: Vec<_> =
                    problem.member_indices().filter(|member| problem.is_subscribed(topic, *member)).collect();
                let may: Vec<_> =
                    subscribed.iter().filter(|member| problem.may_own(*unit, **member)).collect();
                let active = may.iter().any(|member| outcome.state(**member) == MemberState::Active);
                let expected = match (problem.members().len(), subscribed.len(), may.len(), active) {
                    (0, ..) => Unassigned::NoMembers,
                    (_, 0, ..) => Unassigned::NobodySubscribed,
                    (_, _, 0, _) => Unassigned::AllBanned,
                    (.., false) => Unassigned::OnlyDrainingOrHolding,
                    (.., true) => Unassigned::AllFull,
                };
                prop_assert!(outcome.willing(*unit).next().is_none());
                prop_assert_eq!(*reason, expected);
            }
        }
    }
}

#[test]
fn what_a_strategy_of_others_leaves_out_is_not_called_full() {
    let mut builder = Problem::builder();
    let [t, u] = ["t", "u"].map(|topic| builder.topic(topic, 1));
    builder.member(MemberSpec { max_partitions: Some(1), ..MemberSpec::new("a") });
    let problem = builder.build().unwrap();
    let a = problem.member_named("a");
    let why = |owner: Vec<Option<MemberIndex>>| Placement::of(&problem, owner).unassigned;
    let [t, u] = [t, u].map(|topic| UnitIndex::new(topic.index()));
    assert_eq!(why(vec![None, None]), [(t, Unassigned::LeftOut), (u, Unassigned::LeftOut)]);
    assert_eq!(why(vec![a, None]), [(u, Unassigned::AllFull)]);
}
