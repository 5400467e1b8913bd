//! The records that each version has written are read by every later one, and written back with all that they hold.
//!
//! `tests/golden/records.txt` has one record a line: its key below the group, and its value. Lines are only ever added:
//! `KAFKA_ASSIGNER_REFRESH_GOLDEN=1 cargo test -p kafka-assigner-core golden` adds what the stories of this file write now in
//! a form that no line has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Verdict, abort};
use kafka_assigner_core::begun::{StreamReach, ToldGrants};
use kafka_assigner_core::key::{DEFAULT_PREFIX, Key, Layout};
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{
    Assignment, ClusterRecord, Consumer, DeathSign, Extra, GroupConfig, HandoffRecord, HistoryNote, Intent,
    LeaderRecord, Rejoin, Router, RouterAck, Topic, UnbegunGrant, UnbegunReason, decode, encode,
};
use kafka_assigner_core::session::{self, Leaving};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;
use serde_json::Value;

const GOLDEN: &str = include_str!("../golden/records.txt");

fn layout() -> Layout {
    Layout::new(DEFAULT_PREFIX, "g".parse().unwrap())
}

/// A record as a line of the file has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    key: String,
    value: String,
}

impl Line {
    fn parse(line: &str) -> Self {
        let (key, value) = line.split_once(' ').expect("a key, a space and a value");
        Self { key: key.to_owned(), value: value.to_owned() }
    }

    fn decoded(&self) -> Key {
        let mut at = layout().prefix().to_vec();
        at.extend_from_slice(self.key.as_bytes());
        layout().decode(&at).expect("the key of a record")
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.value).expect("JSON")
    }

    /// The kind of the record, and the fields that it has with the kinds of their values: what decides if it can be read.
    fn form(&self) -> (String, BTreeSet<String>) {
        let mut fields = BTreeSet::new();
        walk("", &self.json(), &mut fields);
        (kind(&self.decoded()).to_owned(), fields)
    }
}

/// The names of maps whose keys are data.
const BY_PARTITION: [&str; 5] = ["progress", "busy", "resting", "starts", "named"];

fn walk(path: &str, value: &Value, fields: &mut BTreeSet<String>) {
    let is_word = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    match value {
        Value::Object(object) => {
            let is_data = path.rsplit('.').next().is_some_and(|name| BY_PARTITION.contains(&name));
            for (name, value) in object {
                walk(&format!("{path}.{}", if is_data { "*" } else { name }), value, fields);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(&format!("{path}[]"), item, fields)),
        // The words of enums; names in these stories have a capital or a digit.
        Value::String(text) if is_word(text) => drop(fields.insert(format!("{path}={text}"))),
        Value::String(_) => drop(fields.insert(format!("{path}: text"))),
        Value::Number(_) => drop(fields.insert(format!("{path}: number"))),
        Value::Bool(_) => drop(fields.insert(format!("{path}: bool"))),
        Value::Null => drop(fields.insert(format!("{path}: null"))),
    }
}

const fn kind(key: &Key) -> &'static str {
    match key {
        Key::Consumer(_) => "consumer",
        Key::Rejoin(_) => "rejoin",
        Key::Assignment(_) => "assignment",
        Key::Handoff(_) => "handoff",
        Key::Router(_) => "router",
        Key::RouterAck(..) => "router ack",
        Key::Intent(_) => "intent",
        Key::GroupConfig => "group",
        Key::Topic(_) => "topic",
        Key::Leader => "leader",
        Key::History => "history",
    }
}

/// Every kind of record that the stories write, so that none is forgotten.
const KINDS: usize = 11;

fn written_back(line: &Line) -> Value {
    fn again<T: serde::Serialize + serde::de::DeserializeOwned>(line: &Line) -> Value {
        let record: T = decode(line.value.as_bytes()).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        serde_json::from_slice(&encode(&record)).expect("JSON")
    }
    match line.decoded() {
        Key::Consumer(_) => again::<Consumer>(line),
        Key::Rejoin(_) => again::<Rejoin>(line),
        Key::Assignment(_) => again::<Assignment>(line),
        Key::Handoff(_) => again::<HandoffRecord>(line),
        Key::Router(_) => again::<Router>(line),
        Key::RouterAck(..) => again::<RouterAck>(line),
        Key::Intent(_) => again::<Intent>(line),
        Key::GroupConfig => again::<GroupConfig>(line),
        Key::Topic(_) => again::<Topic>(line),
        Key::Leader => again::<LeaderRecord>(line),
        Key::History => again::<HistoryNote>(line),
    }
}

/// True if all that `before` says stands in `after`, which may say more: a field that was not known then.
fn keeps(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            before.iter().all(|(name, value)| after.get(name).is_some_and(|kept| keeps(value, kept)))
        }
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len()
                && before.iter().zip(after).all(|(before, after)| keeps(before, after))
        }
        _ => before == after,
    }
}

