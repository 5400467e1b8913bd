//! The members that a change concerns: known at every instance, whoever serves the member's stream.

use std::time::Duration;

use kafka_assigner_core::counts::partitions;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Assignment, Consumer, Extra, GroupConfig, Progress, encode};
use kafka_assigner_core::route::route;
use kafka_assigner_core::state::{Concern, GroupState};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::ConsumerView;
use kafka_assigner_types::digest::Digest;
use kafka_assigner_types::id::{HandoffId, Incarnation, Member};
use kafka_assigner_types::kv::{Op, Revision, Txn};
use kafka_assigner_types::mode::Mode;
use proptest::prelude::*;

use crate::histories::{Story, event, same};

fn concern(group: &TestGroup, name: &str) -> Concern {
    let member = group.members().into_iter().find(|member| member.name.as_str() == name);
    group.state.concern(&member.expect("it is registered")).expect("it is registered")
}

fn digest_of(view: &ConsumerView) -> Digest {
    view.roles.iter().map(|(at, role)| role.key().in_partition(at)).collect()
}

/// `a` has both partitions of `t`, and nothing moves.
fn at_rest() -> TestGroup {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    group.settle();
    group
}

// P8, false alarms: reports, measured gaps and bans are written all the time, and no command follows from them.
#[test]
fn what_tells_a_member_nothing_concerns_nobody() {
    let mut group = at_rest();
    let before = concern(&group, "a");
    let registered = group.state.registration(&"a".parse().unwrap()).unwrap();
    let mut consumer = Consumer::clone(registered);
    let progress =
        Progress { handoff: HandoffId::new("h"), done: 1, total: None, left_ms: None, extra: Extra::new() };
    consumer.progress.insert("t/0".to_owned(), progress);
    let (key, lease) = (Key::Consumer("a".parse().unwrap()), registered.lease);
    let op = Op::put_leased(group.state.layout().encode(&key), encode(&consumer), lease);
    group.apply(&Txn::guarded(Vec::new(), vec![op]));
    let key = Key::Assignment(tp("t", 0));
    let assignment: Assignment = group.stored(&key);
    let avoiding = Assignment { gap_ms: Some(7), ..assignment };
    group.put(&key, encode(&avoiding));
    assert_eq!(concern(&group, "a"), before);
    assert!(group.state.revision() > before.revision);
}

// P8, misses: after the end of a role no record names the member any more.
#[test]
fn a_role_that_ended_concerned_its_member() {
    let mut group = at_rest();
    group.join("b");
    let before = (concern(&group, "a"), concern(&group, "b"));
    group.settle();
    let after = (concern(&group, "a"), concern(&group, "b"));
    assert!(group.state.handoffs().is_empty());
    assert!(after.0.revision > before.0.revision && after.1.revision > before.1.revision);
    assert_ne!(after.0.digest, before.0.digest);
    let mut listed = GroupState::new(group.state.layout().clone());
    listed.reset(&group.store.snapshot());
    let member = group.members().remove(0);
    assert_eq!(listed.concern(&member).unwrap().digest, after.0.digest, "and whoever lists knows the roles");
}

#[test]
fn a_session_that_is_not_registered_is_concerned_by_nothing() {
    let mut group = at_rest();
    let member = group.members().remove(0);
    group.crash("a");
    assert_eq!(group.state.concern(&member), None);
    group.join("a");
    assert_eq!(group.state.concern(&member), None, "nor is one that was taken over");
    assert_eq!(concern(&group, "a").digest, Some(Digest::default()), "nor has the next one anything yet");
}

#[test]
fn nothing_is_certain_while_a_record_can_not_be_read() {
    let mut group = at_rest();
    let key = Key::Assignment(tp("t", 0));
    let assignment: Assignment = group.stored(&key);
    group.put(&key, "{");
    assert_eq!(concern(&group, "a").digest, None);
    group.put(&key, encode(&assignment));
    assert!(concern(&group, "a").digest.is_some());
}

#[test]
fn a_route_that_changes_concerns_every_router() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode: Mode::Routed, ..GroupConfig::default() });
    let router = group.route_as("r");
    let before = group.state.route_concern(&router).expect("it is registered");
    group.join("a");
    group.settle();
    let after = group.state.route_concern(&router).expect("it is registered");
    assert!(after.revision > before.revision && after.digest != before.digest);
    group.later(Duration::from_secs(1));
    group.put(&Key::GroupConfig, encode(&GroupConfig { mode: Mode::Routed, ..GroupConfig::default() }));
    assert_eq!(group.state.route_concern(&router), Some(after), "what changes no route concerns none");
    let other = Member { incarnation: Incarnation::new("2").unwrap(), ..router };
    assert_eq!(group.state.route_concern(&other), None);
}

/// The digest of the routes as one look at everything finds them.
fn routes(state: &GroupState) -> Digest {
    partitions(state, None).filter_map(|at| Some(route(state, &at)?.key().of_partition(&at))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_is_kept_is_what_a_look_at_everything_finds(events in prop::collection::vec(event(), 0..60)) {
        let mut story = Story::new();
        for event in &events {
            let known: Vec<(Member, ConsumerView, Revision)> = story.group.members().into_iter().map(|member| {
                let revision = story.group.state.concern(&member).expect("registered").revision;
                let view = story.group.view(&member);
                (member, view, revision)
            }).collect();
            story.happen(event);
            let state = &story.group.state;
            let mut listed = GroupState::new(state.layout().clone());
            listed.reset(&story.group.store.snapshot());
            for member in story.group.members() {
                let found = state.unreadable().is_empty().then(|| digest_of(&story.group.view(&member)));
                prop_assert_eq!(state.concern(&member).expect("registered").digest, found);
                prop_assert_eq!(listed.concern(&member).expect("registered").digest, found, "of a listing");
            }
            for (member, view, revision) in known {
                let (Some(now), is_certain) = (state.concern(&member), state.unreadable().is_empty()) else { continue };
                let is_changed = is_certain && view.undecided.is_empty() && !same(&view.roles, &story.group.view(&member).roles);
                prop_assert!(!is_changed || now.revision > revision, "{member} was concerned");
            }
            for (name, entry) in state.routers() {
                let incarnation = entry.readable().expect("nobody spoils it").incarnation.clone();
                let router = Member { name: name.clone(), incarnation };
                let found = state.unreadable().is_empty().then(|| routes(state));
                prop_assert_eq!(state.route_concern(&router).expect("registered").digest, found);
                prop_assert_eq!(listed.route_concern(&router).expect("registered").digest, found, "of a listing");
            }
        }
    }
}
