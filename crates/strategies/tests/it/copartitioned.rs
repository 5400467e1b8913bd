//! `copartitioned-sticky` keeps equal partition numbers together, and standbys apart from owners.

use std::collections::BTreeSet;

use kafka_assigner_strategies::{
    CopartitionedSticky, MemberIndex, MemberState, Placement, Problem, Strategy, TopicIndex, UnitIndex,
};
use proptest::prelude::*;

use crate::cluster::spread;
use crate::scenario::{Scenario, any_scenario, copied_scenario};

/// By unit: who should stand by, without the order.
fn standbys(problem: &Problem, placement: &Placement) -> Vec<BTreeSet<MemberIndex>> {
    problem.unit_indices().map(|unit| placement.standbys.of(unit).iter().copied().collect()).collect()
}

/// The topics that are co-partitioned with `topic`.
fn set_of(problem: &Problem, topic: TopicIndex) -> Vec<TopicIndex> {
    let subscribers = |topic| {
        problem.member_indices().map(|member| problem.is_subscribed(topic, member)).collect::<Vec<_>>()
    };
    let alike = |other: &TopicIndex| {
        problem.topic(*other).partitions == problem.topic(topic).partitions
            && subscribers(*other) == subscribers(topic)
    };
    problem.topic_indices().filter(alike).collect()
}

/// Whether anything keeps the slot of `unit` from being wherever it fits best.
fn is_free(problem: &Problem, unit: UnitIndex) -> bool {
    let holds = |member: MemberIndex| problem.member(member).state == MemberState::Hold;
    let members = || problem.member_indices();
    problem.fixed(unit).is_none()
        && !problem.is_cooling(unit)
        && members()
            .all(|member| !problem.is_banned(unit, member) && problem.member(member).max_partitions.is_none())
        && !problem.current(unit).is_some_and(holds)
}

fn slot(problem: &Problem, unit: UnitIndex) -> Vec<UnitIndex> {
    let (topic, partition) = problem.topic_of(unit);
    set_of(problem, topic).into_iter().map(|topic| problem.unit(topic, partition)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn equal_numbers_are_together(scenario in any_scenario()) {
        let problem = scenario.problem();
        let placement = CopartitionedSticky.assign(&problem);
        for unit in problem.unit_indices() {
            let slot = slot(&problem, unit);
            let taken = problem.member_indices().any(|member| {
                problem.member(member).state == MemberState::Active && problem.may_own(unit, member)
            });
            if taken && slot.iter().all(|unit| is_free(&problem, *unit)) {
                let owners: BTreeSet<_> = slot.iter().map(|unit| placement.owner[unit.index()]).collect();
                prop_assert_eq!(owners.len(), 1, "{:?}", slot);
            }
        }
    }

    #[test]
    fn standbys_may_take_over_and_own_nothing_of_the_slot(mut scenario in any_scenario()) {
        let problem = scenario.problem();
        // Pins bind owners only.
        scenario.units.iter_mut().flatten().for_each(|fate| fate.pins.clear());
        let unpinned = scenario.problem();
        let placement = CopartitionedSticky.assign(&problem);
        for unit in problem.unit_indices() {
            let standbys = placement.standbys.of(unit);
            let distinct: BTreeSet<_> = standbys.iter().collect();
            prop_assert_eq!(distinct.len(), standbys.len());
            let wanted = problem.topic(problem.topic_of(unit).0).standbys;
            prop_assert!(standbys.len() <= wanted as usize);
            for standby in standbys {
                prop_assert!(unpinned.may_own(unit, *standby));
                let member = problem.member(*standby);
                prop_assert!(member.state != MemberState::Draining && member.max_partitions != Some(0));
                let had = |unit: &UnitIndex| {
                    let mut copies = problem.standbys(*unit).iter().map(|copy| copy.member);
                    copies.any(|member| member == *standby) || problem.current(*unit) == Some(*standby)
                };
                prop_assert!(member.state == MemberState::Active || slot(&problem, unit).iter().any(had));
                let owners = slot(&problem, unit).into_iter().map(|unit| placement.owner[unit.index()]);
                prop_assert!(!owners.into_iter().any(|owner| owner == Some(*standby)));
            }
        }
    }

    #[test]
    fn a_second_run_moves_no_standby(mut scenario in any_scenario()) {
        // A pin to a member that can't take counts only once that has the unit: another question.
        scenario.units.iter_mut().flatten().for_each(|fate| fate.pins.clear());
        let (problem, first) = settled(&scenario);
        let after = scenario.after(&first).problem();
        let second = CopartitionedSticky.assign(&after);
        prop_assert_eq!(&second.owner, &first.owner);
        prop_assert_eq!(standbys(&problem, &first), standbys(&after, &second));
    }

    #[test]
    fn each_set_is_even_and_has_as_many_standbys_as_it_can(scenario in copied_scenario()) {
        let (problem, placement) = settled(&scenario);
        let others = u32::try_from(problem.members().len() - 1).unwrap();
        for topic in problem.topic_indices() {
            let (mut owned, mut copied) = (vec![0; problem.members().len()], vec![0; problem.members().len()]);
            for unit in problem.units_of(topic) {
                owned[placement.owner[unit.index()].unwrap().index()] += 1;
                placement.standbys.of(unit).iter().for_each(|standby| copied[standby.index()] += 1);
                let wanted = problem.topic(topic).standbys.min(others) as usize;
                prop_assert_eq!(placement.standbys.of(unit).len(), wanted);
            }
            prop_assert!(spread(&owned) <= 1, "owned {:?}", owned);
            // Only the standbys of whole slots are shared out: all topics of the set want as many.
            let same = set_of(&problem, topic).iter().all(|other| problem.topic(*other).standbys == problem.topic(topic).standbys);
            prop_assert!(!same || spread(&copied) <= 1, "copied {:?}", copied);
        }
    }

    #[test]
    fn nobody_is_empty_while_another_has_two(scenario in copied_scenario()) {
        let (problem, placement) = settled(&scenario);
        let largest = problem.topic_indices().map(|topic| set_of(&problem, topic).len()).max().unwrap_or(0);
        let mut owned = vec![0; problem.members().len()];
        placement.owner.iter().flatten().for_each(|owner| owned[owner.index()] += 1);
        prop_assert!(spread(&owned) <= largest, "{:?}", owned);
    }
}

fn settled(scenario: &Scenario) -> (Problem, Placement) {
    let problem = scenario.problem();
    let placement = CopartitionedSticky.assign(&problem);
    (problem, placement)
}
