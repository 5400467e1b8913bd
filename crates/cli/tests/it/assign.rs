//! `assign`: Kafka's results on Kafka's inputs, and an answer to every line whatever is in it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::thread;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::lines;

/// Inputs and outputs of Kafka's own classes.
const VECTORS: &str = include_str!("../../../strategies/tests/golden/kafka-client-assignors.jsonl");

/// The names of the vectors' assignors, and of our strategies.
const NAMES: [(&str, &str); 4] =
    [("range", "range"), ("rr", "roundrobin"), ("sticky", "sticky"), ("coop", "cooperative-sticky")];

pub(crate) fn assign(strategy: &str, input: &[u8]) -> Output {
    assign_with(&["--strategy", strategy], input)
}

/// The output of `assign` with those arguments.
pub(crate) fn assign_with(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kafka-assigner"))
        .arg("assign")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    })
}

pub(crate) fn answers(output: &Output) -> Vec<Value> {
    let text = str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// By member and topic the partitions, whatever their order.
pub(crate) fn sets(assignment: &Value) -> BTreeMap<String, BTreeMap<String, Vec<u64>>> {
    let lists: BTreeMap<String, Vec<(String, Vec<u64>)>> =
        serde_json::from_value(assignment.clone()).unwrap();
    let sorted = |(topic, mut partitions): (String, Vec<u64>)| {
        partitions.sort_unstable();
        (topic, partitions)
    };
    lists.into_iter().map(|(member, lists)| (member, lists.into_iter().map(sorted).collect())).collect()
}

#[test]
fn every_vector_of_kafkas_client_assignors_is_reproduced() {
    let vectors: Vec<(&str, Value)> =
        VECTORS.lines().map(|line| (line, serde_json::from_str(line).unwrap())).collect();
    let mut checked = 0;
    for (assignor, strategy) in NAMES {
        let of_it = || vectors.iter().filter(|(_, vector)| vector["assignor"] == assignor);
        let input: String = of_it().map(|(line, _)| format!("{line}\n")).collect();
        let output = assign(strategy, input.as_bytes());
        assert!(output.status.success());
        let answers = answers(&output);
        assert_eq!(answers.len(), of_it().count());
        for ((_, vector), answer) in of_it().zip(&answers) {
            let (ours, kafkas) = (sets(&answer["assignment"]), sets(&vector["expect"]));
            assert_eq!(ours, kafkas, "{assignor}, vector {}", vector["n"]);
            checked += 1;
        }
    }
    // Past the capture of tests that pass, so that it is seen in every run.
    writeln!(std::io::stdout(), "{checked} of {} vectors reproduced", vectors.len()).unwrap();
    assert_eq!(checked, vectors.len());
}

#[test]
fn members_come_in_their_order_and_withheld_partitions_have_a_reason() {
    let line = r#"{"topics":[["t",2]],"members":[{"id":"z","topics":["t"],"owned":[["t",[0,1]]],"gen":1},{"id":"a","topics":["t"]}]}"#;
    let output = assign("cooperative-sticky", line.as_bytes());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(r#"{"assignment":{"z":[["t",[0]]],"a":[]}"#), "{text}");
    let withheld = r#"[{"topic":"t","partition":1,"reason":"withheld until its owner lets go"}],"moves":1,"moves_lower_bound":1,"#;
    assert!(text.contains(withheld), "{text}");
}

#[test]
fn a_line_that_is_refused_is_named_with_its_field_and_the_others_are_answered() {
    let good = r#"{"topics":[["t",1]],"members":[{"id":"a","topics":["t"]}]}"#;
    let lines = [
        (good, None),
        ("{", Some(".")),
        (r#"{"topics":[["t",-1]],"members":[]}"#, Some("topics[0][1]")),
        (
            r#"{"topics":[["t",1]],"members":[{"id":"a","topics":["t"]},{"id":"a","topics":[]}]}"#,
            Some("members[1].id"),
        ),
        (r#"[[["t",1]],[]]"#, Some(".")),
        (
            r#"{"topics":[["t",1]],"members":[{"id":"a","topics":["t"]},["b",null,null,["t"],null,null,null,null,"active",null,[]]]}"#,
            Some("members[1]"),
        ),
        (r#"{"topics":[["t",1]],"members":[],"options":[0.1,null,null]}"#, Some("options")),
        (r#"{"topics":[["t",1]],"members":[],"standbys":4294967295}"#, Some("standbys")),
        (good, None),
    ];
    let input: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    let output = assign("range", input.as_bytes());
    assert_eq!(output.status.code(), Some(2));
    let answers = answers(&output);
    assert_eq!(answers.len(), lines.len());
    for ((number, (_, field)), answer) in (1..).zip(&lines).zip(&answers) {
        let Some(field) = field else {
            assert_eq!(answer["assignment"], json!({"a": [["t", [0]]]}));
            continue;
        };
        let keys: BTreeSet<_> = answer.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, BTreeSet::from(["line", "field", "error"]), "{answer}");
        assert_eq!((&answer["line"], &answer["field"]), (&json!(number), &json!(field)), "{answer}");
        assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()), "{answer}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kafka-assigner"))
        .args(["assign", "--strategy", "range"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    while stdin.write_all(b"{\"topics\":[],\"members\":[]}\n").is_ok() {}
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stderr, b"");
}

/// A vector, or a line that says more than Kafka can, with some of its bytes replaced, taken away, or put in twice. Numbers
/// get other digits but not more of them, so that no topic becomes so large that placing it takes long.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let vectors: Vec<String> = VECTORS.lines().map(str::to_owned).collect();
    let lines = prop_oneof![prop::sample::select(vectors), lines::line().prop_map(|line| line.to_string())];
    let digits = prop::collection::vec((any::<prop::sample::Index>(), b'0'..=b'9'), 0..4);
    let pieces = prop::sample::select(vec![
        "",
        "\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "null",
        "-1",
        "1e999",
        "\\u0000",
        "\u{e9}",
        "x",
        "true",
        "0",
        r#""standbys":9,"#,
        r#""pins":[["t",0,"m"]],"#,
        r#""copartition":[[]],"#,
        r#""options":{},"#,
    ]);
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, pieces), 1..4);
    (lines, edits, digits).prop_map(|(line, edits, digits)| {
        let mut line = line.into_bytes();
        for (at, digit) in digits {
            let all: Vec<usize> = (0..line.len()).filter(|at| line[*at].is_ascii_digit()).collect();
            all.get(at.index(all.len().max(1))).iter().for_each(|at| line[**at] = digit);
        }
        for (at, taken, piece) in edits {
            let at = at.index(line.len());
            let end = line.len().min(at + taken);
            if !line[at..end].iter().any(u8::is_ascii_digit) && !line[at.saturating_sub(1)].is_ascii_digit() {
                line.splice(at..end, piece.bytes());
            }
        }
        line.retain(|byte| *byte != b'\n');
        line
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_line_has_one_answer(lines in prop::collection::vec(mutated(), 200)) {
        for strategy in ["balanced", "copartitioned-sticky", "range", "cooperative-sticky"] {
            let output = assign(strategy, &lines.join(&b'\n'));
            let answers = answers(&output);
            prop_assert_eq!(answers.len(), lines.len(), "{}", String::from_utf8_lossy(&output.stderr));
            let refused = answers.iter().filter(|answer| answer.get("error").is_some()).count();
            prop_assert_eq!(output.status.code(), Some(if refused == 0 { 0 } else { 2 }));
            for (number, answer) in (1_u64..).zip(&answers) {
                let is_placed = answer.get("assignment").is_some();
                prop_assert!(is_placed || answer["line"] == number && answer["field"].is_string());
            }
            for (line, answer) in lines.iter().zip(&answers).filter(|(_, answer)| answer.get("error").is_none()) {
                // Numbers beyond all bounds are among what is not looked at.
                serde_json::from_slice(line).iter().for_each(|line| lines::check(line, answer));
            }
        }
    }
}

/// The answer of `balanced` to the one line.
pub(crate) fn balanced(line: &Value) -> Value {
    let output = assign("balanced", line.to_string().as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    answers(&output).remove(0)
}

/// By partition of `topic` who has it.
pub(crate) fn holders(lists: &Value, topic: &str) -> BTreeMap<u64, Vec<String>> {
    let mut holders: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (member, topics) in sets(lists) {
        for partition in topics.get(topic).into_iter().flatten() {
            holders.entry(*partition).or_default().push(member.clone());
        }
    }
    holders
}

#[test]
fn partitions_of_a_set_go_together_as_far_as_each_topic_reaches() {
    let both = ["clicks", "prices"];
    let answer = balanced(&json!({
        "topics": [["clicks", 4], ["prices", 2], ["alerts", 2]],
        "copartition": [["prices", "clicks"]],
        "standbys": {"prices": 1},
        "members": [
            {"id": "a", "topics": both, "owned": [["clicks", [0, 1]], ["prices", [1]]], "gen": 1},
            {"id": "b", "topics": both, "owned": [["clicks", [2, 3]], ["prices", [0]]], "gen": 1},
            {"id": "c", "topics": ["clicks", "alerts"]},
        ],
    }));
    let [clicks, prices, alerts] =
        ["clicks", "prices", "alerts"].map(|topic| holders(&answer["assignment"], topic));
    assert_eq!((clicks.len(), prices.len()), (4, 2));
    assert!(prices.iter().all(|(partition, owner)| clicks[partition] == *owner));
    // A member that subscribes to one topic of a set only takes none of it.
    assert!(alerts.values().all(|owner| *owner == ["c"]));
    assert!(clicks.values().all(|owner| *owner != ["c"]));
    let copies = holders(&answer["standbys"], "prices");
    assert!(
        prices.iter().all(|(partition, owner)| copies[partition].len() == 1 && copies[partition] != *owner)
    );
    assert!(holders(&answer["standbys"], "clicks").is_empty());
    // The two units with prices weigh twice as much as the others: one of each for `a` and `b`.
    assert_eq!((&answer["moves"], &answer["unassigned"]), (&json!(2), &json!([])));
}

#[test]
fn a_set_takes_over_where_every_partition_has_its_copy() {
    let copies = |partitions: Value| json!([["clicks", partitions], ["prices", [[0, 7]]]]);
    let both = ["clicks", "prices"];
    let answer = balanced(&json!({
        "topics": [["clicks", 1], ["prices", 1]],
        "copartition": [both],
        "members": [
            {"id": "a", "topics": both, "standby_for": copies(json!([]))},
            {"id": "b", "topics": both, "standby_for": copies(json!([[0, 5]]))},
        ],
    }));
    assert_eq!(answer["assignment"], json!({"a": [], "b": [["clicks", [0]], ["prices", [0]]]}));
}

#[test]
fn a_line_that_says_everything_gets_standbys_apart_from_owners() {
    let all = ["orders", "payments", "refunds"];
    let member = |id: &str, rack: &str, capacity: u32, owned: Value| {
        json!({
            "id": id, "topics": all, "rack": rack, "capacity": capacity, "max_partitions": 12, "owned": owned,
            "gen": 1,
        })
    };
    let weights: Vec<u32> = (0..8).map(|partition| 1 + partition % 4).collect();
    let answer = balanced(&json!({
        "topics": [["orders", 8, ["ab", "bc", "ca", "ab", "bc", "ca", "ab", "bc"], weights], ["payments", 8], ["refunds", 6]],
        "copartition": [["orders", "payments"]],
        "standbys": 1,
        "pins": [["orders", 0, "n3"]],
        "bans": [["refunds", 1, "n1"]],
        "options": {"movement_budget": 4},
        "members": [
            member("n1", "a", 2, json!([["orders", [0, 1, 2, 3]], ["payments", [0, 1, 2, 3]]])),
            member("n2", "b", 1, json!([["orders", [4, 5]], ["payments", [4, 5]]])),
            member("n3", "c", 1, json!([])),
        ],
    }));
    assert_eq!(answer["unassigned"], json!([]));
    // A pinned partition has its copy elsewhere, as it must be.
    for (topic, partitions) in [("orders", 8), ("payments", 8), ("refunds", 6)] {
        let [owners, copies] =
            [&answer["assignment"], &answer["standbys"]].map(|lists| holders(lists, topic));
        assert_eq!((owners.len(), copies.len()), (partitions, partitions), "{topic}: {answer}");
        assert!(copies.iter().all(|(at, copy)| copy.len() == 1 && owners[at] != *copy));
    }
    let orders = holders(&answer["assignment"], "orders");
    assert_eq!(orders, holders(&answer["assignment"], "payments"));
    assert_eq!(orders[&0], ["n3"]);
    assert_ne!(holders(&answer["assignment"], "refunds")[&1], ["n1"]);
}
