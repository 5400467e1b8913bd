//! `assign --spread-topics`: each topic lies evenly over members, and moves are spent on it only where that is asked for.

use serde_json::{Value, json};

use crate::assign::{answers, assign, assign_with, balanced, sets};

/// By member the number of partitions of `topic`.
fn counts(answer: &Value, topic: &str) -> Vec<usize> {
    sets(&answer["assignment"]).values().map(|topics| topics.get(topic).map_or(0, Vec::len)).collect()
}

#[test]
fn each_of_two_members_gets_half_of_each_topic() {
    let all = json!(["a", "b"]);
    let members = json!([{"id": "x", "topics": all}, {"id": "y", "topics": all}]);
    let answer = balanced(&json!({"topics": [["a", 4], ["b", 4]], "members": members}));
    assert_eq!((counts(&answer, "a"), counts(&answer, "b")), (vec![2, 2], vec![2, 2]));
}

#[test]
fn a_join_takes_half_of_each_topic() {
    let all = json!(["a", "b"]);
    let numbers: Vec<u32> = (0..12).collect();
    let owned = json!([["a", numbers], ["b", numbers]]);
    let members = json!([{"id": "x", "topics": all, "owned": owned}, {"id": "y", "topics": all}]);
    let answer = balanced(&json!({"topics": [["a", 12], ["b", 12]], "members": members}));
    assert_eq!((counts(&answer, "a"), counts(&answer, "b")), (vec![6, 6], vec![6, 6]));
    assert_eq!(answer["moves"], 12);
}

/// Each of two topics is with one of two members.
fn apart(budget: Option<u32>) -> Value {
    let all = json!(["a", "b"]);
    let owner = |id: &str, topic: &str| json!({"id": id, "topics": all, "owned": [[topic, [0, 1, 2, 3]]]});
    let members = [owner("x", "a"), owner("y", "b")];
    json!({"topics": [["a", 4], ["b", 4]], "members": members, "options": {"movement_budget": budget}})
}

fn spread(price: &str, line: &Value) -> (Value, Vec<usize>) {
    let output =
        assign_with(&["--strategy", "balanced", "--spread-topics", price], line.to_string().as_bytes());
    let answer = answers(&output).remove(0);
    let counts = counts(&answer, "a");
    (answer["moves"].clone(), counts)
}

#[test]
fn moves_are_spent_only_if_asked_for_and_within_the_budget() {
    assert_eq!(spread("ties", &apart(None)), (json!(0), vec![4, 0]));
    assert_eq!(spread("moves", &apart(None)), (json!(4), vec![2, 2]));
    assert_eq!(spread("moves", &apart(Some(3))), (json!(2), vec![3, 1]));
    assert_eq!(spread("moves", &apart(Some(0))), (json!(0), vec![4, 0]));
}

#[test]
fn a_set_that_leaves_members_empty_comes_with_a_warning() {
    let names: Vec<String> = (0..10).map(|at| format!("t{at}")).collect();
    let topics: Vec<_> = names.iter().map(|name| json!([name, 1])).collect();
    let members: Vec<_> = ["x", "y"].map(|id| json!({"id": id, "topics": names})).to_vec();
    let line = json!({"topics": topics, "members": members}).to_string();
    let warning = |strategy: &str| answers(&assign(strategy, line.as_bytes())).remove(0)["warning"].clone();
    assert!(warning("copartitioned-sticky").as_str().unwrap().contains("as one set"));
    assert_eq!(warning("balanced"), Value::Null);
}
