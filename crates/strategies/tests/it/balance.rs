//! `sticky-balanced` and `balanced` are as balanced as they say, with as few moves as that takes.

use kafka_assigner_strategies::{
    Balanced, MemberSpec, MemberState, Placement, Problem, StickyBalanced, Strategy,
};
use proptest::prelude::*;

use crate::scenario::{any_scenario, plain_scenario};

/// The strategies that do the same where nothing is restricted.
const BOTH: [&dyn Strategy; 2] = [&StickyBalanced, &Balanced];

fn loads(problem: &Problem, placement: &Placement) -> Vec<u32> {
    let mut loads = vec![0; problem.members().len()];
    placement.owner.iter().flatten().for_each(|owner| loads[owner.index()] += 1);
    loads
}

/// The fewest moves that bring owners within one of each other: what nobody owns, and what each
/// has above its share, where the larger shares go to those that have most.
fn fewest_moves(problem: &Problem) -> usize {
    let mut loads = vec![0; problem.members().len()];
    let owners = problem.unit_indices().filter_map(|unit| problem.current(unit));
    owners.for_each(|owner| loads[owner.index()] += 1);
    loads.sort_unstable_by(|a, b| b.cmp(a));
    let (share, larger) = (problem.units() / loads.len(), problem.units() % loads.len());
    let owned: usize = loads.iter().sum();
    let share_of = |rank: usize| share + usize::from(rank < larger);
    let above = loads.iter().enumerate().map(|(rank, load)| load.saturating_sub(share_of(rank)));
    problem.units() - owned + above.sum::<usize>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn equal_members_are_within_one(scenario in plain_scenario()) {
        let problem = scenario.problem();
        for strategy in BOTH {
            let loads = loads(&problem, &strategy.assign(&problem));
            prop_assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() <= 1);
            prop_assert_eq!(loads.iter().sum::<u32>() as usize, problem.units());
        }
    }

    #[test]
    fn equal_members_move_the_fewest(scenario in plain_scenario()) {
        let problem = scenario.problem();
        for strategy in BOTH {
            prop_assert_eq!(strategy.assign(&problem).moves(&problem).len(), fewest_moves(&problem));
        }
    }

    #[test]
    fn a_fresh_placement_of_sticky_balanced_is_contiguous(mut scenario in plain_scenario()) {
        scenario.units.iter_mut().flatten().for_each(|fate| fate.current = None);
        let problem = scenario.problem();
        prop_assert!(StickyBalanced.assign(&problem).owner.is_sorted());
    }

    #[test]
    fn no_single_move_would_balance_better(scenario in any_scenario()) {
        let problem = scenario.problem();
        let placement = StickyBalanced.assign(&problem);
        let loads = loads(&problem, &placement);
        for unit in problem.unit_indices().filter(|unit| problem.fixed(*unit).is_none()) {
            let Some(owner) = placement.owner[unit.index()] else { continue };
            if problem.member(owner).state == MemberState::Hold {
                continue;
            }
            let better = problem.member_indices().find(|other| {
                let member = problem.member(*other);
                let load = loads[other.index()];
                member.state == MemberState::Active
                    && problem.may_own(unit, *other)
                    && load < member.max_partitions.unwrap_or(u32::MAX)
                    && load + 2 <= loads[owner.index()]
            });
            prop_assert_eq!(better, None, "{:?} of {:?}", unit, owner);
        }
    }
}

#[test]
fn capacities_that_differ_by_little_and_have_no_small_multiple_are_told_apart() {
    let mut builder = Problem::builder();
    builder.topic("t", 400_000);
    for (id, capacity) in [("a", 999_983.0), ("b", 1_000_000.0)] {
        builder.member(MemberSpec { capacity, ..MemberSpec::new(id) });
    }
    let problem = builder.build().unwrap();
    // The shares are 199 998.3 and 200 001.7.
    assert_eq!(loads(&problem, &Balanced.assign(&problem)), [199_998, 200_002]);
}
