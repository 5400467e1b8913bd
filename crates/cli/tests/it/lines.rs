//! Random lines that say everything there is to say, and what must hold of the answer to any line.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use crate::assign::{answers, assign, holders};

const TOPICS: [&str; 3] = ["x", "y", "z"];
const MEMBERS: [&str; 4] = ["a", "b", "c", "d"];
const STRATEGIES: [&str; 8] = [
    "balanced",
    "sticky-balanced",
    "copartitioned-sticky",
    "jump-hash",
    "range",
    "roundrobin",
    "sticky",
    "cooperative-sticky",
];

/// Partitions of topics, of which some do not exist.
fn partitions() -> impl Strategy<Value = Value> {
    let many = prop_oneof![1 => Just(0_usize), 2 => 1..8_usize];
    many.prop_flat_map(|many| vec((select(&TOPICS[..]), 0..6_u32), many)).prop_map(|all| {
        let list = all.into_iter().map(|(topic, partition)| json!([topic, [partition]]));
        list.collect()
    })
}

fn member() -> impl Strategy<Value = Value> {
    let topics = prop_oneof![3 => Just(TOPICS.to_vec()), 1 => subsequence(TOPICS.to_vec(), 0..=3)];
    let state = prop_oneof![4 => Just("active"), 1 => Just("hold"), 1 => Just("draining")];
    let amounts = (option::of(1..4_u32), option::weighted(0.3, 0..9_u32), option::of(0..3_i32));
    (topics, partitions(), partitions(), state, amounts).prop_map(
        |(topics, owned, copies, state, (capacity, limit, generation))| {
            json!({
                "topics": topics, "owned": owned, "standby_for": copies, "state": state,
                "capacity": capacity, "max_partitions": limit, "gen": generation,
            })
        },
    )
}

/// Pins or bans of partitions of which each topic has enough, by members of which there are so many.
fn pairs() -> impl Strategy<Value = Vec<(usize, u32, usize)>> {
    vec((0..TOPICS.len(), 0..5_u32, 0..MEMBERS.len()), 0..4)
}

/// A line; those about sets, states and limits are as common as those without.
pub(crate) fn line() -> impl Strategy<Value = Value> {
    let sets = select(vec![
        json!([]),
        json!([["x", "y"]]),
        json!([["z", "x"], []]),
        json!([["x", "y", "z"]]),
        json!([["y", "x"], ["z"]]),
    ]);
    let weights = option::of(vec(0..5_u32, 5));
    let wanted = (0..3_u32, option::weighted(0.3, 0..6_u32));
    (vec(0..6_u32, 3), weights, sets, vec(member(), 0..=4), pairs(), pairs(), wanted).prop_map(
        |(sizes, weights, sets, mut members, pins, bans, (standbys, budget))| {
            let known = |pairs: Vec<(usize, u32, usize)>| -> Value {
                let exists = |(topic, at, member): &(usize, u32, usize)| {
                    *at < sizes[*topic] && *member < members.len()
                };
                let named =
                    |(topic, at, member): (usize, u32, usize)| json!([TOPICS[topic], at, MEMBERS[member]]);
                pairs.into_iter().filter(exists).map(named).collect()
            };
            let (pins, bans) = (known(pins), known(bans));
            members.iter_mut().zip(MEMBERS).for_each(|(member, id)| member["id"] = json!(id));
            let weights = weights.filter(|_| sizes[0] == 5);
            json!({
                "topics": [["x", sizes[0], null, weights], ["y", sizes[1]], ["z", sizes[2]]],
                "members": members, "copartition": sets, "pins": pins, "bans": bans,
                "standbys": standbys, "options": {"movement_budget": budget},
            })
        },
    )
}

/// The entries of a list; none where there is none.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A line as those read it who check the answer.
struct Told<'a>(&'a Value);

