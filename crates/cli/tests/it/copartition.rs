//! `assign` with co-partitioned sets: what is said of units must be true of their partitions.

use serde_json::{Value, json};

use crate::assign::{answers, assign, balanced};

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

/// The number of times that partitions leave their owner, and the number of times that they had to.
fn moves(answer: &Value) -> [u64; 2] {
    [&answer["moves"], &answer["moves_lower_bound"]].map(|count| count.as_u64().unwrap())
}

#[test]
fn a_pin_that_nobody_can_meet_demands_no_move() {
    let owned = json!([["x", [0]], ["y", [0]]]);
    let answer = balanced(&pair(
        1,
        &json!({
            "members": [{"id": "a", "topics": ["x"]}, {"id": "b", "topics": ["x", "y"], "owned": owned}],
            "pins": [["x", 0, "a"]],
        }),
    ));
    assert_eq!((moves(&answer), counts(&answer)), ([0, 0], vec![0, 2]), "{answer}");
}

#[test]
fn pins_of_what_goes_together_must_have_a_member_in_common() {
    let line = pair(2, &json!({"pins": [["x", 0, "a"], ["y", 1, "a"], ["y", 0, "b"]]}));
    let output = assign("balanced", line.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(answers(&output)[0]["field"], json!("pins[2]"));
    let agree = json!([["x", 0, "b"], ["x", 0, "a"], ["y", 0, "b"], ["y", 1, "b"]]);
    assert_eq!(counts(&balanced(&pair(2, &json!({ "pins": agree })))), [0, 4]);
}

#[test]
fn what_is_said_of_a_partition_nobody_gets_is_true_of_its_set() {
    let reasons = |more: &Value| {
        let answer = balanced(&pair(1, more));
        let reasons = answer["unassigned"].as_array().unwrap().iter();
        reasons.map(|partition| partition["reason"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let of_one_each = json!({"members": [{"id": "a", "topics": ["x"]}, {"id": "b", "topics": ["y"]}]});
    assert_eq!(reasons(&of_one_each), ["no member is subscribed to all topics of its set"; 2]);
    let banned = "every member that is subscribed to all topics of its set is banned from a partition that goes with it";
    assert_eq!(reasons(&json!({"bans": [["x", 0, "a"], ["y", 0, "b"]]})), [banned; 2]);
    let topics = json!([["x", 0], ["y", 0], ["w", 1]]);
    assert_eq!(reasons(&json!({ "topics": topics })), ["no member is subscribed to its topic"]);
}

#[test]
fn a_limit_counts_partitions_and_not_sets() {
    let limited = |limit: u32, topics: &Value| {
        let member = json!({"id": "a", "topics": ["x", "y", "z"], "max_partitions": limit});
        balanced(&pair(0, &json!({"topics": topics, "members": [member]})))
    };
    let alike = json!([["x", 4], ["y", 4]]);
    let got = [0, 1, 2, 5, 100].map(|limit| counts(&limited(limit, &alike))[0]);
    assert_eq!(got, [0, 0, 2, 4, 8]);
    let mixed = json!([["x", 4], ["y", 2], ["z", 3]]);
    for limit in 0..10 {
        let got = counts(&limited(limit, &mixed))[0];
        let limit = limit as usize;
        assert!(got <= limit && got + 1 >= limit.min(9), "{got} of {limit}");
    }
}

#[test]
fn a_limit_is_kept_by_everybody_where_sizes_differ() {
    let member = |id: &str| json!({"id": id, "topics": ["x", "y", "z"], "max_partitions": 5});
    let topics = json!([["x", 4], ["y", 2], ["z", 3]]);
    let answer = balanced(&pair(0, &json!({"topics": topics, "members": [member("a"), member("b")]})));
    assert!(counts(&answer).iter().all(|got| *got <= 5), "{answer}");
    assert_eq!(answer["unassigned"], json!([]));
}

#[test]
fn a_movement_budget_counts_partitions_and_not_sets() {
    let owned = json!([["x", [0, 1, 2, 3, 4, 5]], ["y", [0, 1, 2, 3, 4, 5]]]);
    let moved = |budget: u32| {
        let members = json!([
            {"id": "a", "topics": ["x", "y"], "owned": owned},
            {"id": "b", "topics": ["x", "y"]},
        ]);
        moves(&balanced(&pair(6, &json!({"members": members, "options": {"movement_budget": budget}}))))[0]
    };
    assert_eq!([0, 1, 2, 5, 100].map(moved), [0, 0, 2, 4, 6]);
}

#[test]
fn who_takes_nothing_is_not_given_the_rest_of_a_set() {
    for state in ["draining", "hold"] {
        let members = json!([{"id": "a", "topics": ["x", "y"], "owned": [["x", [0]]], "state": state}]);
        let answer = balanced(&pair(1, &json!({ "members": members })));
        assert_eq!(answer["assignment"], json!({"a": [["x", [0]]]}), "{answer}");
        assert_eq!((&answer["unassigned"][0]["topic"], &answer["split"]), (&json!("y"), &json!([["x", 0]])));
    }
}

#[test]
fn a_set_that_lies_spread_is_gathered_with_the_fewest_moves() {
    let members = json!([
        {"id": "a", "topics": ["x", "y"], "owned": [["x", [0, 1, 2]], ["y", [2]]]},
        {"id": "b", "topics": ["x", "y"], "owned": [["y", [0, 1]]]},
    ]);
    for strategy in ["balanced", "sticky-balanced"] {
        let output = assign(strategy, pair(3, &json!({ "members": members })).to_string().as_bytes());
        let answer = answers(&output).remove(0);
        assert_eq!((moves(&answer)[0], counts(&answer)), (2, vec![4, 2]), "{strategy}: {answer}");
    }
}

#[test]
fn a_set_has_room_made_by_partitions_of_their_own() {
    let all = ["s", "b0", "b1", "b2", "b3", "b4", "b5"];
    let member = |id: &str, owned: Value| json!({"id": id, "topics": all, "max_partitions": 9, "owned": [["s", owned]]});
    let topics: Vec<Value> =
        all.iter().map(|name| json!([name, if *name == "s" { 12 } else { 1 }])).collect();
    let members = [member("i1", json!([0, 1, 2, 3, 4, 5])), member("i2", json!([6, 7, 8, 9, 10, 11]))];
    let line = json!({"topics": topics, "members": members, "copartition": [all[1..]]});
    let answer = balanced(&line);
    assert_eq!((counts(&answer), moves(&answer)[0]), (vec![9, 9], 3), "{answer}");
}

#[test]
fn sticky_balanced_counts_the_partitions_of_sets() {
    let members: Vec<Value> =
        (0..4).map(|at| json!({"id": format!("m{at}"), "topics": ["x", "y", "z"]})).collect();
    let topics = json!([["x", 8], ["y", 8], ["z", 4]]);
    let line = pair(0, &json!({"topics": topics, "members": members}));
    let answer = answers(&assign("sticky-balanced", line.to_string().as_bytes())).remove(0);
    assert_eq!(counts(&answer), [5, 5, 5, 5], "{answer}");
}
