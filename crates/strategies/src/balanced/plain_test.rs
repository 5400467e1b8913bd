//! Numbers and racks come to what the general way does, from class to class and along the cheapest flow.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::balanced::classes::Classes;
use crate::balanced::roles::Roles;
use crate::balanced::stock::Stock;
use crate::balanced::{deal, equal};
use crate::{MemberSpec, Place, ProblemBuilder, ReplicaRacks};

const RACKS: [&str; 3] = ["north", "south", "west"];

/// Topics of so many partitions; by unit the number of its owner, which is nobody's from `members` on.
fn builder(members: Vec<MemberSpec>, topics: &[u32], owners: &[usize]) -> ProblemBuilder {
    let mut builder = Problem::builder();
    let topics = topics.iter().enumerate();
    let topics: Vec<_> = topics.map(|(at, size)| (builder.topic(format!("t{at}"), *size), *size)).collect();
    let members: Vec<_> = members.into_iter().map(|spec| builder.member(spec)).collect();
    let partitions = topics.iter().flat_map(|(topic, size)| (0..*size).map(|partition| (*topic, partition)));
    for ((topic, partition), owner) in partitions.zip(owners) {
        members.get(*owner).into_iter().for_each(|owner| builder.current(topic, partition, *owner));
    }
    builder
}

fn members(members: usize) -> Vec<MemberSpec> {
    (0..members).map(|at| MemberSpec::new(format!("m{at:02}"))).collect()
}

/// The same with members in racks, by their numbers in [`RACKS`] or none, and each partition in some of them, which are
/// the bits of `replicas`. Some topics know of none, some only of their first partitions.
fn located(racks: &[usize], topics: &[u32], owners: &[usize], replicas: &[u8], shortened: usize) -> Problem {
    let mut builder = builder(Vec::new(), topics, &[]);
    let names = |bits: &u8| {
        let is_there = *bits;
        (0..RACKS.len()).filter(move |rack| is_there >> rack & 1 == 1).map(|rack| RACKS[rack])
    };
    let lists = topics.iter().map(|size| replicas.iter().take((*size as usize).saturating_sub(shortened)));
    let lists = ReplicaRacks::of_topics(lists.map(|list| list.map(names)));
    for (at, racks) in lists.iter().enumerate().filter(|(at, _)| at + 1 != shortened) {
        let topic = builder.topic_handle(&format!("t{at}")).unwrap();
        builder.replica_racks(topic, racks);
    }
    let mut told = Vec::new();
    for (mut spec, rack) in members(racks.len()).into_iter().zip(racks) {
        spec.rack = RACKS.get(*rack).map(|rack| builder.rack(&(*rack).into()));
        told.push(builder.member(spec));
    }
    let partitions = topics.iter().enumerate().flat_map(|(at, size)| (0..*size).map(move |part| (at, part)));
    for ((at, partition), owner) in partitions.zip(owners) {
        let topic = builder.topic_handle(&format!("t{at}")).unwrap();
        told.get(*owner).into_iter().for_each(|owner| builder.current(topic, partition, *owner));
    }
    builder.build().unwrap()
}

/// What the strategy would come to if nothing were plain.
fn in_general(problem: &Problem) -> Vec<Option<MemberIndex>> {
    let roles = Roles::of(problem);
    equal::place(problem, &roles, &Classes::of(problem, &roles, Place::Owner))
}

/// The same if the flow is searched for although all members are alike.
fn by_search(problem: &Problem) -> Vec<Option<MemberIndex>> {
    let roles = Roles::of(problem);
    let classes = Classes::of(problem, &roles, Place::Owner);
    let stock = Stock::of(problem, &roles, &classes);
    let flow = equal::search(problem, &roles, &classes, &stock, equal::accounts(problem, &roles, &stock));
    deal::deal(problem, &classes, stock, flow)
}

fn stretched(owners: &[usize], stretch: usize) -> Vec<usize> {
    owners.iter().flat_map(|owner| std::iter::repeat_n(*owner, stretch)).collect()
}

proptest! {
    #[test]
    fn numbers_come_to_what_the_cheapest_flow_does(
        count in 1..12_usize,
        topics in vec(0..40_u32, 0..4),
        owners in vec(0..14_usize, 120),
        stretch in 1..9_usize,
    ) {
        let problem = builder(members(count), &topics, &stretched(&owners, stretch)).build().unwrap();
        let placed = place(&problem);
        prop_assert_eq!(placed.as_ref(), Some(&in_general(&problem)));
        prop_assert_eq!(placed, Some(by_search(&problem)));
    }

    #[test]
    fn numbers_and_racks_come_to_what_the_cheapest_flow_does(
        racks in vec(0..4_usize, 1..12),
        topics in vec(0..40_u32, 0..4),
        (owners, stretch) in (vec(0..14_usize, 120), 1..9_usize),
        replicas in vec(0..8_u8, 40),
        shortened in 0..4_usize,
    ) {
        let problem = located(&racks, &topics, &stretched(&owners, stretch), &replicas, shortened);
        let placed = place(&problem);
        prop_assert_eq!(placed.as_ref(), Some(&in_general(&problem)));
        prop_assert_eq!(placed, Some(by_search(&problem)));
    }
}

#[test]
fn who_is_not_like_the_others_is_not_plain() {
    let place_three = |tell: fn(&mut MemberSpec)| {
        let mut members = members(3);
        tell(&mut members[0]);
        place(&builder(members, &[5], &[0, 1, 2]).build().unwrap())
    };
    let tellers: [fn(&mut MemberSpec); 5] = [
        |spec| spec.max_partitions = Some(9),
        |spec| spec.capacity = 2.0,
        |spec| spec.state = MemberState::Draining,
        |spec| spec.generation = Some("v2".into()),
        |spec| spec.subscription = Subscription::from_iter([]),
    ];
    for tell in tellers {
        assert_eq!(place_three(tell), None);
    }
    assert!(place_three(|_| {}).is_some());
    assert_eq!(place(&builder(Vec::new(), &[5], &[]).build().unwrap()), None);
}
