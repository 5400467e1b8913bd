//! The tests of Kafka Streams' task assignors, as far as they concern owners and standbys. Where
//! Streams lets a task warm up as a replica first and probes until that is done, a handoff does it here, so each
//! change settles at once.

use std::collections::BTreeSet;

use kafka_assigner_strategies::{
    Balanced, CopartitionedSticky, MemberIndex, MemberSpec, Options, Placement, Problem, ProblemBuilder,
    Strategy, TopicHandle,
};

const STRATEGIES: [&dyn Strategy; 2] = [&Balanced, &CopartitionedSticky];

/// Topics with their partitions, that want so many standbys, in a problem whose members need be told.
fn tasks(topics: &[u32], standbys: u32) -> (ProblemBuilder, Vec<TopicHandle>) {
    let mut builder = Problem::builder();
    builder.options(Options { acceptable_lag: 100, ..Options::default() });
    let topics: Vec<_> = (0..)
        .zip(topics)
        .map(|(at, partitions): (u32, _)| builder.topic(format!("t{at:02}"), *partitions))
        .collect();
    topics.iter().for_each(|topic| builder.want_standbys(*topic, standbys));
    (builder, topics)
}

fn id(at: usize) -> String {
    format!("c{at:02}")
}

/// The number of units that each member owns, and the number that it stands by for.
fn loads(problem: &Problem, placement: &Placement) -> (Vec<usize>, Vec<usize>) {
    let owns = |member| placement.owner.iter().filter(|owner| **owner == Some(member)).count();
    let copies =
        |member| problem.unit_indices().filter(|unit| placement.standbys.of(*unit).contains(&member)).count();
    (problem.member_indices().map(owns).collect(), problem.member_indices().map(copies).collect())
}

/// Each unit has an owner and this many standbys, all different.
fn assert_apart(problem: &Problem, placement: &Placement, standbys: usize) {
    for unit in problem.unit_indices() {
        let owner = placement.owner[unit.index()].unwrap();
        let all: BTreeSet<_> = placement.standbys.of(unit).iter().chain([&owner]).collect();
        assert_eq!(all.len(), 1 + standbys, "{unit:?}");
    }
}

/// A group of members `c00` and on with the tasks of `topics`, as `before` left it.
fn group(
    topics: &[u32],
    standbys: u32,
    members: &[usize],
    before: Option<(&Problem, &Placement)>,
) -> Problem {
    let (mut builder, handles) = tasks(topics, standbys);
    for at in members {
        builder.member(MemberSpec::new(id(*at)));
    }
    if let Some((problem, placement)) = before {
        for unit in problem.unit_indices() {
            let (topic, partition) = problem.topic_of(unit);
            let handle = |member: MemberIndex| builder.member_handle(&problem.member(member).id);
            let owner = placement.owner[unit.index()].and_then(handle);
            let copies: Vec<_> =
                placement.standbys.of(unit).iter().filter_map(|copy| handle(*copy)).collect();
            owner.iter().for_each(|owner| builder.current(handles[topic.index()], partition, *owner));
            copies.iter().for_each(|copy| builder.standby(handles[topic.index()], partition, *copy, 0));
        }
    }
    builder.build().unwrap()
}

#[test]
fn tasks_go_to_threads() {
    for strategy in STRATEGIES {
        for (partitions, threads, shares) in
            [(6, &[1.0, 2.0, 3.0][..], &[1, 2, 3][..]), (9, &[6.0, 3.0], &[6, 3]), (3, &[1.0, 2.0], &[1, 2])]
        {
            let (mut builder, _) = tasks(&[partitions], 0);
            for (at, threads) in threads.iter().enumerate() {
                builder.member(MemberSpec { capacity: *threads, ..MemberSpec::new(id(at)) });
            }
            let problem = builder.build().unwrap();
            let (owned, _) = loads(&problem, &strategy.assign(&problem));
            assert_eq!(owned, shares, "{}", strategy.name());
        }
    }
}

