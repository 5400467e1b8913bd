//! A store that was put back begins another history: nobody is granted anything strictly while an owner may act whom its
//! records do not name, and epochs rise above all that were lost.

use std::time::Duration;

use kafka_assigner_core::ack::Ack;
use kafka_assigner_core::action::Step;
use kafka_assigner_core::explain::explain;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::DeferReason;
use kafka_assigner_core::record::{ClusterRecord, GroupConfig, HistoryNote};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::{Epoch, Member};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

const LONGEST: Duration = Duration::from_mins(5);

fn first() -> ClusterRecord {
    ClusterRecord::new("first")
}

fn second() -> ClusterRecord {
    first().begun_anew("second", WallMillis(0))
}

/// A settled group of two consumers in the first history.
fn settled(mode: Mode) -> TestGroup {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode, ..GroupConfig::default() });
    group.put_back(&first());
    group.later(LONGEST);
    group.join("a");
    group.join("b");
    group.settle();
    assert_eq!(group.stored::<HistoryNote>(&Key::History), HistoryNote::new("first"));
    group
}

/// Every consumer begins a new session, since the cluster id is another one.
fn join_again(group: &mut TestGroup) {
    for name in ["a", "b"] {
        group.join(name);
    }
}

fn epoch(group: &TestGroup, number: u32) -> Epoch {
    group.state.assignment(&tp("t", number)).unwrap().held_epoch()
}

fn is_granted_anew(group: &TestGroup) -> bool {
    (0..2).all(|number| epoch(group, number).0 > 1 << 32)
}

#[test]
fn strict_grants_wait_for_the_longest_session_that_the_lost_history_may_have_had() {
    let mut group = settled(Mode::Exclusive);
    group.put_back(&second());
    join_again(&mut group);
    group.later(LONGEST.saturating_sub(Duration::from_millis(1)));
    assert!(group.pass().is_empty());
    let why: Vec<_> = group.plan().deferred.into_iter().map(|deferral| deferral.why).collect();
    assert_eq!(why, [DeferReason::StoreRestored { left_ms: 1 }, DeferReason::StoreRestored { left_ms: 1 }]);
    let told =
        explain(&group.state, &tp("t", 0), Ok(&group.plan())).iter().map(ToString::to_string).next_back();
    assert!(told.unwrap().contains("may act for 1 ms"));
    group.later(Duration::from_millis(1));
    group.settle();
    assert!(is_granted_anew(&group));
    assert_eq!(group.stored::<HistoryNote>(&Key::History), HistoryNote::new("second"));
}

#[test]
fn what_nobody_owned_before_waits_as_well() {
    let mut group = settled(Mode::Exclusive);
    group.remove(&Key::Assignment(tp("t", 0)));
    group.put_back(&second());
    group.pass();
    assert_eq!(group.owner(&tp("t", 0)), None);
}

#[test]
fn the_leader_wakes_when_the_wait_is_over() {
    let mut group = settled(Mode::Exclusive);
    group.put_back(&second());
    join_again(&mut group);
    let (since, mut wakes) = (group.moment, 0);
    loop {
        let pass = group.leader.step(&group.state.clone(), Some(&group.leases.clone()), group.inputs());
        group.carry_out(pass.actions().cloned().collect());
        if is_granted_anew(&group) {
            break;
        }
        let slept = pass.wake.since(group.moment);
        group.later(slept);
        wakes += 1;
        assert!(wakes < 100, "the leader does not come to the end of the wait");
    }
    assert_eq!(group.moment.since(since), LONGEST);
}

#[test]
fn a_new_leader_waits_anew_and_a_noted_history_is_not_waited_for() {
    let mut group = settled(Mode::Exclusive);
    group.put_back(&second());
    join_again(&mut group);
    group.later(LONGEST / 2);
    group.change_leader();
    group.later(LONGEST / 2);
    assert!(group.pass().is_empty(), "it has seen half of the wait");
    group.later(LONGEST / 2);
    group.settle();
    group.change_leader();
    group.join("a");
    group.later(Duration::from_secs(31));
    group.settle();
    assert!(is_granted_anew(&group));
}

#[test]
fn in_overlap_nobody_waits_and_a_stricter_mode_does() {
    let mut group = settled(Mode::Overlap);
    group.put_back(&second());
    join_again(&mut group);
    group.settle();
    assert!(is_granted_anew(&group));
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    group.later(LONGEST.saturating_sub(Duration::from_millis(1)));
    assert!(group.pass().is_empty());
    let is_restored = |why: &DeferReason| matches!(why, DeferReason::StoreRestored { left_ms: 1 });
    assert!(group.plan().deferred.iter().all(|deferral| is_restored(&deferral.why)));
    group.later(Duration::from_millis(1));
    group.settle();
    assert_eq!(group.state.assignment(&tp("t", 0)).unwrap().mode, Mode::Exclusive);
}

/// A strict move in the first history, and its new owner.
fn moving() -> (TestGroup, Member) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    group.put_back(&first());
    group.later(LONGEST);
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    (group, b)
}

#[test]
fn a_move_of_the_lost_history_is_not_completed_before() {
    let (mut group, _) = moving();
    assert_eq!(group.state.handoffs().len(), 1);
    group.put_back(&second());
    group.join("a");
    group.later(LONGEST / 2);
    assert!(group.pass().is_empty(), "the old owner is over, and another one may have been granted it since");
    group.later(LONGEST / 2);
    assert!(group.pass().iter().any(|action| matches!(action.step, Step::Adopt { .. })));
}

#[test]
fn a_move_of_the_lost_history_waits_also_where_both_of_its_sessions_seem_to_be_there() {
    let (mut group, b) = moving();
    let at = group.state.handoffs().keys().next().expect("it moves").clone();
    let id = group.state.handoff(&at).expect("it moves").id.clone();
    group.say(&b, &at, Some(&id), &Ack::Ready);
    group.put_back(&second());
    group.later(LONGEST / 2);
    assert!(
        group.pass().is_empty(),
        "it may have ended in the lost history, and the unit have gone on to another"
    );
    group.later(LONGEST / 2);
    assert!(!group.pass().is_empty());
}

#[test]
fn the_wait_follows_what_the_group_allows() {
    let mut group = settled(Mode::Exclusive);
    group.configure(&GroupConfig {
        mode: Mode::Exclusive,
        max_session_timeout_ms: 60_000,
        ..GroupConfig::default()
    });
    group.put_back(&second());
    join_again(&mut group);
    group.later(Duration::from_millis(59_999));
    assert!(group.pass().is_empty());
    group.later(Duration::from_millis(1));
    group.settle();
    assert!(is_granted_anew(&group));
}
