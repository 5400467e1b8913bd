//! `balanced` against every placement there is.

use kafka_assigner_strategies::{
    Balanced, MemberIndex, MemberState, Options, Placement, Problem, ProblemMember, Strategy as _,
    TopicSpread, UnitIndex,
};
use proptest::prelude::*;

use crate::scenario::{small_scenario, topics_scenario};

/// The terms that count, in this order; less is better.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    nobodys: usize,
    at_draining: usize,
    over_limits: u32,
    /// The sum of squared loads over capacities, times the least common multiple of these.
    imbalance: u64,
    moves: usize,
}

/// The least common multiple of the capacities that a scenario may have.
const COMMON: u64 = 12;

type Owners = Vec<Option<MemberIndex>>;

fn active(problem: &Problem, member: MemberIndex) -> bool {
    problem.member(member).state == MemberState::Active
}

/// The current owner, if it may own the unit.
fn holder(problem: &Problem, unit: UnitIndex) -> Option<MemberIndex> {
    problem.current(unit).filter(|owner| problem.may_own(unit, *owner))
}

/// The only member that can have the unit, where that is settled.
fn keeper(problem: &Problem, unit: UnitIndex) -> Option<MemberIndex> {
    let keeps = |owner: &MemberIndex| match problem.member(*owner).state {
        MemberState::Hold => true,
        MemberState::Active => problem.is_cooling(unit),
        MemberState::Draining => false,
    };
    problem.fixed(unit).or_else(|| holder(problem, unit).filter(keeps))
}

/// Everything that may become of the unit, if nobody's limit stands in the way.
fn fates(problem: &Problem, unit: UnitIndex) -> Owners {
    if let Some(keeper) = keeper(problem, unit) {
        return vec![Some(keeper)];
    }
    let stays = holder(problem, unit);
    let can = |member: &MemberIndex| {
        stays == Some(*member) || (active(problem, *member) && problem.may_own(unit, *member))
    };
    problem.member_indices().filter(can).map(Some).chain([None]).collect()
}

fn loads(problem: &Problem, owners: &Owners) -> Vec<u32> {
    let mut loads = vec![0; problem.members().len()];
    owners.iter().flatten().for_each(|owner| loads[owner.index()] += 1);
    loads
}

/// The members that have more today than their limits.
fn above_limits(problem: &Problem) -> Vec<MemberIndex> {
    let today = problem.unit_indices().map(|unit| problem.fixed(unit).or_else(|| holder(problem, unit)));
    let loads = loads(problem, &today.collect());
    let limit = |member: MemberIndex| problem.member(member).max_partitions.unwrap_or(u32::MAX);
    let is_above = |member: &MemberIndex| active(problem, *member) && loads[member.index()] > limit(*member);
    problem.member_indices().filter(is_above).collect()
}

/// True if none of `members` takes a unit.
fn take_nothing(problem: &Problem, owners: &Owners, members: &[MemberIndex]) -> bool {
    problem.unit_indices().filter(|unit| problem.fixed(*unit).is_none()).all(|unit| {
        let owner = owners[unit.index()];
        owner == problem.current(unit) || !owner.is_some_and(|owner| members.contains(&owner))
    })
}

/// True if nobody that takes a unit ends above its limit.
fn is_legal(problem: &Problem, owners: &Owners, loads: &[u32]) -> bool {
    problem.unit_indices().all(|unit| {
        let Some(owner) = owners[unit.index()].filter(|_| problem.fixed(unit).is_none()) else { return true };
        let limit = problem.member(owner).max_partitions.unwrap_or(u32::MAX);
        problem.current(unit) == Some(owner) || loads[owner.index()] <= limit
    })
}

fn score(problem: &Problem, owners: &Owners, loads: &[u32]) -> Score {
    let unfixed = || problem.unit_indices().filter(|unit| problem.fixed(*unit).is_none());
    let owner = |unit: UnitIndex| owners[unit.index()];
    let state = |member: MemberIndex| problem.member(member).state;
    let takers = || problem.member_indices().filter(|member| active(problem, *member));
    let excess = |member: MemberIndex| {
        loads[member.index()].saturating_sub(problem.member(member).max_partitions.unwrap_or(u32::MAX))
    };
    let square = |member: MemberIndex| {
        let load = u64::from(loads[member.index()]);
        load * load * COMMON * 1_000 / u64::from(problem.member(member).capacity.thousandths())
    };
    Score {
        nobodys: unfixed().filter(|unit| owner(*unit).is_none()).count(),
        at_draining: unfixed()
            .filter(|unit| owner(*unit).is_some_and(|o| state(o) == MemberState::Draining))
            .count(),
        over_limits: takers().map(excess).sum(),
        imbalance: takers().map(square).sum(),
        moves: unfixed()
            .filter(|unit| holder(problem, *unit).is_some_and(|from| owner(*unit) != Some(from)))
            .count(),
    }
}

