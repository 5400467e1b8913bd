//! Owners that never let go of one partition: they are fenced of it, and keep everything else.

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::explain::waits_for;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::{CancelReason, FenceReason};
use kafka_assigner_core::record::{Capability, Consumer, GroupConfig, Handoff, Phase, Taken, encode};
use kafka_assigner_core::session::Registration;
use kafka_assigner_core::state::Presence;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::{Role, role};
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::mode::Mode;

fn at() -> TopicPartition {
    tp("t", 1)
}

fn handoff(group: &TestGroup) -> Option<&Handoff> {
    group.state.handoff(&at())
}

fn phase(group: &TestGroup) -> Option<Phase> {
    handoff(group).map(|handoff| handoff.phase)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A group of one topic with two partitions, which `a` owns, a client that can be fenced.
fn owned(mode: Mode, adjust: impl FnOnce(&mut Consumer)) -> (TestGroup, Member) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode, ..GroupConfig::default() });
    let a = group.join_as("a", |consumer| {
        consumer.capabilities.insert(Capability::Fence);
        adjust(consumer);
    });
    group.settle();
    (group, a)
}

fn say(group: &mut TestGroup, member: &Member, ack: &Ack) {
    let id = handoff(group).expect("it moves").id.clone();
    group.say(member, &at(), Some(&id), ack);
}

/// `b` has taken one of them in `overlap`, and `a` does not let go.
fn never_released(adjust: impl FnOnce(&mut Consumer)) -> (TestGroup, Member, Member, Epoch) {
    let (mut group, a) = owned(Mode::Overlap, adjust);
    let held = group.state.assignment(&at()).unwrap().held_epoch();
    let b = group.join("b");
    group.pass();
    say(&mut group, &b, &Ack::Ready);
    group.pass();
    say(&mut group, &b, &Ack::Taken(Taken::default()));
    group.later(seconds(30));
    (group, a, b, held)
}

/// `b` has its state, and `a` is asked to stop, again.
fn asked_to_stop(group: &mut TestGroup, b: &Member) {
    group.pass();
    say(group, b, &Ack::Ready);
    while phase(group) != Some(Phase::Draining) {
        assert!(!group.pass().is_empty(), "it stands still: {:?}", phase(group));
    }
}

/// `a` is asked to stop for the second time in `mode`, and says nothing either time.
pub(crate) fn asked_twice(mode: Mode) -> (TestGroup, Member, Member) {
    let (group, a) = owned(mode, |_| {});
    asked_twice_in(group, a)
}

/// The same of an owner that there is.
fn asked_twice_in(mut group: TestGroup, a: Member) -> (TestGroup, Member, Member) {
    let b = group.join("b");
    asked_to_stop(&mut group, &b);
    group.later(seconds(30));
    group.pass();
    let why = handoff(&group).and_then(|handoff| handoff.cancelled.clone());
    assert!(matches!(why, Some(CancelReason::Deadline { phase: Phase::Draining, .. })), "{why:?}");
    group.pass();
    group.later(seconds(11));
    asked_to_stop(&mut group, &b);
    (group, a, b)
}

/// `a` is fenced of the partition in `exclusive`, just now.
fn fenced() -> (TestGroup, Member, Member) {
    let (mut group, a, b) = asked_twice(Mode::Exclusive);
    group.later(seconds(30));
    let steps = group.pass();
    assert!(is_fence(&steps, &a), "{steps:?}");
    (group, a, b)
}

fn is_fence(steps: &[Action], of: &Member) -> bool {
    let fences = |action: &Action| matches!(&action.step, Step::Fence { member } if member == of);
    steps.iter().any(fences)
}

fn epoch(group: &TestGroup, of: &Member) -> Option<Epoch> {
    group.state.registration(&of.name).unwrap().fenced_epoch(&at())
}

#[test]
fn an_owner_that_never_releases_keeps_its_session_and_the_rest() {
    let (mut group, a, b, held) = never_released(|_| {});
    assert!(is_fence(&group.pass(), &a));
    assert_eq!(handoff(&group), None, "nobody waits in overlap");
    assert_eq!((epoch(&group, &a), group.state.presence(&a)), (Some(held), Presence::Here));
    assert_eq!((group.owner(&at()), group.owner(&tp("t", 0))), (Some("b"), Some("a")));
    assert_eq!(role(&group.state, &a, &at()), None);
    assert!(matches!(role(&group.state, &b, &at()), Some(Role::Owner { .. })));
    assert!(group.drop_fenced(&a));
    assert_eq!(epoch(&group, &a), None);
    assert_eq!(group.settle(), []);
}

