//! The coming, going and coming back of consumers.

use std::time::Duration;

use kafka_assigner_core::action::Step;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::{FenceReason, Reason};
use kafka_assigner_core::record::{GroupConfig, Standing};
use kafka_assigner_core::session::{self, Leaving, is_drained};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::Member;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

fn two_of(partitions: u32) -> (TestGroup, Member, Member) {
    let mut group = TestGroup::with_topics(&[("t", partitions)]);
    let (a, b) = (group.join("a"), group.join("b"));
    group.settle();
    (group, a, b)
}

fn moves(steps: &[kafka_assigner_core::action::Action]) -> usize {
    steps.iter().filter(|action| matches!(action.step, Step::Begin { .. })).count()
}

#[test]
fn a_successor_of_the_same_name_gets_the_same_partitions_without_a_move() {
    // A higher epoch tells the new session that they are its own.
    let (mut group, a, _) = two_of(4);
    let before = group.view(&a);
    let again = group.join("a");
    assert!(group.view(&a).roles.is_empty(), "a superseded session has no role");
    let done = group.settle();
    assert_eq!(moves(&done), 0);
    let after = group.view(&again);
    assert!(before.roles.keys().eq(after.roles.keys()));
    for (at, role) in &after.roles {
        let (Role::Owner { epoch: new, .. }, Role::Owner { epoch: old, .. }) = (role, &before.roles[at])
        else {
            panic!()
        };
        assert!(new > old);
    }
    assert!(done.iter().all(|a| matches!(&a.step, Step::Grant { why: Reason::OwnerReturned, .. })));
}

#[test]
fn a_vanished_owner_leaves_its_partitions_to_the_others_at_once() {
    let (mut group, ..) = two_of(4);
    group.crash("a");
    assert_eq!(moves(&group.settle()), 0);
    assert_eq!(group.loads().into_iter().collect::<Vec<_>>(), [("b".to_owned(), 4)]);
}

#[test]
fn within_the_grace_the_name_finds_its_partitions_and_after_it_others_get_them() {
    let (mut group, ..) = two_of(4);
    group.configure(&GroupConfig { rejoin_grace_ms: 5_000, ..GroupConfig::default() });
    group.crash("a");
    let mut left = group.clone();
    group.settle();
    assert_eq!(group.plan().deferred.iter().filter(|d| d.why.label() == "awaiting_rejoin").count(), 2);
    group.later(Duration::from_millis(4_999));
    group.join("a");
    assert_eq!(moves(&group.settle()), 0);
    assert_eq!(group.loads()["a"], 2);

    assert_eq!(
        left.leader.memory().next_plan(&left.state, left.moment),
        Some(left.moment + Duration::from_secs(5))
    );
    left.later(Duration::from_secs(5));
    left.settle();
    assert_eq!(left.loads()["b"], 4);
}

#[test]
fn a_restart_keeps_the_partitions_while_its_mark_lives() {
    let (mut group, a, _) = two_of(4);
    group.configure(&GroupConfig::default());
    let mark = group.restart(&a);
    assert!(group.settle().is_empty());
    let mut lapsed = group.clone();
    group.join("a");
    assert_eq!(moves(&group.settle()), 0);
    assert_eq!(group.loads()["a"], 2);
    group.crash("a");
    assert!(!group.leader.memory().awaits(&group.state, &a.name, group.moment), "the mark has done its work");
    lapsed.end_lease(mark);
    lapsed.settle();
    assert_eq!(lapsed.loads()["b"], 4);
}

#[test]
fn a_draining_consumer_gives_everything_by_handoff_and_takes_nothing() {
    let (mut group, a, _) = two_of(4);
    group.join("c");
    assert!(group.leave(&a, &Leaving::Drain));
    assert!(!is_drained(&group.state, &a));
    let begun = group.pass();
    let from_a = |step: &Step| matches!(step, Step::Begin { from, .. } if *from == a);
    assert_eq!(begun.iter().filter(|action| from_a(&action.step)).count(), 2);
    assert!(begun.iter().all(|action| !matches!(&action.step, Step::Begin { to, .. } if *to == a)));
    assert!(begun.iter().all(|action| !matches!(action.step, Step::Grant { .. })));
    group.settle();
    assert!(is_drained(&group.state, &a));
    assert!(!group.loads().contains_key("a"));
}

