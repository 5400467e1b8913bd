//! The plan of the service is what `assign` answers for the same group.
//!
//! The group is played with the service's own records and leader; `assign` is the program, told the group as a line.

use std::collections::BTreeMap;

use kafka_assigner_core::action::Step;
use kafka_assigner_core::record::{Consumer, GroupConfig};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::Member;
use proptest::collection::{btree_set, vec};
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::assign::{answers, assign};

/// Topics of which the first go together.
const TOPICS: [&str; 3] = ["t", "u", "v"];
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The strategies that place for good: `cooperative-sticky` answers `assign` for one round of Kafka's protocol, in which a
/// partition that is to change hands belongs to nobody, and the service moves it in a handoff.
const STRATEGIES: [&str; 7] =
    ["balanced", "sticky-balanced", "copartitioned-sticky", "jump-hash", "range", "roundrobin", "sticky"];

/// By partition its owner.
type Owners = BTreeMap<String, Option<String>>;

#[derive(Clone, Debug)]
struct MemberSketch {
    topics: Vec<&'static str>,
    limit: Option<u32>,
    capacity: f64,
    generation: &'static str,
    rack: &'static str,
    drains: bool,
}

/// A group: partitions by topic, the number of topics that go together, and members of which the last joins late.
#[derive(Clone, Debug)]
struct Sketch {
    strategy: &'static str,
    partitions: Vec<u32>,
    together: usize,
    members: Vec<MemberSketch>,
}

fn member() -> impl Strategy<Value = MemberSketch> {
    let topics = btree_set(select(TOPICS.to_vec()), 1..=3).prop_map(|topics| topics.into_iter().collect());
    let limit = weighted(0.3, 0..9_u32);
    let labels = (select(vec!["", "v1", "v2"]), select(vec!["", "rack-a", "rack-b"]));
    let capacity = select(vec![1.0, 1.0, 2.0]);
    (topics, limit, capacity, labels, proptest::bool::weighted(0.2)).prop_map(
        |(topics, limit, capacity, (generation, rack), drains)| MemberSketch {
            topics,
            limit,
            capacity,
            generation,
            rack,
            drains,
        },
    )
}

fn sketch() -> impl Strategy<Value = Sketch> {
    (select(STRATEGIES.to_vec()), vec(1..=4_u32, 3), 0..=3_usize, vec(member(), 2..=5)).prop_map(
        |(strategy, partitions, together, members)| Sketch { strategy, partitions, together, members },
    )
}

impl Sketch {
    fn topics(&self) -> impl Iterator<Item = (&'static str, u32)> {
        TOPICS.into_iter().zip(self.partitions.clone())
    }

    fn partitions(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.topics().flat_map(|(name, partitions)| (0..partitions).map(move |number| (name, number)))
    }

    /// The topics with their labels, before anybody joins.
    fn empty(&self) -> TestGroup {
        let mut group = TestGroup::default();
        let strategy = self.strategy.to_owned();
        let (max_moves_in_flight, max_warming) = (1_000, 1_000);
        group.configure(&GroupConfig {
            strategy,
            max_moves_in_flight,
            max_warming,
            ..GroupConfig::default()
        });
        for (at, (name, partitions)) in self.topics().enumerate() {
            if at < self.together {
                group.topic_in_set(name, partitions, "s");
            } else {
                group.topic(name, partitions);
            }
        }
        group
    }

    fn join(&self, group: &mut TestGroup, at: usize) -> Member {
        let sketch = &self.members[at];
        group.join_as(NAMES[at], |consumer: &mut Consumer| {
            consumer.topics = sketch.topics.iter().map(|name| name.parse().unwrap()).collect();
            consumer.max_partitions = sketch.limit;
            consumer.capacity = Some(sketch.capacity);
            consumer.generation = sketch.generation.to_owned();
            consumer.rack = sketch.rack.to_owned();
        })
    }

