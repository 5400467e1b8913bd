//! `balanced` next to the broker's own assignor `uniform`: it balances as well or better and, where both balance
//! alike, moves no more. Its `range` is the client's.

use std::collections::BTreeSet;
use std::io::Write as _;

use kafka_assigner_strategies::{Balanced, MemberSpec, Problem, Strategy as _, UnitIndex};

use super::check::owners;
use super::vector::{Outcome, Vector};

const VECTORS: &str = include_str!("../../golden/kafka-server-assignors.jsonl");

/// The problem that the group asks of a strategy: claims are owners, generations mean nothing.
pub(super) fn problem(vector: &Vector) -> Problem {
    let mut builder = Problem::builder();
    for topic in &vector.topics {
        builder.topic(topic.0.as_str(), topic.1);
    }
    for member in &vector.members {
        let subscription = builder.subscription(&member.topics);
        let handle = builder.member(MemberSpec { subscription, ..MemberSpec::new(member.id.as_str()) });
        for (topic, partitions) in &member.owned {
            // Topics may have vanished since, or shrunk.
            let Some(known) = vector.topics.iter().find(|known| known.0 == *topic) else { continue };
            let topic = builder.topic_handle(topic).unwrap();
            let partitions = partitions.iter().filter_map(|partition| u32::try_from(*partition).ok());
            partitions.filter(|at| *at < known.1).for_each(|at| builder.current(topic, at, handle));
        }
    }
    builder.build().unwrap()
}

/// The sum of squared loads, and how many units leave an owner that could have kept them.
fn score(problem: &Problem, owner: impl Fn(UnitIndex) -> Option<String>) -> (usize, usize) {
    let square = |id: &str| {
        let load = problem.unit_indices().filter(|unit| owner(*unit).as_deref() == Some(id)).count();
        load * load
    };
    let squares = problem.members().iter().map(|member| square(&member.id)).sum();
    let left = |unit: &UnitIndex| {
        let holder = problem.current(*unit).filter(|holder| problem.may_own(*unit, *holder));
        holder.is_some_and(|holder| owner(*unit).as_deref() != Some(&*problem.member(holder).id))
    };
    (squares, problem.unit_indices().filter(left).count())
}

/// The owner of the unit according to `outcome`.
fn owner_in(problem: &Problem, outcome: &Outcome, unit: UnitIndex) -> Option<String> {
    let (topic, partition) = problem.topic_of(unit);
    let (name, partition) = (&*problem.topic(topic).name, i32::try_from(partition).unwrap());
    let has =
        |owned: &[(String, Vec<i32>)]| owned.iter().any(|(topic, p)| topic == name && p.contains(&partition));
    outcome.iter().find(|(_, owned)| has(owned)).map(|(id, _)| id.clone())
}

#[test]
fn balanced_is_at_least_as_good_as_the_brokers_uniform_assignor() {
    let (mut checked, mut more_even, mut fewer_moves) = (0, 0, 0);
    let vectors = VECTORS.lines().map(|line| serde_json::from_str::<Vector>(line).unwrap());
    for vector in vectors.filter(|vector| vector.assignor == "uniform") {
        let problem = problem(&vector);
        let placement = Balanced.assign(&problem);
        let named =
            |unit: UnitIndex| placement.owner[unit.index()].map(|owner| problem.member(owner).id.to_string());
        let (ours, moves) = score(&problem, named);
        let (kafkas, kafka_moves) = score(&problem, |unit| owner_in(&problem, &vector.expect, unit));
        assert!(ours <= kafkas, "vector {}: {ours} and {kafkas}", vector.n);
        assert!(ours < kafkas || moves <= kafka_moves, "vector {}: {moves} and {kafka_moves}", vector.n);
        let nobodys: BTreeSet<_> = placement.unassigned.iter().map(|(unit, _)| *unit).collect();
        assert!(nobodys.iter().all(|unit| owner_in(&problem, &vector.expect, *unit).is_none()));
        checked += 1;
        more_even += usize::from(ours < kafkas);
        fewer_moves += usize::from(ours == kafkas && moves < kafka_moves);
    }
    let told = format!(
        "{checked} vectors of uniform checked: {more_even} more even, {fewer_moves} with fewer moves"
    );
    writeln!(std::io::stdout(), "{told}").unwrap();
    assert_eq!(checked, 48);
}

#[test]
fn every_golden_vector_of_the_brokers_range_is_ours() {
    let mut checked = 0;
    let vectors = VECTORS.lines().map(|line| serde_json::from_str::<Vector>(line).unwrap());
    for mut vector in vectors.filter(|vector| vector.assignor == "srange") {
        // The broker's rule does not look at racks.
        vector.topics.iter_mut().for_each(|topic| topic.2.clear());
        vector.assignor = "range".to_owned();
        assert_eq!(owners(&vector.outcome()), owners(&vector.expect), "vector {}", vector.n);
        checked += 1;
    }
    writeln!(std::io::stdout(), "{checked} vectors of the broker's range checked").unwrap();
    assert_eq!(checked, 24);
}