impl Told<'_> {
    fn member(&self, id: &str) -> &Value {
        list(&self.0["members"]).find(|member| member["id"] == id).unwrap()
    }

    /// The topics that go with one, and itself.
    fn set(&self, topic: &Value) -> Vec<Value> {
        let set = list(&self.0["copartition"]).find(|set| list(set).any(|other| other == topic));
        set.map_or_else(|| vec![topic.clone()], |set| list(set).cloned().collect())
    }

    fn is_subscribed(&self, id: &str, set: &[Value]) -> bool {
        set.iter().all(|topic| list(&self.member(id)["topics"]).any(|listed| listed == topic))
    }

    /// The members that are named with the partition of one topic, in `pins` or `bans`.
    fn named(&self, field: &str, topic: &Value, partition: u64) -> Vec<&str> {
        let of_it = list(&self.0[field]).filter(|pair| pair[0] == *topic && pair[1] == partition);
        of_it.map(|pair| pair[2].as_str().unwrap()).collect()
    }

    fn is_banned(&self, id: &str, set: &[Value], partition: u64) -> bool {
        set.iter().any(|topic| self.named("bans", topic, partition).contains(&id))
    }

    /// The members to whom all pins of what goes with the partition allow; nothing where there are no pins.
    fn pinned(&self, set: &[Value], partition: u64) -> Option<Vec<&str>> {
        let pins = set.iter().map(|topic| self.named("pins", topic, partition));
        pins.filter(|pins| !pins.is_empty())
            .reduce(|common, pins| common.into_iter().filter(|id| pins.contains(id)).collect())
    }

    /// True if the partition may be with `id`.
    fn may_own(&self, id: &str, set: &[Value], partition: u64) -> bool {
        let can_have = |id: &str| self.is_subscribed(id, set) && !self.is_banned(id, set, partition);
        let can_take =
            |id: &&str| can_have(id) && matches!(self.member(id)["state"].as_str(), None | Some("active"));
        let pinned = self.pinned(set, partition).filter(|pinned| pinned.iter().any(can_take));
        can_have(id) && pinned.is_none_or(|pinned| pinned.contains(&id))
    }

    /// The most partitions that `id` may get. Who owns some may keep them above its limit, if nobody else can have them.
    fn limit(&self, id: &str) -> Option<u64> {
        let member = self.member(id);
        member["max_partitions"].as_u64().filter(|_| list(&member["owned"]).next().is_none())
    }

    fn standbys(&self, topic: &str) -> u64 {
        let told = &self.0["standbys"];
        told.as_u64().or_else(|| told[topic].as_u64()).unwrap_or_default()
    }
}

/// Asserts what must hold of the answer to a line that is not refused.
pub(crate) fn check(line: &Value, answer: &Value) {
    let told = Told(line);
    assert!(
        answer["moves"].as_u64() >= answer["moves_lower_bound"].as_u64(),
        "fewer moves than there must be"
    );
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for topic in list(&line["topics"]) {
        let (name, set) = (topic[0].as_str().unwrap(), told.set(&topic[0]));
        let (owners, copies) = (holders(&answer["assignment"], name), holders(&answer["standbys"], name));
        for partition in 0..topic[1].as_u64().unwrap() {
            let is_it = |other: &&Value| other["topic"] == topic[0] && other["partition"] == partition;
            let nobodys = list(&answer["unassigned"]).filter(is_it).count();
            let owners = owners.get(&partition).map_or(&[][..], |owners| owners);
            assert_eq!(owners.len() + nobodys, 1, "{name}/{partition} has one owner, or nobody");
            for owner in owners {
                assert!(told.may_own(owner, &set, partition), "{owner} may not own {name}/{partition}");
                *counts.entry(owner.clone()).or_default() += 1;
            }
            let copies = copies.get(&partition).map_or(&[][..], |copies| copies);
            assert!(copies.len() as u64 <= told.standbys(name), "{name}/{partition} has too many standbys");
            assert!(
                copies.iter().all(|copy| !owners.contains(copy)),
                "{name}/{partition} has its copy at home"
            );
        }
    }
    for (id, count) in counts {
        assert!(told.limit(&id).is_none_or(|limit| count <= limit), "{id} gets {count}");
    }
}

/// Asserts that what goes together does, but for what the answer says to be split.
fn together(line: &Value, answer: &Value) {
    for set in list(&line["copartition"]) {
        let is_split = |partition: u64| {
            list(&answer["split"]).any(|at| at[1] == partition && list(set).any(|topic| *topic == at[0]))
        };
        let mut owners: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for topic in list(set) {
            let whole = holders(&answer["assignment"], topic.as_str().unwrap()).into_iter();
            for (partition, owner) in whole.filter(|(partition, _)| !is_split(*partition)) {
                assert_eq!(*owners.entry(partition).or_insert_with(|| owner.clone()), owner);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn answers_keep_to_what_lines_say(lines in vec(line(), 200)) {
        let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
        for strategy in STRATEGIES {
            let answers = answers(&assign(strategy, input.as_bytes()));
            prop_assert_eq!(answers.len(), lines.len());
            for (line, answer) in lines.iter().zip(&answers) {
                let outcome = std::panic::catch_unwind(|| match answer["field"].as_str() {
                    Some(field) => assert!(field.starts_with("pins["), "{field} is refused"),
                    None => {
                        check(line, answer);
                        together(line, answer);
                    }
                });
                prop_assert!(outcome.is_ok(), "{}\n{}\n{}", strategy, line, answer);
            }
        }
    }
}
