//! The plan of a group is the answer that its partitions, sets and limits have offline.

use std::collections::BTreeMap;

use kafka_assigner_core::action::Step;
use kafka_assigner_core::record::GroupConfig;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_strategies::sets::place;
use kafka_assigner_strategies::{MemberSpec, Problem, by_name};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;

/// Topics of which the first go together.
const TOPICS: [&str; 3] = ["t", "u", "v"];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A group: partitions by topic, how many topics go together, and consumers with their limits.
#[derive(Clone, Debug)]
struct Sketch {
    strategy: &'static str,
    partitions: Vec<u32>,
    together: usize,
    limits: Vec<Option<u32>>,
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let strategies =
        select(vec!["balanced", "sticky-balanced", "jump-hash", "range", "copartitioned-sticky"]);
    (strategies, vec(1..=4_u32, 3), 0..=3_usize, vec(weighted(0.5, 0..9_u32), 1..=3)).prop_map(
        |(strategy, partitions, together, limits)| Sketch { strategy, partitions, together, limits },
    )
}

fn names(sketch: &Sketch) -> impl Iterator<Item = (&'static str, u32)> {
    TOPICS.into_iter().zip(sketch.partitions.clone())
}

/// The topics with their labels, before anybody joins.
fn empty(sketch: &Sketch) -> TestGroup {
    let mut group = TestGroup::default();
    let strategy = sketch.strategy.to_owned();
    group.configure(&GroupConfig {
        strategy,
        max_moves_in_flight: 1_000,
        max_warming: 1_000,
        ..GroupConfig::default()
    });
    for (at, (name, partitions)) in names(sketch).enumerate() {
        if at < sketch.together {
            group.topic_in_set(name, partitions, "s");
        } else {
            group.topic(name, partitions);
        }
    }
    group
}

/// By partition the owner that it has offline, with members and owners as in the group.
fn offline(
    sketch: &Sketch,
    group: &TestGroup,
    members: &[(&'static str, Option<u32>)],
) -> BTreeMap<String, Option<String>> {
    let mut builder = Problem::builder();
    let topics: Vec<_> = names(sketch).map(|(name, partitions)| builder.topic(name, partitions)).collect();
    let mut handles = BTreeMap::new();
    for (name, limit) in members {
        let spec = MemberSpec { max_partitions: *limit, ..MemberSpec::new(*name) };
        handles.insert(*name, builder.member(spec));
    }
    for (topic, (name, partitions)) in topics.iter().zip(names(sketch)) {
        for number in 0..partitions {
            let owner = group.owner(&tp(name, number)).and_then(|owner| handles.get(owner));
            owner.iter().for_each(|owner| builder.current(*topic, number, **owner));
        }
    }
    let problem = builder.build().unwrap();
    let set = TOPICS.iter().take(sketch.together).map(|name| problem.topic_named(name).unwrap()).collect();
    let placed = place(&problem, &[set], by_name(sketch.strategy).unwrap());
    let told = |(at, owner): (usize, &Option<_>)| {
        let (topic, number) = problem.topic_of(kafka_assigner_strategies::UnitIndex::new(at));
        let owner = owner.map(|owner| problem.member(owner).id.to_string());
        (format!("{}/{number}", problem.topic(topic).name), owner)
    };
    placed.placement.owner.iter().enumerate().map(told).collect()
}

/// By partition the owner that it has, or gets by the plan.
fn online(sketch: &Sketch, group: &TestGroup) -> BTreeMap<String, Option<String>> {
    let mut owners = BTreeMap::new();
    for (name, partitions) in names(sketch) {
        for number in 0..partitions {
            owners.insert(format!("{name}/{number}"), group.owner(&tp(name, number)).map(str::to_owned));
        }
    }
    for action in group.plan().actions {
        if let Step::Begin { to, .. } | Step::Grant { to, .. } = &action.step {
            let unit = action.unit.iter().map(ToString::to_string);
            owners.extend(unit.map(|at| (at, Some(to.name.to_string()))));
        }
    }
    owners
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_plan_is_the_answer_that_the_group_has_offline(sketch in sketch(), joins in weighted(0.7, 0..9_u32)) {
        let mut group = empty(&sketch);
        let mut members = Vec::new();
        for (name, limit) in NAMES.into_iter().zip(sketch.limits.clone()) {
            group.join_as(name, |consumer| consumer.max_partitions = limit);
            members.push((name, limit));
        }
        prop_assert_eq!(online(&sketch, &group), offline(&sketch, &group, &members));
        group.settle();
        group.join_as("d", |consumer| consumer.max_partitions = joins);
        members.push(("d", joins));
        prop_assert_eq!(online(&sketch, &group), offline(&sketch, &group, &members));
    }
}
