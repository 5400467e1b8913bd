use serde_json::{Value, json};

use super::*;
use crate::digest::Digest;
use crate::event::Event;
use crate::shape::{Shape, Subscriptions};

fn digest(told: &str) -> Digest {
    serde_json::from_value(json!(told)).unwrap()
}

fn ours() -> Answer<Measured> {
    let (moves, moves_lower_bound, peak_rss_mb) = (500, 499, 99.5);
    Answer::Told(Measured { ms: 20.0, moves, moves_lower_bound, peak_rss_mb, digest: digest("aa") })
}

fn kafka(ms: f64) -> Theirs {
    Theirs::Asked(Answer::Told(KafkaMeasured { ms, moves: 501, digest: digest("bb") }))
}

fn row(ours: Answer<Measured>, theirs: Theirs) -> Row {
    let subscriptions = Subscriptions::MixedB;
    let shape = Shape { members: 2_000, partitions: 1_000_000, topics: 500, subscriptions, racks: true };
    Row { cell: Cell { strategy: "sticky".to_owned(), shape, event: Event::Join }, ours, theirs }
}

fn line(row: &Row) -> Value {
    serde_json::from_str(&row.for_programs().unwrap()).unwrap()
}

#[test]
fn a_line_has_every_field() {
    let expected = json!({
        "strategy": "sticky", "members": 2_000, "partitions": 1_000_000, "topics": 500,
        "subscriptions": "mixed-b", "racks": true, "event": "join", "ours_ms": 20.0,
        "kafka_ms": 73.123, "kafka_timed_out": false, "ratio": 3.656, "moves": 500, "moves_lower_bound": 499, "peak_rss_mb": 99.5,
    });
    assert_eq!(line(&row(ours(), kafka(73.1234))), expected);
}

#[test]
fn a_timeout_is_no_time() {
    let line = line(&row(ours(), Theirs::Asked(Answer::TimedOut)));
    assert_eq!((&line["kafka_ms"], &line["ratio"]), (&Value::Null, &Value::Null));
    assert_eq!(line["kafka_timed_out"], true);
}

#[test]
fn where_there_is_nothing_of_kafkas_the_column_says_why() {
    let reasons = [(Theirs::NoJava, "no java"), (Theirs::NoClass, "no class"), (Theirs::NoTime, "no time")];
    for (theirs, expected) in reasons {
        let row = row(ours(), theirs);
        assert_eq!(line(&row)["kafka_ms"], Value::Null);
        assert_eq!(line(&row)["kafka_timed_out"], false);
        assert_eq!(line(&row)["kafka_missing"], expected);
        assert!(row.for_people().contains(expected));
    }
}

#[test]
fn a_side_of_ours_that_timed_out_leaves_its_columns_empty() {
    let row = row(Answer::TimedOut, kafka(73.0));
    for field in ["ours_ms", "ratio", "moves", "moves_lower_bound", "peak_rss_mb"] {
        assert_eq!(line(&row)[field], Value::Null, "{field}");
    }
    assert!(row.for_people().contains("> 20 s"));
}

#[test]
fn the_table_has_its_columns_below_their_heads() {
    let told = row(ours(), kafka(73.0)).for_people();
    assert_eq!(told.chars().count(), HEAD.chars().count(), "\n{HEAD}\n{told}");
}

#[test]
fn only_the_same_rule_is_to_come_to_the_same() {
    let mut row = row(ours(), kafka(73.0));
    assert!(row.differs());
    "balanced".clone_into(&mut row.cell.strategy);
    assert!(!row.differs());
}

#[test]
fn the_table_tells_whether_both_came_to_the_same() {
    let mut row = row(ours(), kafka(73.0));
    assert!(row.for_people().contains("DIFFERS"));
    "balanced".clone_into(&mut row.cell.strategy);
    assert!(row.for_people().contains(" 501 "));
}
