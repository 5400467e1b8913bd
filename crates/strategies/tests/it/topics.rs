//! `balanced` spreads each topic evenly over members.

use kafka_assigner_strategies::{
    Balanced, MemberIndex, MemberSpec, Options, Problem, Strategy as _, TopicSpread,
};
use proptest::collection::vec;
use proptest::prelude::*;

type Owners = Vec<Option<MemberIndex>>;

/// By topic and member how many units.
fn by_topic(problem: &Problem, owners: &Owners) -> Vec<Vec<u32>> {
    let of_topic = |topic| {
        let mut counts = vec![0; problem.members().len()];
        let owned = problem.units_of(topic).filter_map(|unit| owners[unit.index()]);
        owned.for_each(|owner| counts[owner.index()] += 1);
        counts
    };
    problem.topic_indices().map(of_topic).collect()
}

/// By topic the difference between the members with the most and the fewest of its units.
fn spans(problem: &Problem, owners: &Owners) -> Vec<u32> {
    let span = |counts: Vec<u32>| counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0);
    by_topic(problem, owners).into_iter().map(span).collect()
}

fn alike(members: usize, topics: &[u32]) -> Problem {
    let mut builder = Problem::builder();
    for (at, partitions) in topics.iter().enumerate() {
        builder.topic(format!("t{at:03}"), *partitions);
    }
    for at in 0..members {
        builder.member(MemberSpec::new(format!("m{at:03}")));
    }
    builder.build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn members_that_are_alike_get_fresh_topics_within_one_partition(
        members in 1..40_usize,
        topics in vec(0..90_u32, 0..30),
    ) {
        let problem = alike(members, &topics);
        let owners = Balanced.assign(&problem).owner;
        prop_assert!(spans(&problem, &owners).iter().all(|span| *span <= 1), "{:?}", spans(&problem, &owners));
    }
}

#[test]
fn two_members_share_each_of_two_topics() {
    let problem = alike(2, &[4, 4]);
    let owners = Balanced.assign(&problem).owner;
    assert_eq!(by_topic(&problem, &owners), [[2, 2], [2, 2]]);
}

/// Topics of so many partitions that `m0` owns, and another member.
fn all_with_one(topics: &[u32]) -> Problem {
    let mut builder = Problem::builder();
    let topics: Vec<_> =
        (0..).zip(topics).map(|(at, size)| (builder.topic(format!("t{at}"), *size), *size)).collect();
    let owner = builder.member(MemberSpec::new("m0"));
    builder.member(MemberSpec::new("m1"));
    for (topic, size) in topics {
        (0..size).for_each(|partition| builder.current(topic, partition, owner));
    }
    builder.build().unwrap()
}

#[test]
fn a_join_takes_from_the_topics_in_turn() {
    let problem = all_with_one(&[12, 12]);
    let placement = Balanced.assign(&problem);
    assert_eq!(by_topic(&problem, &placement.owner), [[6, 6], [6, 6]]);
    assert_eq!(placement.moves(&problem).len(), 12);
}

#[test]
fn a_join_of_a_large_group_takes_one_of_each_topic() {
    let problem = alike(30, &[30; 31]);
    let before = Balanced.assign(&problem).owner;
    let mut builder = Problem::builder();
    let topics: Vec<_> = (0..31).map(|at| builder.topic(format!("t{at:03}"), 30)).collect();
    let members: Vec<_> = (0..31).map(|at| builder.member(MemberSpec::new(format!("m{at:03}")))).collect();
    for (at, owner) in before.iter().enumerate() {
        let partition = u32::try_from(at % 30).unwrap();
        builder.current(topics[at / 30], partition, members[owner.unwrap().index()]);
    }
    let joined = builder.build().unwrap();
    let placement = Balanced.assign(&joined);
    assert_eq!(placement.moves(&joined).len(), 30);
    assert!(spans(&joined, &placement.owner).iter().all(|span| *span <= 1));
}

#[test]
fn spreads_as_even_at_unequal_capacities_cost_no_move() {
    let mut builder = Problem::builder();
    builder.options(Options { spread_topics: TopicSpread::Moves, ..Options::default() });
    let topics = ["t0", "t1"].map(|id| builder.topic(id.to_owned(), if id == "t1" { 2 } else { 0 }));
    builder.member(MemberSpec { capacity: 3.0, ..MemberSpec::new("m0") });
    let owner = builder.member(MemberSpec::new("m1"));
    builder.current(topics[1], 0, owner);
    let problem = builder.build().unwrap();
    // Two at m0 are 4/3, and one at each 1/3 + 1.
    let moves = Balanced.assign(&problem).moves(&problem);
    assert_eq!(moves.iter().filter(|each| each.from.is_some()).count(), 0, "{moves:?}");
}

/// By member the sum of the weights that it has, in thousandths.
fn loads(problem: &Problem, owners: &Owners) -> Vec<u64> {
    let mut loads = vec![0; problem.members().len()];
    for unit in problem.unit_indices() {
        let owner = owners[unit.index()].into_iter();
        owner.for_each(|owner| loads[owner.index()] += problem.weight(unit).thousandths());
    }
    loads
}

#[test]
fn topics_of_one_weight_lie_evenly_beside_heavier_ones() {
    let mut builder = Problem::builder();
    let light = ["t0", "t1"].map(|name| builder.topic(name, 6));
    let heavy = builder.topic("t2", 3);
    let owners = ["m0", "m1", "m2"].map(|name| builder.member(MemberSpec::new(name)));
    (0..3).for_each(|partition| builder.weight(heavy, partition, 2.0));
    // Each member has as much as the others, and the light topics lie with two of them.
    for (partition, owner) in (0..6).zip([0, 0, 0, 0, 1, 1]) {
        builder.current(light[0], partition, owners[owner]);
    }
    for (partition, owner) in (0..6).zip([1, 1, 2, 2, 2, 2]) {
        builder.current(light[1], partition, owners[owner]);
    }
    (0..3).zip(owners).for_each(|(partition, owner)| builder.current(heavy, partition, owner));
    builder.options(Options { spread_topics: TopicSpread::Moves, ..Options::default() });
    let problem = builder.build().unwrap();
    let placed = Balanced.assign(&problem).owner;
    assert_eq!(loads(&problem, &placed), [6_000; 3]);
    assert_eq!(spans(&problem, &placed), [0, 0, 0]);
}
