//! How consumers come, go and come back.

use std::time::Duration;

use kafka_assigner_core::action::Step;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::reason::{FenceReason, Reason};
use kafka_assigner_core::record::{GroupConfig, Standing};
use kafka_assigner_core::session::{self, Leaving, is_drained};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::Member;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

fn two_of(partitions: u32) -> (Lab, Member, Member) {
    let mut lab = Lab::with_topics(&[("t", partitions)]);
    let (a, b) = (lab.join("a"), lab.join("b"));
    lab.settle();
    (lab, a, b)
}

fn moves(steps: &[kafka_assigner_core::action::Action]) -> usize {
    steps.iter().filter(|action| matches!(action.step, Step::Begin { .. })).count()
}

#[test]
fn a_successor_of_the_same_name_gets_the_same_partitions_without_a_move() {
    // A higher epoch tells the new session that they are its own.
    let (mut lab, a, _) = two_of(4);
    let before = lab.view(&a);
    let again = lab.join("a");
    assert!(lab.view(&a).roles.is_empty(), "a superseded session has no role");
    let done = lab.settle();
    assert_eq!(moves(&done), 0);
    let after = lab.view(&again);
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
    let (mut lab, ..) = two_of(4);
    lab.crash("a");
    assert_eq!(moves(&lab.settle()), 0);
    assert_eq!(lab.loads().into_iter().collect::<Vec<_>>(), [("b".to_owned(), 4)]);
}

#[test]
fn within_the_grace_the_name_finds_its_partitions_and_after_it_others_get_them() {
    let (mut lab, ..) = two_of(4);
    lab.configure(&GroupConfig { rejoin_grace_ms: 5_000, ..GroupConfig::default() });
    lab.crash("a");
    let mut left = lab.clone();
    lab.settle();
    assert_eq!(lab.plan().deferred.iter().filter(|d| d.why.label() == "awaiting_rejoin").count(), 2);
    lab.later(Duration::from_millis(4_999));
    lab.join("a");
    assert_eq!(moves(&lab.settle()), 0);
    assert_eq!(lab.loads()["a"], 2);

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
    let (mut lab, a, _) = two_of(4);
    lab.configure(&GroupConfig::default());
    let mark = lab.restart(&a);
    assert!(lab.settle().is_empty());
    let mut lapsed = lab.clone();
    lab.join("a");
    assert_eq!(moves(&lab.settle()), 0);
    assert_eq!(lab.loads()["a"], 2);
    lab.crash("a");
    assert!(!lab.leader.memory().awaits(&lab.state, &a.name, lab.moment), "the mark has done its work");
    lapsed.end_lease(mark);
    lapsed.settle();
    assert_eq!(lapsed.loads()["b"], 4);
}

#[test]
fn a_draining_consumer_gives_everything_by_handoff_and_takes_nothing() {
    let (mut lab, a, _) = two_of(4);
    lab.join("c");
    assert!(lab.leave(&a, &Leaving::Drain));
    assert!(!is_drained(&lab.state, &a));
    let begun = lab.pass();
    let from_a = |step: &Step| matches!(step, Step::Begin { from, .. } if *from == a);
    assert_eq!(begun.iter().filter(|action| from_a(&action.step)).count(), 2);
    assert!(begun.iter().all(|action| !matches!(&action.step, Step::Begin { to, .. } if *to == a)));
    assert!(begun.iter().all(|action| !matches!(action.step, Step::Grant { .. })));
    lab.settle();
    assert!(is_drained(&lab.state, &a));
    assert!(!lab.loads().contains_key("a"));
}

#[test]
fn the_last_consumer_keeps_what_nobody_else_can_take_though_it_drains() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    let a = lab.join("a");
    lab.settle();
    lab.leave(&a, &Leaving::Drain);
    assert!(lab.settle().is_empty());
    assert_eq!(lab.view(&a).roles.len(), 2);
    assert!(!is_drained(&lab.state, &a));
}