#[test]
fn a_golden_record_is_read_and_written_back_with_all_that_it_says() {
    for line in GOLDEN.lines().map(Line::parse) {
        let after = written_back(&line);
        assert!(keeps(&line.json(), &after), "{line:?} became {after}");
    }
}

#[test]
fn what_a_record_loses_or_changes_is_noticed() {
    let [before, more, less, other] =
        [r#"{"a":[{"b":1}]}"#, r#"{"a":[{"b":1,"c":2}],"d":3}"#, r#"{"a":[{}]}"#, r#"{"a":[{"b":2}]}"#]
            .map(|text| serde_json::from_str::<Value>(text).unwrap());
    assert!(keeps(&before, &more));
    assert!(!keeps(&before, &less));
    assert!(!keeps(&before, &other));
}

#[test]
fn every_form_of_a_record_has_a_golden_one() {
    let known: BTreeSet<_> = GOLDEN.lines().map(|line| Line::parse(line).form()).collect();
    let mut new: BTreeMap<_, Line> = BTreeMap::new();
    for line in stories() {
        new.entry(line.form()).or_insert(line);
    }
    let kinds: BTreeSet<&String> = new.keys().map(|(kind, _)| kind).collect();
    assert_eq!(kinds.len(), KINDS, "{kinds:?}");
    new.retain(|form, _| !known.contains(form));
    if std::env::var_os("KAFKA_ASSIGNER_REFRESH_GOLDEN").is_some() {
        let added: String = new.values().map(|line| format!("{} {}\n", line.key, line.value)).collect();
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/records.txt");
        return std::fs::write(file, format!("{GOLDEN}{added}")).unwrap();
    }
    assert!(new.is_empty(), "add them with KAFKA_ASSIGNER_REFRESH_GOLDEN=1: {:#?}", new.values());
}

/// The records of a group, noted after each step of a story.
#[derive(Default)]
struct Notes(BTreeSet<Line>);

impl Notes {
    fn take(&mut self, group: &TestGroup) {
        let prefix = layout().prefix();
        for record in group.store.records() {
            let Some(key) = record.key.strip_prefix(&prefix[..]) else { continue };
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
            self.0.insert(Line { key: text(key), value: text(&record.value) });
        }
    }

    /// Everybody does their part until nothing is left to do.
    fn settle(&mut self, group: &mut TestGroup) {
        for _ in 0..100 {
            let applied = group.pass();
            self.take(group);
            let acts = group.everybody_acts();
            self.take(group);
            if applied.is_empty() && !acts {
                return;
            }
        }
        panic!("it does not come to rest");
    }
}

fn stories() -> BTreeSet<Line> {
    let mut notes = Notes::default();
    for mode in [Mode::Overlap, Mode::Exclusive, Mode::Routed] {
        moves(&mut notes, mode);
        suspicion(&mut notes, mode);
    }
    failures(&mut notes);
    stops(&mut notes);
    grants(&mut notes);
    failing(&mut notes);
    history(&mut notes);
    notes.0
}

/// Grants that have not begun, by name and beyond that, and one that moves for it.
fn grants(notes: &mut Notes) {
    let mut group = TestGroup::with_topics(&[("T0", 3)]);
    let (a, _) = (join(&mut group, "A1"), join(&mut group, "B1"));
    notes.settle(&mut group);
    let grant = |at: &TopicPartition, why: UnbegunReason, total: Option<u64>| {
        let epoch = group.state.assignment(at).expect("it was granted").held_epoch();
        let message = if total.is_some() { String::new() } else { "No disk".to_owned() };
        (at.clone(), UnbegunGrant { epoch, why, message, done: 5, total, extra: Extra::new() })
    };
    let owned: Vec<_> = group.state.owned(&a).cloned().collect();
    let reasons = [
        UnbegunReason::Place,
        UnbegunReason::Starting,
        UnbegunReason::Claim,
        UnbegunReason::Clearing,
        UnbegunReason::Preparing,
    ];
    let mut reports: Vec<_> = reasons.map(|why| grant(&owned[0], why, Some(9))).to_vec();
    reports.push(grant(&owned[0], UnbegunReason::Failing, None));
    for (unnamed, named) in (0..).zip(reports) {
        group.report_grants(
            &a,
            ToldGrants { told: StreamReach::Everything, named: vec![named], unnamed, uncommitted: None },
        );
        notes.take(&group);
    }
    group.pass();
    group.later(Duration::from_secs(301));
    notes.settle(&mut group);
}

/// Records that fail for long, by name and beyond that.
fn failing(notes: &mut Notes) {
    let mut group = TestGroup::with_topics(&[("T0", 3)]);
    let a = join(&mut group, "A1");
    notes.settle(&mut group);
    for unnamed in 0..2 {
        group.report_failing(&a, &[(tp("T0", 0), 5)], unnamed);
        notes.take(&group);
    }
}

fn group(mode: Mode) -> TestGroup {
    let mut group = TestGroup::with_topics(&[("T0", 2)]);
    group.topic_in_set("T1", 2, "S1");
    group.topic_in_set("T2", 2, "S1");
    let catch_up = mode == Mode::Exclusive;
    group.configure(&GroupConfig { mode, catch_up, ..GroupConfig::default() });
    group
}

/// A consumer that says of itself all that it can.
fn join(group: &mut TestGroup, name: &str) -> Member {
    group.join_as(name, |consumer| {
        consumer.topics = ["T0", "T1", "T2"].map(|topic| topic.parse().unwrap()).into();
        consumer.max_partitions = Some(100);
        consumer.capacity = Some(1.5);
        "R1".clone_into(&mut consumer.rack);
        "V1".clone_into(&mut consumer.generation);
        consumer.max_poll_interval_ms = Some(300_000);
        "http://C1".clone_into(&mut consumer.endpoint);
        "I1".clone_into(&mut consumer.instance);
        "L1".clone_into(&mut consumer.client);
        "P1".clone_into(&mut consumer.process);
    })
}

/// Somebody joins, with warm-ups that are reported, and leaves, each in its way.
fn moves(notes: &mut Notes, mode: Mode) {
    let mut group = group(mode);
    if mode == Mode::Routed {
        group.route_as("Router1");
    }
    let a = join(&mut group, "A1");
    notes.settle(&mut group);
    let b = join(&mut group, "B1");
    group.pass();
    for at in group.state.handoffs().keys().cloned().collect::<Vec<_>>() {
        group.report_of(&b, &at, 5, Some(10));
        group.report_busy(&a, &at, true);
        notes.take(&group);
    }
    notes.settle(&mut group);
    group.leave(&a, &Leaving::Drain);
    notes.settle(&mut group);
    group.restart(&b);
    notes.take(&group);
    join(&mut group, "B1");
    notes.settle(&mut group);
}

/// A process dies, and is taken over.
fn suspicion(notes: &mut Notes, mode: Mode) {
    let mut group = group(mode);
    let a = join(&mut group, "A1");
    let b = join(&mut group, "B1");
    notes.settle(&mut group);
    group.suspect(&a, DeathSign::Silent);
    notes.take(&group);
    group.hear(&a);
    group.suspect_with_rest(&a, DeathSign::Detached, 20_000);
    for _ in 0..40 {
        group.pass();
        notes.take(&group);
        group.later(Duration::from_secs(1));
    }
    let ended = session::end(&group.state, &b, FenceReason::NoProgress).expect("it is there");
    group.apply(&ended.unfenced());
    notes.take(&group);
}

/// A warm-up fails, and an operator wants a move undone.
fn failures(notes: &mut Notes) {
    let mut group = group(Mode::Overlap);
    join(&mut group, "A1");
    notes.settle(&mut group);
    let b = join(&mut group, "B1");
    group.pass();
    let moving: Vec<_> = group.state.handoffs().keys().cloned().collect();
    let [fails, .., undone] = &moving[..] else { panic!("two move: {moving:?}") };
    let id = group.state.handoff(fails).expect("it leads").id.clone();
    group.say(&b, fails, Some(&id), &Ack::WarmFailed { reason: "M1".to_owned() });
    notes.take(&group);
    let Verdict::Record { write, .. } = abort(&group.state, undone, "Operator1", WallMillis(0)) else {
        panic!("a move that warms up can be undone");
    };
    group.apply(&write.unfenced());
    notes.take(&group);
    notes.settle(&mut group);
}

/// Two owners stop before the same record, and an operator lets it be passed over.
fn stops(notes: &mut Notes) {
    let mut group = TestGroup::with_topics(&[("T0", 1)]);
    let a = join(&mut group, "A1");
    notes.settle(&mut group);
    let at = tp("T0", 0);
    group.report_stopped(&a, &[(at.clone(), 5)]);
    notes.take(&group);
    group.crash("A1");
    let b = join(&mut group, "B1");
    notes.settle(&mut group);
    group.report_stopped(&b, &[(at.clone(), 5)]);
    notes.take(&group);
    for skip in [false, true] {
        assert!(group.resume(&at, skip));
        notes.take(&group);
    }
    notes.settle(&mut group);
}

/// A store that was put back.
fn history(notes: &mut Notes) {
    let mut group = group(Mode::Exclusive);
    join(&mut group, "A1");
    group.put_back(&ClusterRecord::new("C2"));
    for _ in 0..2 {
        group.pass();
        notes.take(&group);
        group.later(Duration::from_secs(400));
    }
}
