//! Handoffs that others prepare for the end of a suspect's session.

use std::time::Duration;

use kafka_assigner_core::ack::{self, Ack};
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::advance::{advance, advance_by};
use kafka_assigner_core::explain::waits_for;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::{CancelReason, DeferReason, Reason};
use kafka_assigner_core::record::{Awaited, DeathSign, GroupConfig, Handoff, Phase};
use kafka_assigner_core::rules;
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

use super::{ends, group_of, load, of_mode, prepared_within_limits, reasons, wait};

pub(super) fn handoffs(group: &TestGroup) -> Vec<Handoff> {
    group.state.handoffs().keys().filter_map(|at| group.state.handoff(at)).cloned().collect()
}

pub(super) fn phases(group: &TestGroup) -> Vec<Phase> {
    handoffs(group).iter().map(|handoff| handoff.phase).collect()
}

pub(super) fn cancelled(actions: &[Action]) -> Vec<&CancelReason> {
    let cancelled = actions.iter().filter_map(|action| match &action.step {
        Step::Cancel { why, .. } => Some(why),
        _ => None,
    });
    cancelled.collect()
}

/// `c0` of three is a suspect, and others are warm with what it owns.
pub(super) fn warm_ahead(config: &GroupConfig) -> (TestGroup, Vec<Member>) {
    let (mut group, members) = group_of(3, config);
    group.suspect(&members[0], DeathSign::Detached);
    group.pass();
    assert_eq!(phases(&group), [Phase::Warming; 2]);
    assert!(handoffs(&group).iter().all(|handoff| handoff.awaits == Some(Awaited::EndOfSession)));
    group.everybody_acts();
    assert_eq!(phases(&group), [Phase::Ready; 2]);
    (group, members)
}

/// True if the row `rule` alone keeps a handoff from its next step, or decides it.
pub(super) fn decides(group: &TestGroup, rule: &str) -> bool {
    let handoff = handoffs(group).into_iter().find(|handoff| handoff.old.name.as_str() == "c0").unwrap();
    let (at, rows) = (handoff.lead(), rules::of_mode(handoff.mode));
    let others: Vec<_> = rows.iter().filter(|row| row.name != rule).copied().collect();
    assert!(others.len() < rows.len(), "{rule}");
    let next = advance(&group.state, at, group.context());
    next != advance_by(&others, &group.state, at, group.context())
}

#[test]
fn each_row_of_suspects_decides_something() {
    for mode in Mode::ALL {
        let (mut group, members) = warm_ahead(&of_mode(mode));
        if mode.is_strict() {
            assert!(decides_of_moves(mode), "{mode}");
            // A registration that can't be read is not heard, nor is it suspected.
            group.put(&Key::Consumer(members[0].name.clone()), "nonsense");
        }
        assert!(decides(&group, "warm ahead"), "{mode}");
        let (mut group, members) = warm_ahead(&of_mode(mode));
        group.hear(&members[0]);
        assert!(decides(&group, "old owner heard again"), "{mode}");
        let config = GroupConfig { rejoin_grace_ms: 60_000, ..of_mode(mode) };
        let (mut group, _) = warm_ahead(&config);
        group.crash("c0");
        wait(&mut group, 31_000);
        assert!(decides(&group, "its owner may come back"), "{mode}");
        let at = handoffs(&group)[0].lead().clone();
        let verdict = ack::abort(&group.state, &at, "not now", WallMillis(0));
        let ack::Verdict::Record { write, .. } = verdict else { panic!("{verdict:?}") };
        assert!(group.apply(&write.unfenced()));
        assert!(decides(&group, "given up while it waits"), "{mode}");
    }
}

/// True if the row that lets a strict move of a suspect wait decides something.
fn decides_of_moves(mode: Mode) -> bool {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&of_mode(mode));
    let c0 = group.join("c0");
    group.settle();
    group.join("b");
    group.pass();
    group.suspect(&c0, DeathSign::Detached);
    group.everybody_acts();
    decides(&group, "old owner suspected")
}

#[test]
fn others_are_warm_when_the_session_ends_and_wait_for_that_without_a_deadline() {
    for mode in Mode::ALL {
        let config = GroupConfig { phase_deadline_ms: 5_000, takeover_after_ms: 0, ..of_mode(mode) };
        let (mut group, _) = warm_ahead(&config);
        assert_eq!(wait(&mut group, 29_000), [], "{mode}");
        assert_eq!((phases(&group), load(&group, "c0")), (vec![Phase::Ready; 2], 2), "{mode}");
        let waits = waits_for(&group.state, &handoffs(&group)[0]).to_string();
        assert_eq!(waits, "the session of c0 to end");
        group.crash("c0");
        group.pass();
        assert_eq!((load(&group, "c0"), handoffs(&group)), (0, Vec::new()), "{mode}");
        let why = |n| group.state.assignment(&tp("t", n)).unwrap().why.clone();
        let warm = (0..6).filter(|n| matches!(why(*n), Reason::TookOverWarm { .. })).count();
        assert_eq!(warm, 2, "{mode}");
    }
}

