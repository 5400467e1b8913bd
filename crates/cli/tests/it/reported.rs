//! `assign` on problems that users of other assignors reported: each answer is what the line's `expect` says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::assign::{answers, assign, sets};

/// A problem in each line, with the strategies that are to solve it.
const REPORTED: &str = include_str!("../reported.jsonl");

/// A check of the answer of a strategy.
type Check = fn(&str, &Value);

/// The checks of the answers, by the name of the problem.
const CHECKS: [(&str, Check); 11] = [
    ("two topics of one partition", one_each_but_with_range),
    ("a worker joins one with two topics", |_, answer| {
        assert_eq!(counts(answer), [[6, 6], [6, 6]]);
        assert_eq!(answer["moves"], 12);
    }),
    ("limits leave one over", |_, answer| {
        assert_eq!(counts(answer), [[40], [40], [40]]);
        assert_limited(answer);
    }),
    ("a set needs room", |_, answer| {
        assert_eq!(answer["unassigned"], json!([]));
        assert_eq!(counts(answer), [vec![1, 1, 1, 1, 1, 1, 3], vec![9]]);
    }),
    ("standbys far behind", standbys_take_over),
    ("two topics for two members", |_, answer| assert_eq!(counts(answer), [[2, 2], [2, 2]])),
    ("a changelog longer than its topic", |_, answer| assert_together(answer, 5)),
    ("a node joins one that has all", |_, answer| {
        assert_eq!(counts(answer), [[5], [5]]);
        assert_eq!(answer["moves"], 5);
    }),
    ("a member at its limit", |_, answer| {
        assert_eq!(answer["assignment"], json!({"m0": [["t0", [1]]]}));
        assert_limited(answer);
    }),
    ("a set lies spread", |_, answer| {
        assert_together(answer, 3);
        assert_eq!(answer["moves"], 2);
    }),
    ("a draining member has a part of a set", |_, answer| {
        assert_eq!(answer["assignment"], json!({"m0": [["t0", [0]]]}));
        assert_eq!(answer["unassigned"][0]["topic"], "t1");
    }),
];

/// By member the number of partitions of each topic that it has some of.
fn counts(answer: &Value) -> Vec<Vec<usize>> {
    let counts = |topics: BTreeMap<String, Vec<u64>>| topics.values().map(Vec::len).collect();
    sets(&answer["assignment"]).into_values().map(counts).collect()
}

fn one_each_but_with_range(strategy: &str, answer: &Value) {
    let expected = if strategy == "range" { [vec![1, 1], vec![]] } else { [vec![1], vec![1]] };
    assert_eq!(counts(answer), expected);
}

/// Demands that one partition has no owner, because of limits.
fn assert_limited(answer: &Value) {
    let unassigned = answer["unassigned"].as_array().unwrap();
    assert_eq!(unassigned.len(), 1);
    assert!(unassigned[0]["reason"].as_str().unwrap().contains("limit"), "{unassigned:?}");
}

fn standbys_take_over(_: &str, answer: &Value) {
    assert_eq!(counts(answer), [[2], [2], [2]]);
    let owned = sets(&answer["assignment"]);
    assert_eq!(owned["new-a"]["t"], [0, 2]);
    assert!(owned["new-b"]["t"].contains(&1) && owned["new-c"]["t"].contains(&5), "{owned:?}");
}

/// Demands that both topics have the same owner for each of the first `partitions`.
fn assert_together(answer: &Value, partitions: u64) {
    for (member, topics) in sets(&answer["assignment"]) {
        let first = |all: &Vec<u64>| all.iter().copied().filter(|at| *at < partitions).collect::<Vec<_>>();
        let distinct: BTreeSet<_> = topics.values().map(first).collect();
        assert!(topics.len() == 2 && distinct.len() == 1, "{member}: {topics:?}");
    }
}

#[test]
fn problems_reported_of_other_assignors_are_solved_as_expected() {
    let problems: Vec<Value> = REPORTED.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(problems.len(), CHECKS.len());
    for (problem, line) in problems.iter().zip(REPORTED.lines()) {
        let is_of_it = |(name, _): &&(&str, Check)| problem["n"] == *name;
        let (name, check) = CHECKS.iter().find(is_of_it).unwrap();
        for strategy in problem["assignor"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()) {
            let answer = answers(&assign(strategy, line.as_bytes())).remove(0);
            println!("{name}, {strategy}: {answer}");
            check(strategy, &answer);
        }
    }
}