#[test]
fn who_is_least_behind_works_and_the_next_stands_by() {
    for strategy in STRATEGIES {
        let (mut builder, topics) = tasks(&[1], 1);
        for (at, lag) in [u64::MAX, 1_000, 500].into_iter().enumerate() {
            let member = builder.member(MemberSpec::new(id(at)));
            builder.standby(topics[0], 0, member, lag);
        }
        let problem = builder.build().unwrap();
        let placement = strategy.assign(&problem);
        assert_eq!(placement.owner, [Some(MemberIndex::new(2))], "{}", strategy.name());
        let unit = problem.unit_indices().next().unwrap();
        assert_eq!(placement.standbys.of(unit), [MemberIndex::new(1)], "{}", strategy.name());
    }
}

#[test]
fn too_few_members_hold_fewer_standbys() {
    for strategy in STRATEGIES {
        let problem = group(&[4], 3, &[0, 1, 2], None);
        assert_apart(&problem, &strategy.assign(&problem), 2);
        let alone = group(&[4], 3, &[0], None);
        assert_apart(&alone, &strategy.assign(&alone), 0);
    }
}

#[test]
fn sixty_topics_with_three_standbys_are_shared_out_among_fifty() {
    let members: Vec<_> = (0..50).collect();
    // Topics of their own sizes: equal ones would go together.
    let topics: Vec<u32> = (1..=60).collect();
    for strategy in STRATEGIES {
        let problem = group(&topics, 3, &members, None);
        let placement = strategy.assign(&problem);
        assert_apart(&problem, &placement, 3);
        let (owned, copies) = loads(&problem, &placement);
        for counts in [owned, copies] {
            assert!(
                counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1,
                "{}: {counts:?}",
                strategy.name()
            );
        }
    }
}

#[test]
fn a_member_comes_and_another_goes_and_each_time_one_run_settles() {
    for strategy in STRATEGIES {
        let mut members: Vec<_> = (0..7).collect();
        let mut problem = group(&[11, 7], 1, &members, None);
        let mut placement = strategy.assign(&problem);
        for change in [Some(7), None, Some(8), None, None] {
            match change {
                Some(joins) => members.push(joins),
                None => drop(members.remove(members.len() / 2)),
            }
            let next = group(&[11, 7], 1, &members, Some((&problem, &placement)));
            let settled = strategy.assign(&next);
            assert_apart(&next, &settled, 1);
            let again = group(&[11, 7], 1, &members, Some((&next, &settled)));
            assert_eq!(strategy.assign(&again).changes(&again).count(), 0, "{}", strategy.name());
            (problem, placement) = (next, settled);
        }
    }
}

#[test]
fn of_two_one_dies_and_comes_back_and_tasks_go_back_once() {
    for strategy in STRATEGIES {
        let both = group(&[6], 0, &[0, 1], None);
        let first = strategy.assign(&both);
        let alone = group(&[6], 0, &[0], Some((&both, &first)));
        let survived = strategy.assign(&alone);
        assert_eq!(survived.changes(&alone).count(), 3);
        let back = group(&[6], 0, &[0, 1], Some((&alone, &survived)));
        let returned = strategy.assign(&back);
        assert_eq!(returned.changes(&back).count(), 3);
        let again = group(&[6], 0, &[0, 1], Some((&back, &returned)));
        assert_eq!(strategy.assign(&again).changes(&again).count(), 0);
    }
}

/// Nine members in three zones share `partitions` with two standbys each.
fn assert_zones(strategy: &dyn Strategy, partitions: u32, most: usize) {
    let (mut builder, _) = tasks(&[partitions], 2);
    for at in 0..9 {
        let rack = Some(builder.rack(&format!("zone-{}", at / 3).into()));
        builder.member(MemberSpec { rack, ..MemberSpec::new(id(at)) });
    }
    let problem = builder.build().unwrap();
    let placement = strategy.assign(&problem);
    assert_apart(&problem, &placement, 2);
    for unit in problem.unit_indices() {
        let holders = placement.standbys.of(unit).iter().copied().chain(placement.owner[unit.index()]);
        let zones: BTreeSet<_> = holders.map(|member| problem.member(member).rack).collect();
        assert_eq!(zones.len(), 3, "{}: {unit:?}", strategy.name());
    }
    assert!(loads(&problem, &placement).1.iter().all(|copies| *copies <= most), "{}", strategy.name());
}

#[test]
fn standbys_are_in_the_other_zones_and_as_many_everywhere() {
    assert_zones(&Balanced, 6, 2);
    for strategy in STRATEGIES {
        assert_zones(strategy, 9, 2);
    }
}