#[test]
fn what_was_prepared_is_granted_with_the_takeover() {
    let (mut group, _) = warm_ahead(&GroupConfig::default());
    assert_eq!(ends(&wait(&mut group, 3_000)), ["c0"]);
    let done = group.pass();
    let warm =
        |action: &&Action| matches!(&action.step, Step::Grant { why: Reason::TookOverWarm { .. }, .. });
    assert_eq!(done.iter().filter(warm).count(), 2);
}

#[test]
fn what_was_prepared_is_cancelled_once_the_owner_is_heard() {
    for mode in Mode::ALL {
        let (mut group, members) = warm_ahead(&of_mode(mode));
        group.hear(&members[0]);
        let done = group.pass();
        assert_eq!(cancelled(&done), [&CancelReason::OwnerHeard; 2], "{mode}");
        group.settle();
        assert_eq!(load(&group, "c0"), 2, "{mode}");
    }
}

#[test]
fn what_is_prepared_takes_half_of_what_a_consumer_warms_and_no_place_of_a_move() {
    let mut group = TestGroup::with_topics(&[("t", 12)]);
    let config = GroupConfig { max_warming: 4, max_moves_in_flight: 1, ..GroupConfig::default() };
    group.configure(&config);
    let a = group.join("a");
    group.join("b");
    group.settle();
    group.suspect(&a, DeathSign::Detached);
    group.pass();
    assert_eq!(handoffs(&group).len(), 2, "half of four");
    let full = DeferReason::Warming { consumer: "b".parse().unwrap(), limit: 2 };
    assert!(reasons(&group).contains(&full));
    group.join("c");
    group.pass();
    let moves = |group: &TestGroup| handoffs(group).iter().filter(|handoff| handoff.awaits.is_none()).count();
    assert_eq!(moves(&group), 1, "the group's only move");
}

#[test]
fn a_suspect_is_given_nothing() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    group.topic("new", 6);
    group.pass();
    let owned = |n| group.owner(&tp("new", n)).unwrap().to_owned();
    assert!((0..6).all(|n| owned(n) != "c0"));
}

#[test]
fn a_move_to_a_suspect_waits_until_it_is_heard() {
    for mode in Mode::ALL {
        let mut group = TestGroup::with_topics(&[("t", 2)]);
        group.configure(&of_mode(mode));
        group.join("a");
        group.settle();
        let b = group.join("b");
        group.pass();
        group.suspect(&b, DeathSign::Detached);
        group.everybody_acts();
        wait(&mut group, 2_000);
        assert_eq!(phases(&group), [Phase::Ready], "{mode}");
        group.hear(&b);
        group.settle();
        assert_eq!(load(&group, "b"), 1, "{mode}");
    }
}

#[test]
fn a_suspect_does_not_get_what_a_dead_owner_had() {
    for mode in Mode::ALL {
        let mut group = TestGroup::with_topics(&[("t", 2)]);
        group.configure(&of_mode(mode));
        group.join("a");
        group.settle();
        let b = group.join("b");
        group.pass();
        group.everybody_acts();
        group.suspect(&b, DeathSign::Detached);
        group.crash("a");
        group.join("c");
        group.settle();
        assert_eq!(load(&group, "c"), 2, "{mode}");
    }
}

#[test]
fn the_moves_of_a_suspect_go_on() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    group.suspect(&a, DeathSign::Detached);
    let (at, id) = handoffs(&group).first().map(|h| (h.lead().clone(), h.id.clone())).unwrap();
    group.say(&b, &at, Some(&id), &Ack::Ready);
    group.pass();
    assert_eq!(group.owner(&at), Some("b"));
}

#[test]
fn what_is_prepared_yields_to_a_move_of_an_owner_that_drains() {
    let (mut group, members) = warm_ahead(&GroupConfig { takeover_after_ms: 0, ..GroupConfig::default() });
    let before: Vec<_> = handoffs(&group).into_iter().map(|handoff| (handoff.id, handoff.new)).collect();
    group.leave(&members[0], &Leaving::Drain);
    group.later(Duration::from_millis(100));
    group.pass();
    let kept = |(id, new): &(_, Member)| {
        handoffs(&group).iter().any(|h| h.id == *id && h.new == *new && h.awaits.is_none())
    };
    assert!(before.iter().all(kept), "a move to the same consumer goes on: {:?}", handoffs(&group));
    group.settle();
    assert_eq!(load(&group, "c0"), 0, "in overlap nobody waits for it");
}

#[test]
fn a_set_is_prepared_as_one() {
    let mut group = TestGroup::default();
    ["t", "u"].iter().for_each(|topic| group.topic_in_set(topic, 2, "s"));
    let a = group.join("a");
    group.join("b");
    group.settle();
    group.suspect(&a, DeathSign::Detached);
    group.pass();
    assert_eq!(handoffs(&group).iter().map(|handoff| handoff.unit.len()).collect::<Vec<_>>(), [2]);
    wait(&mut group, 4_000);
    group.settle();
    assert_eq!(load(&group, "b"), 4);
}

#[test]
fn the_limit_of_a_consumer_holds_for_what_it_prepares() {
    let mut group = prepared_within_limits();
    wait(&mut group, 4_000);
    group.settle();
    assert!(load(&group, "b") <= 3 && load(&group, "c") <= 3, "{:?}", group.loads());
    assert_eq!(load(&group, "a"), 0, "{:?}", group.loads());
}
