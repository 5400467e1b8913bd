//! Suspects in the modes that promise a single owner.

use std::time::Duration;

use kafka_assigner_core::claim::{Leases, Remaining};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{Consumer, DeathSign, GroupConfig, Standing, encode};
use kafka_assigner_core::state::Presence;
use kafka_assigner_core::test_group::TestGroup;
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::{Op, Txn};
use kafka_assigner_types::mode::Mode;

use super::{ends, group_of, load, of_mode, wait};

#[test]
fn a_strict_suspect_is_ended_once_a_third_is_left_of_its_lease_and_granted_after_that() {
    for mode in [Mode::Exclusive, Mode::Routed] {
        let (mut group, members) = group_of(3, &of_mode(mode));
        group.suspect(&members[0], DeathSign::Detached);
        group.pass();
        assert_eq!(ends(&wait(&mut group, 19_500)), [""; 0], "{mode}");
        let done = wait(&mut group, 500);
        assert_eq!(ends(&done), ["c0"], "{mode}");
        assert_eq!(load(&group, "c0"), 2, "never in one write");
        group.pass();
        assert_eq!(load(&group, "c0"), 0, "{mode}");
    }
}

#[test]
fn a_strict_suspect_that_was_only_silent_is_left_to_its_lease() {
    let (mut group, members) = group_of(3, &of_mode(Mode::Exclusive));
    group.suspect(&members[0], DeathSign::Silent);
    assert_eq!(ends(&wait(&mut group, 29_500)), [""; 0]);
    assert_eq!((load(&group, "c0"), group.state.presence(&members[0])), (2, Presence::Here));
}

fn end_by_force(group: &mut TestGroup, member: &Member) {
    let key = Key::Consumer(member.name.clone());
    let lease = group.state.registration(&member.name).unwrap().lease;
    let consumer: Consumer = group.stored(&key);
    let ended = Consumer { standing: Standing::Ending(FenceReason::NoProgress), suspected: None, ..consumer };
    let put = Op::put_leased(group.state.layout().encode(&key), encode(&ended), lease);
    assert!(group.apply(&Txn::guarded(Vec::new(), vec![put])));
}

/// The rest is read, a heartbeat is confirmed, somebody ends the session: by the rest, its claim would be over.
#[test]
fn what_is_left_of_a_lease_while_its_session_is_here_grants_nothing() {
    let (mut group, members) = group_of(3, &of_mode(Mode::Exclusive));
    group.suspect(&members[0], DeathSign::Detached);
    wait(&mut group, 19_500);
    group.later(Duration::from_millis(500));
    let lease = group.state.registration(&members[0].name).unwrap().lease;
    let asked = group.leader.step(&group.state, None, group.inputs()).ask;
    assert!(asked.contains_key(&lease), "a third may be left");
    let said: Leases = [(lease, Remaining::Left(Duration::from_secs(10)))].into_iter().collect();
    group.hear(&members[0]);
    end_by_force(&mut group, &members[0]);
    let pass = group.leader.step(&group.state, Some(&said), group.inputs());
    let taken: Vec<_> = pass.actions().filter(|action| action.step.label() == "grant").collect();
    assert_eq!(taken, [] as [&_; 0]);
    wait(&mut group, 19_500);
    assert_eq!(load(&group, "c0"), 2, "it was kept alive just before it was ended");
    wait(&mut group, 500);
    group.pass();
    assert_eq!(load(&group, "c0"), 0);
}

#[test]
fn a_strict_suspect_whose_lease_has_more_time_left_is_asked_about_again_when_that_is_over() {
    let (mut group, members) = group_of(3, &of_mode(Mode::Exclusive));
    // It was marked when ten seconds were left, as far as its instance knew, and kept alive after that.
    group.suspect_with_rest(&members[0], DeathSign::Detached, 10_000);
    group.pass();
    group.later(Duration::from_secs(3));
    let first = group.leader.step(&group.state, None, group.inputs());
    assert_eq!(first.ask.len(), 1);
    let done = wait(&mut group, 16_500);
    assert_eq!(ends(&done), [""; 0]);
    assert_eq!(ends(&wait(&mut group, 1_000)), ["c0"]);
}

/// The store was asked about the lease of another owner when the suspect's time was about to come.
#[test]
fn a_suspect_whose_time_comes_while_the_store_is_asked_about_others_is_asked_about_soon() {
    let (mut group, members) = group_of(4, &of_mode(Mode::Exclusive));
    group.follow(Duration::from_millis(500));
    group.suspect(&members[0], DeathSign::Detached);
    group.follow(Duration::from_millis(19_990));
    end_by_force(&mut group, &members[1]);
    let asked = group.leader.step(&group.state, None, group.inputs()).ask;
    assert_eq!(asked.len(), 1, "that of c1");
    let lease = *asked.keys().next().unwrap();
    group.later(Duration::from_millis(20));
    let said: Leases = [(lease, Remaining::Left(Duration::from_secs(30)))].into_iter().collect();
    let pass = group.leader.step(&group.state, Some(&said), group.inputs());
    assert!(pass.plan.is_some() && ends(&pass.actions().cloned().collect::<Vec<_>>()).is_empty());
    assert!(pass.wake <= group.moment + Duration::from_millis(500), "{:?}", pass.wake.since(group.moment));
}

#[test]
fn a_suspect_whose_partitions_are_in_overlap_from_now_on_is_ended_at_once() {
    // One of its two partitions is prepared, and keeps its mode for as long.
    let config = GroupConfig { max_warming: 1, ..of_mode(Mode::Exclusive) };
    let (mut group, members) = group_of(2, &config);
    group.follow(Duration::from_millis(500));
    group.suspect(&members[0], DeathSign::Detached);
    group.follow(Duration::from_millis(5_300));
    group.configure(&GroupConfig { mode: Mode::Overlap, ..config });
    let done = group.follow(Duration::from_secs(1));
    let ended = done.iter().filter(|(_, action)| !ends(std::slice::from_ref(action)).is_empty());
    assert_eq!(ended.count(), 1, "{done:?}");
}

#[test]
fn a_suspect_whose_time_came_while_nothing_could_be_planned_is_ended_once_it_can() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.follow(Duration::from_millis(500));
    group.suspect(&members[0], DeathSign::Detached);
    group.configure(&GroupConfig { strategy: "none".to_owned(), ..GroupConfig::default() });
    assert_eq!(group.follow(Duration::from_secs(5)).len(), 0);
    group.configure(&GroupConfig::default());
    let done = group.follow(Duration::from_secs(1));
    assert!(done.iter().any(|(_, action)| ends(std::slice::from_ref(action)) == ["c0"]), "{done:?}");
}
