//! Tests of the suspicion that a process is dead.

use super::*;
use crate::key::{DEFAULT_PREFIX, Key, Layout};
use crate::reason::FenceReason;
use crate::record::{Extra, Router, Standing};
use kafka_assigner_types::id::Incarnation;
use kafka_assigner_types::kv::{Change, LeaseId, Revision};
use kafka_assigner_types::moment::WallMillis;

const TTL: Duration = Duration::from_secs(30);

fn member() -> Member {
    Member { name: "a".parse().unwrap(), incarnation: Incarnation::new("1").unwrap() }
}

fn suspicion(sign: DeathSign) -> Suspicion {
    let (by, since, extra) = ("i0".to_owned(), WallMillis(0), Extra::new());
    Suspicion { sign, by, stream: 7, rest_ms: 21_000, since, extra }
}

/// A consumer that says so when it lives on.
fn present() -> Consumer {
    let consumer = Consumer::new(member().incarnation, 30_000, Renewal::Client, WallMillis(0));
    Consumer { capabilities: [Capability::Present].into(), ..consumer }
}

fn record(consumer: &Consumer) -> Record {
    let key = Layout::new(DEFAULT_PREFIX, "g".parse().unwrap()).encode(&Key::Consumer(member().name));
    let (create_revision, mod_revision) = (Revision(4), Revision(5));
    Record { key, value: encode(consumer), create_revision, mod_revision, lease: LeaseId(9) }
}

fn registered(consumer: &Consumer) -> GroupState {
    let mut state = GroupState::new(Layout::new(DEFAULT_PREFIX, "g".parse().unwrap()));
    let _touched = state.apply(&[Change::Put(record(consumer))], Revision(5));
    state
}

fn written(write: &Write) -> Consumer {
    let [Op::Put { value, lease: LeaseId(9), .. }] = &write.ops[..] else { panic!("{write:?}") };
    let [guard] = &write.guards[..] else { panic!("{write:?}") };
    assert_eq!(guard.must, Must::HaveModRevision(Revision(5)), "it never creates the key");
    decode(value).unwrap()
}

#[test]
fn a_mark_and_its_removal_change_nothing_else_and_apply_to_what_was_seen_only() {
    for standing in [Standing::Active, Standing::Draining] {
        let before = Consumer { standing, ..present() };
        let write = mark(&registered(&before), &member(), suspicion(DeathSign::Detached)).unwrap();
        let marked = written(&write);
        assert_eq!(marked, Consumer { suspected: Some(suspicion(DeathSign::Detached)), ..before.clone() });
        assert_eq!(written(&unmark::<Consumer>(&record(&marked), &[]).unwrap()), before);
        assert_eq!(written(&unmark_served(&registered(&marked), &member()).unwrap()), before);
    }
}

#[test]
fn who_would_not_say_so_is_ending_or_marked_is_not_marked() {
    let smallest = Consumer { capabilities: [].into(), ..present() };
    let renewed_for = Consumer { renewal: Renewal::Server, ..present() };
    let ending = Consumer { standing: Standing::Ending(FenceReason::NoProgress), ..present() };
    let marked = Consumer { suspected: Some(suspicion(DeathSign::Silent)), ..present() };
    let another = Consumer { incarnation: Incarnation::new("2").unwrap(), ..present() };
    for consumer in [smallest, renewed_for, ending, marked, another] {
        let write = mark(&registered(&consumer), &member(), suspicion(DeathSign::Detached));
        assert_eq!(write, None, "{consumer:?}");
    }
}

#[test]
fn a_stream_refutes_that_there_is_none_and_not_that_nothing_is_heard() {
    let silent = Consumer { suspected: Some(suspicion(DeathSign::Silent)), ..present() };
    assert_eq!(unmark_served(&registered(&silent), &member()), None);
    assert!(unmark::<Consumer>(&record(&silent), &[]).is_some(), "a heartbeat does");
    assert_eq!(unmark::<Consumer>(&record(&present()), &[]), None);
    let router = Router::new(member().incarnation, 5_000, WallMillis(0));
    assert_eq!(unmark::<Router>(&Record { value: encode(&router), ..record(&present()) }, &[]), None);
}

#[test]
fn many_ends_at_once_are_no_deaths() {
    let signs = |ended, processes| LifeSigns { is_heard: false, ended, processes }.withhold();
    assert_eq!(signs(3, 3), None, "a small instance");
    assert_eq!(signs(4, 30), Some(MarkWithheld::Mass));
    assert_eq!(signs(4, 40), None, "a tenth");
    assert_eq!(signs(400, 3_999), Some(MarkWithheld::Mass));
    assert_eq!(LifeSigns { is_heard: true, ended: 1, processes: 9 }.withhold(), Some(MarkWithheld::Alive));
}

#[test]
fn only_a_rest_that_no_rounding_explains_shows_that_a_lease_was_kept_alive() {
    let seconds = Duration::from_secs;
    let in_whole_seconds = |rest, since| is_renewed(TTL, rest, since, seconds(1));
    let since = Duration::from_millis(1_050);
    assert!(!in_whole_seconds(seconds(29), since), "kept alive just before, and rounded up");
    assert!(in_whole_seconds(seconds(30), since));
    assert!(!in_whole_seconds(seconds(30), seconds(1)), "it may have been at the same moment");
    assert!(in_whole_seconds(seconds(12), seconds(20)));
    assert!(!in_whole_seconds(seconds(11), seconds(20)));
    let exact = |rest_ms| is_renewed(TTL, Duration::from_millis(rest_ms), since, Duration::ZERO);
    assert!(exact(28_951));
    assert!(!exact(28_950), "it may have been at the same moment");
}
