//! Groups and results in a line of text.

use std::collections::BTreeMap;

use super::vector::{Member, OfTopic, Outcome, Topic, Vector};

/// A group. Topics look like `t=3` or, with the racks of each partition's replicas, `t=ab,b,-`;
/// members like `c1{t,u} own t-0,1 u-2 gen 5 rack a static i1`, separated by `|`.
pub(crate) fn group(assignor: &str, topics: &str, members: &str) -> Vector {
    Vector {
        n: 0,
        assignor: assignor.to_owned(),
        topics: topics.split_whitespace().map(topic).collect(),
        members: members.split('|').map(member).collect(),
        expect: Outcome::new(),
    }
}

fn topic(text: &str) -> Topic {
    let (name, partitions) = text.split_once('=').unwrap();
    match partitions.parse() {
        Ok(partitions) => Topic(name.to_owned(), partitions, Vec::new()),
        Err(_) => {
            let racks: Vec<_> = partitions.split(',').map(|racks| racks.replace('-', "")).collect();
            Topic(name.to_owned(), u32::try_from(racks.len()).unwrap(), racks)
        }
    }
}

fn member(text: &str) -> Member {
    let mut words = text.split_whitespace();
    let (id, topics) = words.next().unwrap().strip_suffix('}').unwrap().split_once('{').unwrap();
    let topics = topics.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let mut member = Member { id: id.to_owned(), topics, ..Member::default() };
    while let Some(word) = words.next() {
        match word {
            "own" => {}
            "gen" => member.generation = words.next().map(|number| number.parse().unwrap()),
            "rack" => member.rack = words.next().map(str::to_owned),
            "static" => member.instance = words.next().map(str::to_owned),
            claim => member.owned.push(of_topic(claim)),
        }
    }
    member
}

/// `t-0,1`, or `t--1` for partition −1.
fn of_topic(text: &str) -> OfTopic {
    let (topic, partitions) = text.split_once('-').unwrap();
    (topic.to_owned(), partitions.split(',').map(|number| number.parse().unwrap()).collect())
}

/// Gives every topic `factor` replicas, a node a rack, as Kafka's own tests place them: replica `j` of
/// partition `i` is on node `i + j + offset`, where topics before it shift the offset.
pub(crate) fn with_replicas(vector: &Vector, factor: u32, racks: u32) -> Vector {
    let mut vector = vector.clone();
    let mut offset = 0;
    for Topic(_, partitions, sets) in &mut vector.topics {
        let letter = |node: u32| char::from(b'a' + u8::try_from(node % racks).unwrap());
        let set = |partition: u32| (0..factor).map(|j| letter(partition + j + offset)).collect();
        *sets = (0..*partitions).map(set).collect();
        offset += *partitions;
    }
    vector
}

/// The partitions of each member as text, members in their order in the group: `t-0,1 u-2 | -`.
pub(crate) fn told(vector: &Vector, outcome: &Outcome) -> String {
    let of_member = |member: &Member| {
        let sorted: BTreeMap<_, _> = outcome[&member.id].iter().cloned().collect();
        let lists = sorted.into_iter().map(|(topic, mut list)| {
            list.sort_unstable();
            let numbers: Vec<_> = list.iter().map(i32::to_string).collect();
            format!("{topic}-{}", numbers.join(","))
        });
        let lists: Vec<_> = lists.collect();
        if lists.is_empty() { "-".to_owned() } else { lists.join(" ") }
    };
    vector.members.iter().map(of_member).collect::<Vec<_>>().join(" | ")
}

/// The assignment that the assignor gives to a group so described.
pub(crate) fn gives(assignor: &str, topics: &str, members: &str) -> String {
    let vector = group(assignor, topics, members);
    told(&vector, &vector.outcome())
}

/// Rebalances until nothing changes, at most `rounds` times; returns every result in turn.
pub(crate) fn rounds(mut vector: Vector, rounds: usize) -> Vec<String> {
    let mut results = Vec::new();
    for _ in 0..rounds {
        let outcome = vector.outcome();
        let result = told(&vector, &outcome);
        if results.last() == Some(&result) {
            break;
        }
        results.push(result);
        vector = vector.after(&outcome);
    }
    results
}