#[test]
fn a_release_that_came_meanwhile_stands_against_the_fence() {
    let (mut group, a, ..) = never_released(|_| {});
    let late = group.steps();
    assert!(is_fence(&late, &a));
    say(&mut group, &a, &Ack::Released { last_at: None });
    assert_eq!(group.carry_out(late), []);
    assert_eq!(epoch(&group, &a), None);
}

#[test]
fn a_client_that_knows_no_fence_or_has_too_many_loses_its_session() {
    let old_client = |consumer: &mut Consumer| {
        consumer.capabilities.remove(&Capability::Fence);
    };
    let many = |count: usize| {
        move |consumer: &mut Consumer| {
            consumer.fenced = (0..count).map(|number| (format!("u/{number}"), Epoch(1))).collect();
        }
    };
    let ends = |(mut group, a, ..): (TestGroup, Member, Member, Epoch)| {
        let ends = |action: &Action| matches!(&action.step, Step::EndSession { member, why: FenceReason::NeverReleased } if *member == a);
        group.pass().iter().any(ends)
    };
    assert!(ends(never_released(old_client)));
    assert!(ends(never_released(many(Consumer::MOST_FENCED))));
    assert!(!ends(never_released(many(Consumer::MOST_FENCED - 1))));
}

#[test]
fn a_switch_waits_a_whole_time_to_live_for_one_that_was_fenced() {
    let wait = |grace_ms: u64| {
        let (mut group, ..) = never_released(|consumer| consumer.outage_grace_ms = grace_ms);
        group.pass();
        group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
        let mut waited = 0;
        while group.state.assignment(&at()).unwrap().mode == Mode::Overlap {
            assert!(waited < 1_000, "it is never switched");
            group.later(seconds(1));
            group.pass();
            waited += 1;
        }
        waited
    };
    assert_eq!(wait(0), 30, "the time to live");
    assert_eq!(wait(90_000), 90, "its outage grace");
}

#[test]
fn a_drain_is_called_off_once_before_its_owner_is_fenced() {
    let (mut group, a, _) = asked_twice(Mode::Exclusive);
    group.later(seconds(29));
    assert!(!is_fence(&group.pass(), &a));
    group.later(seconds(1));
    assert!(is_fence(&group.pass(), &a));
    let held = group.state.assignment(&at()).unwrap().held_epoch();
    assert_eq!((phase(&group), epoch(&group, &a)), (Some(Phase::Draining), Some(held)));
    assert_eq!((group.owner(&at()), group.state.presence(&a)), (Some("a"), Presence::Here));
}

#[test]
fn nobody_is_granted_what_was_fenced_for_one_time_to_live() {
    let (mut group, a, _) = fenced();
    for _ in 0..29 {
        group.later(seconds(1));
        group.pass();
        assert_eq!((phase(&group), group.owner(&at())), (Some(Phase::Draining), Some("a")));
    }
    group.later(seconds(1));
    group.pass();
    assert_eq!(group.owner(&at()), Some("b"));
    assert!(epoch(&group, &a).is_some(), "it stands until the client has said its word");
    assert_eq!((group.owner(&tp("t", 0)), group.state.presence(&a)), (Some("a"), Presence::Here));
}

#[test]
fn one_that_may_go_on_by_its_outage_grace_is_waited_for_as_long() {
    let (mut group, a) = owned(Mode::Overlap, |consumer| consumer.outage_grace_ms = 600_000);
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    group.follow(seconds(1));
    let switched = group.state.assignment(&at()).unwrap();
    assert!(switched.mode == Mode::Exclusive && switched.switching.is_some(), "{switched:?}");
    let (mut group, a, b) = asked_twice_in(group, a);
    group.later(seconds(30));
    let steps = group.pass();
    assert!(is_fence(&steps, &a), "{steps:?}");
    group.later(seconds(599));
    group.pass();
    assert_eq!((phase(&group), group.owner(&at())), (Some(Phase::Draining), Some("a")));
    group.later(seconds(1));
    group.pass();
    assert_eq!(group.owner(&at()), Some(b.name.as_str()));
}

/// An older version wrote the handoff, without the epochs of those who had to let go.
#[test]
fn an_owner_of_which_no_epoch_is_known_loses_its_session() {
    let (mut group, a, ..) = never_released(|_| {});
    let moved = handoff(&group).unwrap().clone();
    group.put(&Key::Handoff(at()), encode(&Handoff { old_epochs: Vec::new(), ..moved }));
    let steps = group.pass();
    let ends = |action: &Action| matches!(&action.step, Step::EndSession { member, .. } if *member == a);
    assert!(steps.iter().any(ends) && !is_fence(&steps, &a), "{steps:?}");
}