    /// The group at rest, and then some of its members leave in good order while another one joins.
    fn group(&self) -> TestGroup {
        let mut group = self.empty();
        let last = self.members.len() - 1;
        let members: Vec<Member> = (0..last).map(|at| self.join(&mut group, at)).collect();
        group.settle();
        for (at, member) in members.iter().enumerate().filter(|(at, _)| self.drains(*at)) {
            assert!(group.leave(member, &Leaving::Drain), "{}", NAMES[at]);
        }
        self.join(&mut group, last);
        group
    }

    /// The line for `assign`, with the owners that the group has.
    fn line(&self, group: &TestGroup) -> Value {
        let topics: Vec<Value> = self.topics().map(|(name, partitions)| json!([name, partitions])).collect();
        let members: Vec<Value> = (0..self.members.len()).map(|at| self.told(group, at)).collect();
        let together: Vec<&str> = TOPICS.into_iter().take(self.together).collect();
        let sets = if together.len() > 1 { vec![together] } else { Vec::new() };
        json!({"topics": topics, "members": members, "copartition": sets})
    }

    fn told(&self, group: &TestGroup, at: usize) -> Value {
        let (name, sketch) = (NAMES[at], &self.members[at]);
        let is_its = |topic, number| group.owner(&tp(topic, number)) == Some(name);
        let owned = self.topics().map(|(topic, partitions)| {
            json!([topic, (0..partitions).filter(|number| is_its(topic, *number)).collect::<Vec<_>>()])
        });
        json!({
            "id": name, "topics": sketch.topics, "owned": owned.collect::<Vec<_>>(), "max_partitions": sketch.limit,
            "capacity": sketch.capacity, "rack": sketch.rack,
            "generation": Some(sketch.generation).filter(|label| !label.is_empty()),
            "state": if self.drains(at) { "draining" } else { "active" },
        })
    }

    /// The one that joins last does not drain.
    fn drains(&self, at: usize) -> bool {
        self.members[at].drains && at + 1 < self.members.len()
    }

    /// The owners that the service plans.
    fn planned(&self, group: &TestGroup) -> Owners {
        let owner = |(topic, number)| {
            (format!("{topic}/{number}"), group.owner(&tp(topic, number)).map(str::to_owned))
        };
        let mut owners: Owners = self.partitions().map(owner).collect();
        for action in group.plan().actions {
            if let Step::Begin { to, .. } | Step::Grant { to, .. } = &action.step {
                let unit = action.unit.iter().map(ToString::to_string);
                owners.extend(unit.map(|at| (at, Some(to.name.to_string()))));
            }
        }
        owners
    }

    /// The owners that `assign` answers.
    fn answered(&self, answer: &Value) -> Owners {
        let mut owners: Owners =
            self.partitions().map(|(topic, number)| (format!("{topic}/{number}"), None)).collect();
        for (member, topics) in answer["assignment"].as_object().expect("an assignment") {
            for topic in topics.as_array().expect("topics") {
                let name = topic[0].as_str().expect("a topic");
                for number in topic[1].as_array().expect("partitions") {
                    owners.insert(format!("{name}/{number}"), Some(member.clone()));
                }
            }
        }
        owners
    }
}

proptest! {
    // Each case is a few hundred groups, one question to the program for each strategy.
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn the_service_plans_what_assign_answers(sketches in vec(sketch(), 300)) {
        for strategy in STRATEGIES {
            let asked: Vec<&Sketch> = sketches.iter().filter(|sketch| sketch.strategy == strategy).collect();
            let groups: Vec<TestGroup> = asked.iter().map(|sketch| sketch.group()).collect();
            let lines: String =
                asked.iter().zip(&groups).map(|(sketch, group)| format!("{}\n", sketch.line(group))).collect();
            let answers = answers(&assign(strategy, lines.as_bytes()));
            prop_assert_eq!(answers.len(), asked.len());
            for ((sketch, group), answer) in asked.into_iter().zip(&groups).zip(&answers) {
                prop_assert_eq!(sketch.planned(group), sketch.answered(answer), "{:?} {}", sketch, sketch.line(group));
            }
        }
    }
}