/// A grant compares the lease of the one that gets it, which is the same while that one drains.
#[test]
fn a_grant_that_lands_before_a_drained_consumer_leaves_is_seen_afterwards() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.join("b");
    group.settle();
    let a = group.join("a");
    group.crash("b");
    let before = group.plan();
    group.leave(&a, &Leaving::Drain);
    let seen = group.state.clone();
    group.carry_out(before.actions);
    assert_eq!(group.owner(&tp("t", 0)), Some("a"));
    let farewell = session::dismiss(&seen, &a).expect("it has nothing, as that view has it");
    assert!(group.apply(&farewell.write.expect("its registration goes").unfenced()));
    assert!(!is_drained(&group.state, &a), "so that its lease is not ended");
}

/// It may not have heard of that yet.
#[test]
fn a_strict_owner_whose_topic_is_gone_has_no_role_and_keeps_its_lease() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    let a = group.join("a");
    group.settle();
    group.leave(&a, &Leaving::Drain);
    group.remove(&Key::Topic("t".parse().unwrap()));
    assert!(session::dismiss(&group.state, &a).is_some(), "nobody tells it anything any more");
    assert!(!session::has_nothing(&group.state, &a));
}

#[test]
fn a_drained_consumer_is_let_go_by_a_write_on_its_registration() {
    let (mut group, a, _) = two_of(2);
    assert_eq!(session::dismiss(&group.state, &a), None, "it does not drain");
    group.leave(&a, &Leaving::Drain);
    group.settle();
    let farewell = session::dismiss(&group.state, &a).expect("it has handed everything over");
    assert!(group.apply(&farewell.write.expect("it is guarded").unfenced()));
    assert_eq!(group.state.registration(&a.name), None);
}

#[test]
fn the_last_consumer_keeps_what_nobody_else_can_take_though_it_drains() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    group.leave(&a, &Leaving::Drain);
    assert!(group.settle().is_empty());
    assert_eq!(group.view(&a).roles.len(), 2);
    assert!(!is_drained(&group.state, &a));
}

#[test]
fn nothing_undoes_a_forced_end() {
    let (mut group, a, _) = two_of(2);
    let end = session::end(&group.state, &a, FenceReason::NoProgress).unwrap();
    assert!(group.apply(&end.unfenced()));
    assert!(!group.leave(&a, &Leaving::Drain), "draining would make it active again");
    assert_eq!(session::end(&group.state, &a, FenceReason::NoProgress), None);
    let standing = |group: &TestGroup| group.state.registration(&a.name).unwrap().standing.clone();
    assert_eq!(standing(&group), Standing::Ending(FenceReason::NoProgress));
    group.settle();
    assert_eq!(group.loads()["b"], 2);
    assert!(group.leave(&a, &Leaving::Now), "it confirms that it stopped");
}

#[test]
fn a_session_that_is_over_cannot_leave_in_the_place_of_its_successor() {
    let (mut group, a, _) = two_of(2);
    let late = session::leave(&group.state, &a, &Leaving::Now, WallMillis(0)).unwrap();
    let again = group.join("a");
    assert!(!group.leave(&a, &Leaving::Now));
    group.end_lease(late.ends.unwrap());
    assert!(group.state.registration(&again.name).is_some());
}

/// `a`, which another session took over from, in a group that waits for claims.
fn superseded() -> (TestGroup, Member, Member) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    let a = group.join("a");
    group.settle();
    let successor = group.join("a");
    assert!(group.pass().is_empty(), "the claim of the first one runs");
    (group, a, successor)
}