#[test]
fn the_word_of_the_client_ends_the_wait() {
    let (mut group, a, _) = fenced();
    let told = waits_for(&group.state, handoff(&group).unwrap()).to_string();
    assert!(told.starts_with("a, which was fenced of it"), "{told}");
    group.follow(seconds(3));
    assert_eq!(group.owner(&at()), Some("a"));
    assert!(group.drop_fenced(&a));
    group.follow(seconds(1));
    assert_eq!(group.owner(&at()), Some("b"));
}

#[test]
fn a_new_leader_waits_from_its_own_sight() {
    let (mut group, ..) = fenced();
    group.later(seconds(20));
    group.change_leader();
    group.pass();
    group.later(seconds(29));
    group.pass();
    assert_eq!(group.owner(&at()), Some("a"));
    group.later(seconds(1));
    group.pass();
    assert_eq!(group.owner(&at()), Some("b"));
}

/// Nobody is told of a fence in a registration that can't be read.
#[test]
fn the_wait_begins_anew_once_a_registration_can_be_read_again() {
    let (mut group, a, _) = fenced();
    let key = Key::Consumer(a.name.clone());
    let registration: Consumer = group.stored(&key);
    group.later(seconds(20));
    group.put(&key, "nonsense");
    group.follow(seconds(15));
    assert_eq!(group.owner(&at()), Some("a"));
    group.put(&key, encode(&registration));
    group.follow(seconds(29));
    assert_eq!(group.owner(&at()), Some("a"));
    group.follow(seconds(2));
    assert_eq!(group.owner(&at()), Some("b"));
}

#[test]
fn an_owner_that_stops_after_all_is_heard() {
    let (mut group, a, _) = fenced();
    say(&mut group, &a, &Ack::Drained(Drained { offset: None, last_at: None }));
    group.pass();
    assert_eq!(group.owner(&at()), Some("b"));
}

#[test]
fn an_owner_that_says_that_it_is_at_work_is_never_fenced() {
    let (mut group, a, _) = asked_twice(Mode::Exclusive);
    group.report_busy(&a, &at(), true);
    let steps: Vec<Action> = group.follow(seconds(301)).into_iter().map(|(_, action)| action).collect();
    assert!(steps.iter().any(|action| matches!(action.step, Step::Cancel { .. })), "{steps:?}");
    assert!(!is_fence(&steps, &a), "{steps:?}");
}

#[test]
fn in_overlap_one_that_is_busy_for_too_long_is_fenced_too() {
    let (mut group, a) = owned(Mode::Overlap, |_| {});
    let b = group.join("b");
    group.pass();
    say(&mut group, &b, &Ack::Ready);
    group.pass();
    say(&mut group, &b, &Ack::Taken(Taken::default()));
    group.report_busy(&a, &at(), true);
    group.later(seconds(299));
    assert!(!is_fence(&group.pass(), &a));
    group.later(seconds(1));
    assert!(is_fence(&group.pass(), &a));
}

#[test]
fn in_routed_requests_go_on_to_the_old_owner_instead() {
    let (mut group, a, _) = asked_twice(Mode::Routed);
    group.later(seconds(30));
    let steps = group.pass();
    assert!(steps.iter().any(|action| matches!(action.step, Step::Cancel { .. })), "{steps:?}");
    assert!(!is_fence(&steps, &a));
}

#[test]
fn a_move_that_ends_while_the_fence_stands_leaves_a_higher_epoch_to_its_owner() {
    let (mut group, a, b) = fenced();
    let fenced = epoch(&group, &a).unwrap();
    group.crash(b.name.as_str());
    group.settle();
    let Some(Role::Owner { epoch, run, start, .. }) = role(&group.state, &a, &at()) else {
        panic!("it goes on")
    };
    assert!(epoch > fenced);
    assert_eq!((run, start), (epoch, None), "it has dropped what it had, and begins at what is committed");
    assert!(group.drop_fenced(&a), "the fence is of what it had before");
}

#[test]
fn the_word_about_an_earlier_grant_removes_no_later_fence() {
    let (group, a, _) = fenced();
    let registration = group.state.registration(&a.name).unwrap();
    let fenced = registration.fenced_epoch(&at()).unwrap();
    assert!(registration.unfenced(&[(at(), Epoch(fenced.0 - 1))]).is_none());
    assert!(registration.unfenced(&[(tp("t", 0), fenced)]).is_none());
    assert!(registration.unfenced(&[(at(), fenced)]).unwrap().fenced.is_empty());
}