#[test]
fn nothing_undoes_a_forced_end() {
    let (mut lab, a, _) = two_of(2);
    let end = session::end(&lab.state, &a, FenceReason::NoProgress).unwrap();
    assert!(lab.apply(&end.unfenced()));
    assert!(!lab.leave(&a, &Leaving::Drain), "draining would make it active again");
    assert_eq!(session::end(&lab.state, &a, FenceReason::NoProgress), None);
    let standing = |lab: &Lab| lab.state.registration(&a.name).unwrap().standing.clone();
    assert_eq!(standing(&lab), Standing::Ending(FenceReason::NoProgress));
    lab.settle();
    assert_eq!(lab.loads()["b"], 2);
    assert!(lab.leave(&a, &Leaving::Now), "it confirms that it stopped");
}

#[test]
fn a_session_that_is_over_cannot_leave_in_the_place_of_its_successor() {
    let (mut lab, a, _) = two_of(2);
    let late = session::leave(&lab.state, &a, &Leaving::Now, WallMillis(0)).unwrap();
    let again = lab.join("a");
    assert!(!lab.leave(&a, &Leaving::Now));
    lab.end_lease(late.ends.unwrap());
    assert!(lab.state.registration(&again.name).is_some());
}

/// `a`, which another session took over from, in a group that waits for claims.
fn superseded() -> (Lab, Member, Member) {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    let a = lab.join("a");
    lab.settle();
    let successor = lab.join("a");
    assert!(lab.pass().is_empty(), "the claim of the first one runs");
    (lab, a, successor)
}

#[test]
fn a_session_that_was_taken_over_says_that_it_has_let_go_and_nobody_waits() {
    let (mut lab, a, successor) = superseded();
    assert!(lab.let_go(&a));
    lab.pass();
    assert_eq!(lab.view(&successor).roles.len(), 2);
    assert!(!lab.let_go(&a), "it owns nothing any more");
}

#[test]
fn the_word_of_one_session_ends_no_claim_of_another() {
    let (mut lab, a, successor) = superseded();
    assert!(lab.let_go(&a));
    lab.pass();
    lab.join("a");
    assert!(lab.pass().is_empty(), "{successor} may still act");
}

#[test]
fn who_left_by_itself_is_not_waited_for_where_revocations_are() {
    for comes_back in [false, true] {
        let mut lab = Lab::with_topics(&[("t", 2)]);
        let config =
            GroupConfig { mode: Mode::Exclusive, wait_out_revocations: true, ..GroupConfig::default() };
        lab.configure(&config);
        let a = lab.join("a");
        lab.settle();
        let b = lab.join("b");
        assert!(session::marked_for(&lab.state, &a, comes_back).is_some());
        let mut revoked = lab.clone();
        if comes_back {
            lab.restart(&a);
            lab.join("a");
        } else {
            assert!(lab.let_go(&a));
        }
        let granted = lab.pass().iter().filter(|a| matches!(a.step, Step::Grant { .. })).count();
        assert_ne!(granted, 0, "comes back: {comes_back}");
        revoked.crash("a");
        let waits = revoked.pass().iter().all(|action| !matches!(action.step, Step::Grant { .. }));
        assert!(waits && revoked.view(&b).roles.is_empty(), "nobody said that it stopped");
    }
}

#[test]
fn everybody_gone_and_back_finds_what_it_had() {
    let (mut lab, ..) = two_of(4);
    let before: Vec<_> = (0..4).map(|n| lab.owner(&tp("t", n)).map(str::to_owned)).collect();
    lab.crash("a");
    lab.crash("b");
    lab.settle();
    assert_eq!(lab.plan().deferred.len(), 4);
    lab.join("b");
    lab.join("a");
    assert_eq!(moves(&lab.settle()), 0);
    let after: Vec<_> = (0..4).map(|n| lab.owner(&tp("t", n)).map(str::to_owned)).collect();
    assert_eq!(before, after);
}

#[test]
fn an_unreadable_registration_is_neither_here_nor_gone() {
    let (mut lab, a, _) = two_of(4);
    let key = Key::Consumer(a.name.clone());
    let good = lab.shelf.get(&lab.state.layout().encode(&key)).unwrap().clone();
    lab.put(&key, "{");
    lab.join("c");
    lab.settle();
    assert_eq!(lab.loads()["a"], 2, "it keeps what it has");
    assert_eq!(lab.view(&a).roles.len(), 2, "and is told so");
    lab.put(&key, good.value);
    lab.settle();
    assert_eq!(lab.loads().values().max(), Some(&2));
}
