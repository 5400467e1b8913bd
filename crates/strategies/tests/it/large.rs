//! Large groups with mixed subscriptions, of the shapes that took the broker's uniform assignor minutes, placed by
//! `balanced`: each comes to an end, is even, and moves nothing that can stay. How long that takes, the benchmarks tell.

use kafka_assigner_strategies::{Balanced, MemberSpec, Placement, Problem, Strategy as _};

const MEMBERS: usize = 500;
const TOPICS: usize = 100;
const PARTITIONS: u32 = 200;

/// Member `at` subscribes to the topics that `wants` says.
fn group(wants: impl Fn(usize, usize) -> bool) -> Problem {
    let mut builder = Problem::builder();
    let topics: Vec<_> = (0..TOPICS).map(|topic| builder.topic(format!("t{topic:03}"), PARTITIONS)).collect();
    for at in 0..MEMBERS {
        let subscription = (0..TOPICS).filter(|topic| wants(at, *topic)).map(|topic| topics[topic]).collect();
        builder.member(MemberSpec { subscription, ..MemberSpec::new(format!("m{at:03}")) });
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
    let fresh = group(wants);
    let placement = placed(&fresh);
    assert_eq!(extremes(&fresh, &placement), [40, 40]);
    let leaver = fresh.member_named("m007").unwrap();
    let left = fresh.after(placement).without(leaver);
    let placement = placed(&left);
    assert_eq!(extremes(&left, &placement), [40, 41]);
    let settled = left.after(placement);
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