/// The sum over topics and members of squared numbers of units over capacities, times the common multiple of these.
fn unevenness(problem: &Problem, owners: &Owners) -> u64 {
    let of_topic = |topic| {
        let mut counts = vec![0_u64; problem.members().len()];
        let owned = problem.units_of(topic).filter_map(|unit| owners[unit.index()]);
        owned.for_each(|owner| counts[owner.index()] += 1);
        let square = |(count, member): (u64, &ProblemMember)| {
            count * count * COMMON * 1_000 / u64::from(member.capacity.thousandths())
        };
        counts.into_iter().zip(problem.members()).map(square).sum::<u64>()
    };
    problem.topic_indices().map(of_topic).sum()
}

/// The legal placement with the least key of those that `may` be taken, with its score and its unevenness by topic.
fn best_of<K: Ord>(
    problem: &Problem,
    may: impl Fn(&Owners) -> bool,
    key: impl Fn(Score, u64) -> K,
) -> (Score, u64, Owners) {
    let fates: Vec<Owners> = problem.unit_indices().map(|unit| fates(problem, unit)).collect();
    let placements: usize = fates.iter().map(Vec::len).product();
    let nth = |mut number: usize| -> Owners {
        let pick = |fates: &Owners| {
            let fate = fates[number % fates.len()];
            number /= fates.len();
            fate
        };
        fates.iter().map(pick).collect()
    };
    (0..placements)
        .map(nth)
        .filter(may)
        .filter_map(|owners| {
            let loads = loads(problem, &owners);
            let uneven = unevenness(problem, &owners);
            is_legal(problem, &owners, &loads).then(|| (score(problem, &owners, &loads), uneven, owners))
        })
        .min_by_key(|(score, uneven, _)| key(score.clone(), *uneven))
        .expect("nobody moves: that is legal")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn no_placement_is_better_than_that_of_balanced(scenario in small_scenario()) {
        let problem = scenario.problem();
        let Placement { owner, .. } = Balanced.assign(&problem);
        let loads = loads(&problem, &owner);
        prop_assert!(is_legal(&problem, &owner, &loads));
        let score = score(&problem, &owner, &loads);
        let above = above_limits(&problem);
        // Of several members above their limits, which ones stay so and which ones take others is not searched for.
        let may = |owners: &Owners| above.len() < 2 || take_nothing(&problem, owners, &above);
        let (least, _, better) = best_of(&problem, may, |score, _| score);
        prop_assert!(score <= least, "{:?} has {:?}, but {:?} has {:?}", owner, score, better, least);
        prop_assert!(score == least || above.len() > 1, "{:?} is better than all there is", owner);
    }

    #[test]
    fn of_placements_as_good_that_of_balanced_spreads_topics_best(scenario in topics_scenario()) {
        let problem = scenario.problem();
        let Placement { owner, .. } = Balanced.assign(&problem);
        let (least, uneven, better) = best_of(&problem, |_| true, |score, uneven| (score, uneven));
        prop_assert_eq!(&score(&problem, &owner, &loads(&problem, &owner)), &least);
        prop_assert_eq!(unevenness(&problem, &owner), uneven, "{:?}, but {:?}", owner, better);
    }

    #[test]
    fn with_moves_to_spend_topics_are_as_even_as_balance_allows(scenario in topics_scenario()) {
        let options = Options { spread_topics: TopicSpread::Moves, ..Options::default() };
        let problem = scenario.problem_with(options);
        let Placement { owner, .. } = Balanced.assign(&problem);
        let key = |score: Score, uneven| (Score { moves: 0, ..score.clone() }, uneven, score.moves);
        let (least, uneven, better) = best_of(&problem, |_| true, key);
        prop_assert_eq!(&score(&problem, &owner, &loads(&problem, &owner)), &least, "{:?}, but {:?}", &owner, &better);
        prop_assert_eq!(unevenness(&problem, &owner), uneven, "{:?}, but {:?}", owner, better);
    }
}
