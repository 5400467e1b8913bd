//! The tests of the broker's assignors, for `balanced` and `range`: how many partitions each member gets, and how
//! many leave a member that could have kept them. Which ones the broker gives depends on topic ids there.

use std::collections::BTreeMap;

use kafka_assigner_strategies::{Balanced, Strategy as _};

use super::broker::problem;
use super::notation::{gives, group};
use super::vector::{Member, Outcome, Topic, Vector};

/// Loads by member, and moves.
fn placed(vector: &Vector) -> (Vec<usize>, usize) {
    let problem = problem(vector);
    let placement = Balanced.assign(&problem);
    let load = |member: &Member| {
        let index = problem.member_named(&member.id);
        placement.owner.iter().filter(|owner| **owner == index).count()
    };
    let moves = problem.unit_indices().filter(|unit| {
        let today = problem.current(*unit);
        let may_keep = today.is_some_and(|owner| problem.may_own(*unit, owner));
        may_keep && placement.owner[unit.index()] != today
    });
    (vector.members.iter().map(load).collect(), moves.count())
}

fn balanced(topics: &str, members: &str) -> (Vec<usize>, usize) {
    placed(&group("balanced", topics, members))
}

#[test]
fn alike_fresh() {
    assert_eq!(balanced("T1=3 T3=2", "A{T1,T3} | B{T1,T3}"), (vec![3, 2], 0));
    assert_eq!(balanced("T3=2", "A{T3} | B{T3} | C{T3}"), (vec![1, 1, 0], 0));
    assert_eq!(balanced("T1=3", "A{}"), (vec![0], 0));
    assert_eq!(balanced("", "A{T1}"), (vec![0], 0));
    let names: Vec<_> = (0..99).map(|at| format!("T{at:02}")).collect();
    let member = |at| Member { id: format!("M{at:02}"), topics: names.clone(), ..Member::default() };
    let vector = Vector {
        n: 0,
        assignor: String::new(),
        topics: names.iter().map(|name| Topic(name.clone(), 3, Vec::new())).collect(),
        members: (0..49).map(member).collect(),
        expect: Outcome::new(),
    };
    assert!(placed(&vector).0.iter().all(|load| [6, 7].contains(load)));
}

#[test]
fn alike_from_one_placement_to_the_next() {
    let uneven = "A{T1,T2} own T1-0,1 T2-0,1 | B{T1,T2} own T1-2 T2-2";
    assert_eq!(balanced("T1=3 T2=3", uneven), (vec![3, 3], 1));
    let even = "A{T1,T2} own T1-0,2 T2-0 | B{T1,T2} own T1-1 T2-1,2";
    assert_eq!(balanced("T1=6 T2=5", even), (vec![6, 5], 0));
    assert_eq!(balanced("T1=3 T2=3", &format!("{even} | C{{T1,T2}}")), (vec![2, 2, 2], 2));
    let left = "A{T1,T2} own T1-0,2 | B{T1,T2} own T1-1 T2-1";
    assert_eq!(balanced("T1=3 T2=3", left), (vec![3, 3], 0));
    let narrowed = "A{T2} own T1-0,2 T2-0 | B{T2} own T1-1 T2-1,2";
    assert_eq!(balanced("T1=3 T2=3", narrowed), (vec![1, 2], 0));
    let whole = "A{T1,T2,T3} own T1-0,1 T2-0,1 T3-0,1 | B{T1,T2,T3}";
    assert_eq!(balanced("T1=2 T2=2 T3=2", whole), (vec![3, 3], 3));
}

#[test]
fn mixed_fresh() {
    let loads = balanced("T1=3 T3=6", "A{T1,T3} | B{T3}").0;
    assert!(loads.iter().all(|load| [4, 5].contains(load)), "{loads:?}");
    assert_eq!(balanced("T3=1 T1=2", "A{T3} | B{T3} | C{T1}"), (vec![1, 0, 2], 0));
    assert_eq!(balanced("T1=3 T3=6", "A{T1,T3} | B{}").0, [9, 0]);
}

#[test]
fn mixed_from_one_placement_to_the_next() {
    let chain = "A{T1} own T1-0,1,2 | B{T1,T2} own T1-3 T2-0 | C{T1,T2,T3} own T1-4,5 T2-1,2,3 T3-0,1,2,3";
    // Kafka gets there with four moves as well.
    let (mut loads, moves) = balanced("T1=6 T2=4 T3=4", chain);
    loads.sort_unstable();
    assert_eq!((loads, moves), (vec![4, 5, 5], 4));
    let grown = "A{T1,T3} own T1-0,1 T3-0,1 | B{T1,T2,T3,T4} own T2-0,1 T4-0,1";
    let (mut loads, moves) = balanced("T1=6 T2=5 T3=3 T4=3", grown);
    loads.sort_unstable();
    assert_eq!((loads, moves), (vec![8, 9], 0));
    let joined = "A{T1} own T1-0,2 | B{T1,T2} own T1-1 T2-0,1,2 | C{T2}";
    let (mut loads, moves) = balanced("T1=6 T2=7", joined);
    loads.sort_unstable();
    assert_eq!((loads, moves), (vec![4, 4, 5], 0));
    let narrowed = "A{T1} own T1-0,1,2 T2-0,1 | B{T2} own T2-2,3,4";
    assert_eq!(balanced("T1=3 T2=5", narrowed), (vec![3, 5], 0));
}

#[test]
fn the_brokers_range_is_the_clients() {
    assert_eq!(gives("range", "T1=3 T3=2", "A{T1,T3} | B{T1,T3}"), "T1-0,1 T3-0 | T1-2 T3-1");
    let mixed = "A{T1,T2} | B{T3} | C{T2,T3}";
    assert_eq!(gives("range", "T1=3 T2=3 T3=2", mixed), "T1-0,1,2 T2-0,1 | T3-0 | T2-2 T3-1");
    // It is not sticky: what members have makes no difference.
    let owned = "A{T1,T2} own T2-2 gen 1 | B{T3} own T3-1 gen 1 | C{T2,T3} own T2-0,1 gen 1";
    assert_eq!(gives("range", "T1=3 T2=3 T3=2", owned), gives("range", "T1=3 T2=3 T3=2", mixed));
}

#[test]
fn range_shares_are_contiguous_and_the_first_get_one_more() {
    for (partitions, members) in (0..=20_u32).flat_map(|n| (1..=8_u32).map(move |m| (n, m))) {
        let list: Vec<_> = (0..members).map(|at| format!("c{at}{{t}}")).collect();
        let outcome = group("range", &format!("t={partitions}"), &list.join(" | ")).outcome();
        let all: BTreeMap<_, _> = outcome.iter().collect();
        let mut next = 0..partitions.cast_signed();
        for (at, lists) in (0..).zip(all.values()) {
            let share = partitions / members + u32::from(at < partitions % members);
            let expected: Vec<_> = next.by_ref().take(share as usize).collect();
            assert_eq!(lists.first().map_or(&[][..], |(_, list)| list), expected);
        }
        assert_eq!(next.len(), 0);
    }
}
