//! Large groups with mixed subscriptions, of the shapes that took the broker's uniform assignor minutes, placed by
//! `balanced`: each comes to an end, is even, and moves nothing that can stay. How long that takes, the benchmarks tell.

use kafka_assigner_strategies::{Balanced, MemberSpec, Placement, Problem, Strategy as _};

const MEMBERS: usize = 500;
const TOPICS: usize = 100;
const PARTITIONS: u32 = 200;

/// Member `at`, if it `is_there`, subscribes to the topics that `wants` says, and has what it had `before`.
fn group(
    wants: impl Fn(usize, usize) -> bool,
    is_there: impl Fn(usize) -> bool,
    before: Option<(&Problem, &Placement)>,
) -> Problem {
    let mut builder = Problem::builder();
    let topics: Vec<_> = (0..TOPICS).map(|topic| builder.topic(format!("t{topic:03}"), PARTITIONS)).collect();
    for at in (0..MEMBERS).filter(|at| is_there(*at)) {
        let subscription = (0..TOPICS).filter(|topic| wants(at, *topic)).map(|topic| topics[topic]).collect();
        builder.member(MemberSpec { subscription, ..MemberSpec::new(format!("m{at:03}")) });
    }
    let owners = before.iter().flat_map(|(problem, placement)| {
        let owned = problem.unit_indices().zip(placement.owner.iter().flatten());
        owned.map(|(unit, owner)| (problem.topic_of(unit), &problem.member(*owner).id))
    });
    for ((topic, partition), id) in owners {
        if let Some(owner) = builder.member_handle(id) {
            builder.current(topics[topic.index()], partition, owner);
        }
    }
    builder.build().unwrap()
}

/// Places `problem`; everything is somebody's who subscribes to it, and nothing that a member has goes to another.
fn placed(problem: &Problem) -> Placement {
    let placement = Balanced.assign(problem);
    assert_eq!(placement.unassigned, []);
    let owners = problem.unit_indices().zip(placement.owner.iter().flatten());
    assert!(owners.into_iter().all(|(unit, owner)| problem.may_own(unit, *owner)));
    assert_eq!(placement.changes(problem).filter(|(_, from, _)| from.is_some()).count(), 0);
    placement
}

/// The fewest and the most units that any member has.
fn extremes(problem: &Problem, placement: &Placement) -> [u32; 2] {
    let mut loads = vec![0; problem.members().len()];
    placement.owner.iter().flatten().for_each(|owner| loads[owner.index()] += 1);
    [loads.iter().min(), loads.iter().max()].map(|load| *load.unwrap())
}

/// A fresh placement, one after a member has left, and then nothing moves.
fn place_and_leave(wants: impl Fn(usize, usize) -> bool) {
    let fresh = group(&wants, |_| true, None);
    let placement = placed(&fresh);
    assert_eq!(extremes(&fresh, &placement), [40, 40]);
    let left = group(&wants, |at| at != 7, Some((&fresh, &placement)));
    let placement = placed(&left);
    assert_eq!(extremes(&left, &placement), [40, 41]);
    let settled = group(&wants, |at| at != 7, Some((&left, &placement)));
    assert_eq!(placed(&settled).changes(&settled).count(), 0);
}

#[test]
fn kafka_17710_halves_that_overlap_come_out_even() {
    place_and_leave(|member, topic| match member % 4 {
        0 | 1 => topic % 2 == member % 4,
        2 => topic < TOPICS / 2,
        _ => topic >= TOPICS / 2,
    });
}

#[test]
fn kafka_19909_disjoint_buckets_come_out_even() {
    place_and_leave(|member, topic| member / 100 == topic / 20);
}