#[test]
fn a_session_that_was_taken_over_says_that_it_has_let_go_and_nobody_waits() {
    let (mut group, a, successor) = superseded();
    assert!(group.let_go(&a));
    group.pass();
    assert_eq!(group.view(&successor).roles.len(), 2);
    assert!(!group.let_go(&a), "it owns nothing any more");
}

#[test]
fn the_word_of_one_session_ends_no_claim_of_another() {
    let (mut group, a, successor) = superseded();
    assert!(group.let_go(&a));
    group.pass();
    group.join("a");
    assert!(group.pass().is_empty(), "{successor} may still act");
}

#[test]
fn who_left_by_itself_is_not_waited_for_where_revocations_are() {
    for comes_back in [false, true] {
        let mut group = TestGroup::with_topics(&[("t", 2)]);
        let config =
            GroupConfig { mode: Mode::Exclusive, wait_out_revocations: true, ..GroupConfig::default() };
        group.configure(&config);
        let a = group.join("a");
        group.settle();
        let b = group.join("b");
        assert!(session::marked_for(&group.state, &a, comes_back).is_some());
        let mut revoked = group.clone();
        if comes_back {
            group.restart(&a);
            group.join("a");
        } else {
            assert!(group.let_go(&a));
        }
        let granted = group.pass().iter().filter(|a| matches!(a.step, Step::Grant { .. })).count();
        assert_ne!(granted, 0, "comes back: {comes_back}");
        revoked.crash("a");
        let waits = revoked.pass().iter().all(|action| !matches!(action.step, Step::Grant { .. }));
        assert!(waits && revoked.view(&b).roles.is_empty(), "nobody said that it stopped");
    }
}

#[test]
fn everybody_gone_and_back_finds_what_it_had() {
    let (mut group, ..) = two_of(4);
    let before: Vec<_> = (0..4).map(|n| group.owner(&tp("t", n)).map(str::to_owned)).collect();
    group.crash("a");
    group.crash("b");
    group.settle();
    assert_eq!(group.plan().deferred.len(), 4);
    group.join("b");
    group.join("a");
    assert_eq!(moves(&group.settle()), 0);
    let after: Vec<_> = (0..4).map(|n| group.owner(&tp("t", n)).map(str::to_owned)).collect();
    assert_eq!(before, after);
}

#[test]
fn an_unreadable_registration_is_neither_here_nor_gone() {
    let (mut group, a, _) = two_of(4);
    let key = Key::Consumer(a.name.clone());
    let good = group.store.get(&group.state.layout().encode(&key)).unwrap().clone();
    group.put(&key, "{");
    group.join("c");
    group.settle();
    assert_eq!(group.loads()["a"], 2, "it keeps what it has");
    assert_eq!(group.view(&a).roles.len(), 2, "and is told so");
    group.put(&key, good.value);
    group.settle();
    assert_eq!(group.loads().values().max(), Some(&2));
}

#[test]
fn nobody_takes_what_only_consumers_of_other_topics_or_draining_ones_could() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    assert!(session::nobody_takes(&group.state, &a), "there is nobody else");
    group.join_as("u", |consumer| consumer.topics = ["u".parse().unwrap()].into());
    assert!(session::nobody_takes(&group.state, &a), "u does not take t");
    let b = group.join("b");
    assert!(!session::nobody_takes(&group.state, &a));
    assert!(!session::nobody_takes(&group.state, &b), "b owns nothing, so it waits for nobody");
    group.leave(&b, &Leaving::Drain);
    assert!(session::nobody_takes(&group.state, &a), "b drains too");
}

#[test]
fn nobody_takes_a_part_of_what_moves_as_one() {
    let mut group = TestGroup::default();
    ["t", "u"].into_iter().for_each(|topic| group.topic_in_set(topic, 1, "s"));
    let a = group.join("a");
    group.settle();
    group.join_as("b", |consumer| consumer.topics = ["t".parse().unwrap()].into());
    assert!(session::nobody_takes(&group.state, &a), "b takes one of the two");
}
