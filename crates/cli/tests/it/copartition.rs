//! `assign` with co-partitioned sets: what is said of units must be true of their partitions.

use serde_json::{Value, json};

use crate::assign::balanced;

/// `x` and `y` of so many partitions go together, and both `a` and `b` are subscribed to everything.
fn pair(partitions: u32, more: &Value) -> Value {
    let all = ["x", "y", "z"];
    let mut line = json!({
        "topics": [["x", partitions], ["y", partitions]],
        "copartition": [["x", "y"]],
        "members": [{"id": "a", "topics": all}, {"id": "b", "topics": all}],
    });
    let fields = more.as_object().into_iter().flatten();
    fields.for_each(|(field, value)| line[field] = value.clone());
    line
}

/// By member how many partitions it gets.
fn counts(answer: &Value) -> Vec<usize> {
    let partitions = |topic: &Value| topic[1].as_array().unwrap().len();
    let of_member = |topics: &Value| topics.as_array().unwrap().iter().map(partitions).sum();
    answer["assignment"].as_object().unwrap().values().map(of_member).collect()
}

#[test]
fn a_set_weighs_what_its_partitions_weigh_where_others_have_weights() {
    let topics = json!([["x", 2], ["y", 2], ["z", 2, null, [1, 1.5]]]);
    let answer = balanced(&pair(2, &json!({ "topics": topics })));
    assert_eq!(answer["balance"]["load_max"], json!(3.5), "{answer}");
}

#[test]
fn a_set_of_several_topics_weighs_more_than_a_topic_of_its_own() {
    let answer = balanced(&pair(2, &json!({"topics": [["x", 2], ["y", 2], ["z", 4]]})));
    assert_eq!(counts(&answer), [4, 4], "{answer}");
    let answer = balanced(&pair(0, &json!({"topics": [["x", 4], ["y", 2]]})));
    assert_eq!(counts(&answer), [3, 3], "{answer}");
}
