//! A handoff from its beginning to its end.

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::action::Step;
use kafka_assigner_core::advance::advance;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{GroupConfig, Phase, Taken, encode};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Member, Offset};
use kafka_assigner_types::mode::Mode;

fn role(group: &TestGroup, member: &Member) -> Option<Role> {
    group.view(member).roles.get(&tp("t", 1)).cloned()
}

#[test]
fn the_old_owner_works_until_the_new_one_works() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    let Some(Role::Owner { epoch: old_epoch, .. }) = role(&group, &a) else { panic!() };
    group.pass();
    assert!(matches!(role(&group, &b), Some(Role::Warming { .. })));
    group.say(&b, &tp("t", 1), None, &Ack::Ready);
    group.pass();
    let Some(Role::Owner { epoch, taking: Some(_), .. }) = role(&group, &b) else { panic!() };
    assert!(epoch > old_epoch);
    let still = role(&group, &a).unwrap();
    assert!(matches!(still, Role::Owner { epoch, .. } if epoch == old_epoch), "release before taken");
    group.say(&b, &tp("t", 1), None, &Ack::Taken(Taken::default()));
    assert!(matches!(role(&group, &a), Some(Role::Releasing { epoch, .. }) if epoch == old_epoch));
    assert!(matches!(role(&group, &b), Some(Role::Owner { taking: None, .. })));
    group.say(&a, &tp("t", 1), None, &Ack::Released { last_at: None });
    assert_eq!(role(&group, &a), None);
    assert!(group.state.handoffs().is_empty());
}

#[test]
fn a_cancelled_handoff_looks_like_none() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    let before = group.view(&a);
    let b = group.join("b");
    group.pass();
    group.say(&b, &tp("t", 1), None, &Ack::WarmFailed { reason: "no".to_owned() });
    let steps = group.steps();
    group.carry_out(steps);
    assert_eq!(group.state.handoff(&tp("t", 1)).unwrap().phase, Phase::Cancelled);
    let (cancelled, of_b) = (group.view(&a), group.view(&b));
    let steps = group.steps();
    group.carry_out(steps);
    assert!(group.state.handoffs().is_empty());
    assert_eq!(group.view(&a).roles, cancelled.roles);
    assert_eq!(group.view(&b).roles, of_b.roles);
    assert_eq!(before.roles, cancelled.roles);
    assert!(!of_b.roles.contains_key(&tp("t", 1)));
}

#[test]
fn progress_extends_a_warm_up_for_as_long_as_it_goes_on() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    for done in 1..10 {
        group.later(Duration::from_secs(200));
        group.report(&b, &tp("t", 1), done);
        assert_eq!(advance(&group.state, &tp("t", 1), group.context()), None);
    }
    group.later(Duration::from_secs(200));
    group.report(&b, &tp("t", 1), 9);
    group.later(Duration::from_secs(100));
    let cancel = advance(&group.state, &tp("t", 1), group.context());
    assert!(matches!(cancel.unwrap().step, Step::Cancel { .. }), "the same number again is no progress");
}

/// A unit of two partitions that moves, with the consumer that warms up.
fn warming_set() -> (TestGroup, Member) {
    let mut group = TestGroup::default();
    group.topic_in_set("t", 2, "s");
    group.topic_in_set("u", 2, "s");
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    assert_eq!(group.state.handoff(&tp("t", 1)).unwrap().unit, [tp("t", 1), tp("u", 1)]);
    (group, b)
}

#[test]
fn each_partition_of_a_set_progresses_by_its_own_numbers() {
    let (mut group, b) = warming_set();
    group.report(&b, &tp("t", 1), 1_000_000);
    group.say(&b, &tp("t", 1), None, &Ack::Ready);
    for done in 1..10 {
        group.later(Duration::from_secs(200));
        group.report(&b, &tp("u", 1), done);
        assert_eq!(advance(&group.state, &tp("t", 1), group.context()), None, "after {done}");
    }
}

#[test]
fn a_first_word_of_ready_is_progress() {
    let (mut group, b) = warming_set();
    group.later(Duration::from_secs(200));
    group.say(&b, &tp("t", 1), None, &Ack::Ready);
    group.later(Duration::from_secs(200));
    assert_eq!(advance(&group.state, &tp("t", 1), group.context()), None, "200 s since the word");
    group.later(Duration::from_secs(100));
    let cancel = advance(&group.state, &tp("t", 1), group.context());
    assert!(matches!(cancel.unwrap().step, Step::Cancel { .. }), "300 s since the word");
}

#[test]
fn an_end_that_became_known_is_progress_once_and_its_growth_is_none() {
    let (mut group, b) = warming_set();
    group.later(Duration::from_secs(200));
    group.report_of(&b, &tp("t", 1), 0, Some(10));
    group.later(Duration::from_secs(200));
    assert_eq!(advance(&group.state, &tp("t", 1), group.context()), None, "200 s since the end is known");
    group.report_of(&b, &tp("t", 1), 0, Some(20));
    group.later(Duration::from_secs(100));
    let cancel = advance(&group.state, &tp("t", 1), group.context());
    assert!(matches!(cancel.unwrap().step, Step::Cancel { .. }), "records that come in are no progress");
}

#[test]
fn reported_progress_is_no_change_of_membership() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    let before = group.store.clone();
    group.report(&b, &tp("t", 1), 1);
    let record =
        group.store.records().find(|record| before.get(&record.key) != Some(record)).unwrap().clone();
    let mut state = kafka_assigner_core::state::GroupState::new(group.state.layout().clone());
    state.reset(&before.snapshot());
    let touched = state.apply(&[kafka_assigner_types::kv::Change::Put(record)], group.store.revision());
    assert!(!touched.calls_for_plan() && touched.members.is_empty());
    assert!(touched.progress.contains(&b.name));
}

#[test]
fn a_new_leader_starts_every_deadline_afresh() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    group.settle();
    group.join("b");
    group.pass();
    group.later(Duration::from_secs(299));
    group.change_leader();
    group.later(Duration::from_secs(299));
    assert_eq!(advance(&group.state, &tp("t", 1), group.context()), None);
    group.later(Duration::from_secs(1));
    assert!(advance(&group.state, &tp("t", 1), group.context()).is_some());
}

#[test]
fn nothing_a_deposed_leader_decided_applies() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    let grants = group.plan().actions;
    group.remove(&Key::Leader);
    group.put(
        &Key::Leader,
        encode(&kafka_assigner_core::record::LeaderRecord::new(
            "other".to_owned(),
            "http://other".to_owned(),
            kafka_assigner_types::moment::WallMillis(0),
        )),
    );
    let before = group.store.clone();
    assert!(group.carry_out(grants).is_empty());
    assert_eq!(group.store, before);
}

#[test]
fn what_is_complete_ends_though_its_new_owner_died_and_nobody_else_may_have_it() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.leave(&a, &Leaving::Drain);
    group.pass();
    let id = group.state.handoff(&tp("t", 0)).unwrap().id.clone();
    group.say(&b, &tp("t", 0), Some(&id), &Ack::Ready);
    group.pass();
    group.say(
        &a,
        &tp("t", 0),
        Some(&id),
        &Ack::Drained(Drained { offset: Offset::new(7).ok(), last_at: None }),
    );
    assert_eq!(group.state.handoff(&tp("t", 0)).unwrap().phase, Phase::Complete);
    group.crash("b");
    group.settle();
    assert!(group.state.handoffs().is_empty(), "it would count against the budgets for ever");
}
