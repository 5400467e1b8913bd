//! Sessions whose processes seem to be dead: what is ended and when, what waits, and what others prepare.

mod ahead;
mod dying;
mod limits;
mod moving;
mod strict;

use std::time::Duration;

use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::{DeferReason, FenceReason};
use kafka_assigner_core::record::{Consumer, DeathSign, GroupConfig, encode};
use kafka_assigner_core::state::Presence;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::mode::Mode;

fn of_mode(mode: Mode) -> GroupConfig {
    GroupConfig { mode, ..GroupConfig::default() }
}

/// So many consumers, of which each owns two partitions.
fn group_of(consumers: usize, config: &GroupConfig) -> (TestGroup, Vec<Member>) {
    let mut group = TestGroup::with_topics(&[("t", u32::try_from(2 * consumers).unwrap())]);
    group.configure(config);
    let members = (0..consumers).map(|n| group.join(&format!("c{n}"))).collect();
    group.settle();
    (group, members)
}

/// Lets `ms` pass, with passes in between as a leader makes them; returns what was done.
fn wait(group: &mut TestGroup, ms: u64) -> Vec<Action> {
    let step = 500;
    let mut done = Vec::new();
    for _ in 0..ms / step {
        group.later(Duration::from_millis(step));
        done.extend(group.pass());
    }
    if !ms.is_multiple_of(step) {
        group.later(Duration::from_millis(ms % step));
        done.extend(group.pass());
    }
    done
}

fn ends(actions: &[Action]) -> Vec<&str> {
    let ended = actions.iter().filter_map(|action| match &action.step {
        Step::EndSession { member, why: FenceReason::Suspected } => Some(member.name.as_str()),
        _ => None,
    });
    ended.collect()
}

fn load(group: &TestGroup, name: &str) -> usize {
    group.loads().get(name).copied().unwrap_or_default()
}

fn reasons(group: &TestGroup) -> Vec<DeferReason> {
    group.plan().deferred.into_iter().map(|deferral| deferral.why).collect()
}

#[test]
fn a_suspect_is_taken_over_after_three_seconds_in_overlap() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    group.pass();
    assert_eq!(ends(&wait(&mut group, 2_999)), [""; 0]);
    assert_eq!((load(&group, "c0"), group.state.presence(&members[0])), (2, Presence::Here));
    let done = wait(&mut group, 1);
    assert_eq!(ends(&done), ["c0"]);
    assert_eq!(load(&group, "c0"), 2, "the end and the grants are no one write");
    assert_eq!(group.state.presence(&members[0]), Presence::Ending);
    group.pass();
    assert_eq!(load(&group, "c0"), 0);
}

/// The time in milliseconds from the mark to the end of `c0` by a leader that is left to wake by itself.
fn ended_after(config: &GroupConfig, sign: DeathSign) -> Option<u128> {
    let (mut group, members) = group_of(3, config);
    group.follow(Duration::from_millis(7_777));
    group.suspect(&members[0], sign);
    let begin = group.moment;
    let done = group.follow(Duration::from_secs(29));
    let ended = done.iter().find(|(_, action)| !ends(std::slice::from_ref(action)).is_empty());
    ended.map(|(moment, _)| moment.since(begin).as_millis())
}

#[test]
fn a_leader_wakes_when_a_suspects_time_has_come() {
    assert_eq!(ended_after(&GroupConfig::default(), DeathSign::Detached), Some(3_000));
    assert_eq!(ended_after(&GroupConfig::default(), DeathSign::Silent), Some(20_000));
    let graced = GroupConfig { rejoin_grace_ms: 7_250, ..GroupConfig::default() };
    assert_eq!(ended_after(&graced, DeathSign::Detached), Some(7_250));
    assert_eq!(ended_after(&of_mode(Mode::Exclusive), DeathSign::Detached), Some(20_000));
    assert_eq!(ended_after(&of_mode(Mode::Exclusive), DeathSign::Silent), None);
}

#[test]
fn a_suspect_that_is_heard_keeps_everything() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    wait(&mut group, 2_500);
    group.hear(&members[0]);
    let done = wait(&mut group, 40_000);
    assert_eq!((ends(&done).len(), load(&group, "c0")), (0, 2));
    assert!(group.state.handoffs().is_empty(), "what was prepared is cleared away");
    let avoided = |n| group.state.assignment(&tp("t", n)).unwrap().avoid.clone();
    assert!((0..6).all(|n| avoided(n).is_empty()), "nobody is at fault");
}

#[test]
fn the_end_of_a_suspect_is_guarded_on_that_very_mark() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    group.pass();
    group.later(Duration::from_secs(3));
    let decided = group.plan().actions;
    assert_eq!(ends(&decided), ["c0"]);
    group.hear(&members[0]);
    assert_eq!(ends(&group.carry_out(decided.clone())), [""; 0]);
    group.suspect(&members[0], DeathSign::Detached);
    assert_eq!(ends(&group.carry_out(decided)), [""; 0], "another mark has its own time");
    assert_eq!(ends(&wait(&mut group, 2_500)), [""; 0]);
}

/// Nobody can remove the mark meanwhile, also where its client is heard.
#[test]
fn a_mark_counts_anew_once_its_registration_can_be_read_again() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    wait(&mut group, 2_500);
    let key = Key::Consumer(members[0].name.clone());
    let marked: Consumer = group.stored(&key);
    group.put(&key, "nonsense");
    assert_eq!(ends(&wait(&mut group, 5_000)), [""; 0]);
    group.put(&key, encode(&marked));
    assert_eq!(ends(&wait(&mut group, 2_500)), [""; 0]);
    assert_eq!(ends(&wait(&mut group, 500)), ["c0"]);
}

#[test]
fn nobody_is_taken_over_where_it_is_switched_off() {
    for mode in [Mode::Overlap, Mode::Exclusive] {
        let (mut group, members) = group_of(3, &GroupConfig { takeover_after_ms: 0, ..of_mode(mode) });
        group.suspect(&members[0], DeathSign::Detached);
        assert_eq!(ends(&wait(&mut group, 29_500)), [""; 0]);
        let waits = DeferReason::OwnerSuspected { owner: members[0].name.clone(), left_ms: None };
        assert!(reasons(&group).contains(&waits));
    }
}

#[test]
fn nobody_is_taken_over_where_nobody_would_be_its_successor() {
    let (mut group, members) = group_of(1, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    assert_eq!(ends(&wait(&mut group, 29_500)), [""; 0]);
    group.join("late");
    assert_eq!(ends(&wait(&mut group, 500)), ["c0"]);
}

#[test]
fn a_mark_of_a_newer_kind_decides_nothing() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Other("frozen".to_owned()));
    assert_eq!(wait(&mut group, 29_500), []);
}

#[test]
fn the_grace_for_a_name_that_may_come_back_is_waited_for_from_the_mark() {
    let config = GroupConfig { rejoin_grace_ms: 10_000, ..GroupConfig::default() };
    let (mut group, members) = group_of(3, &config);
    group.suspect(&members[0], DeathSign::Detached);
    group.pass();
    assert!(!group.state.handoffs().is_empty(), "others prepare meanwhile");
    assert_eq!(ends(&wait(&mut group, 9_500)), [""; 0]);
    assert_eq!(ends(&wait(&mut group, 500)), ["c0"]);
    group.pass();
    assert_eq!(load(&group, "c0"), 0, "the grace is over");
}

#[test]
fn the_grace_of_a_session_that_ends_meanwhile_counts_from_the_mark_too() {
    let config = GroupConfig { rejoin_grace_ms: 10_000, ..GroupConfig::default() };
    let (mut group, members) = group_of(3, &config);
    group.suspect(&members[0], DeathSign::Detached);
    wait(&mut group, 6_000);
    group.crash("c0");
    wait(&mut group, 3_500);
    assert_eq!(load(&group, "c0"), 2);
    wait(&mut group, 500);
    assert_eq!(load(&group, "c0"), 0);
}

#[test]
fn a_draining_consumer_that_dies_is_taken_over_too() {
    let (mut group, members) = group_of(3, &GroupConfig { max_moves_in_flight: 1, ..GroupConfig::default() });
    group.leave(&members[0], &kafka_assigner_core::session::Leaving::Drain);
    group.pass();
    group.suspect(&members[0], DeathSign::Detached);
    group.pass();
    assert_eq!(ends(&wait(&mut group, 3_000)), ["c0"]);
    group.settle();
    assert_eq!(load(&group, "c0"), 0);
}

#[test]
fn one_that_was_only_silent_is_taken_over_after_two_thirds_of_its_time_to_live() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Silent);
    group.pass();
    assert_eq!(ends(&wait(&mut group, 19_500)), [""; 0]);
    assert_eq!(ends(&wait(&mut group, 500)), ["c0"]);
}

#[test]
fn of_many_that_seem_to_die_at_once_none_is_taken_over() {
    let (mut group, members) = group_of(4, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    group.suspect(&members[1], DeathSign::Detached);
    assert_eq!(ends(&wait(&mut group, 20_000)), [""; 0]);
    let owner = members[0].name.clone();
    let waits = DeferReason::ManySuspected { owner, processes: 2, limit: 1 };
    assert!(reasons(&group).contains(&waits), "{:?}", reasons(&group));
    group.hear(&members[1]);
    assert_eq!(ends(&wait(&mut group, 500)), ["c0"], "now it is the only one");
}

#[test]
fn within_a_time_to_live_a_tenth_is_taken_over() {
    let (mut group, members) = group_of(21, &GroupConfig::default());
    for (n, takes) in [(0, true), (1, true), (2, false)] {
        group.suspect(&members[n], DeathSign::Detached);
        assert_eq!(!ends(&wait(&mut group, 4_000)).is_empty(), takes, "c{n}");
    }
    // The first one was ended 5 s before the third one was due.
    assert_eq!(ends(&wait(&mut group, 20_500)), [""; 0]);
    assert_eq!(ends(&wait(&mut group, 1_000)), ["c2"]);
}

#[test]
fn the_consumers_of_one_process_count_as_one() {
    let mut group = TestGroup::with_topics(&[("t", 12)]);
    let join = |group: &mut TestGroup, n: u32| {
        group.join_as(&format!("c{n}"), |consumer| consumer.process = format!("host-{}", n / 2))
    };
    let members: Vec<Member> = (0..6).map(|n| join(&mut group, n)).collect();
    group.settle();
    group.suspect(&members[0], DeathSign::Detached);
    group.suspect(&members[1], DeathSign::Detached);
    assert_eq!(ends(&wait(&mut group, 3_500)), ["c0", "c1"]);
    group.settle();
    group.suspect(&members[2], DeathSign::Detached);
    assert_eq!(ends(&wait(&mut group, 3_500)), [""; 0], "another process, within the same time to live");
}

#[test]
fn the_deaths_of_sessions_that_are_gone_still_count() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    assert_eq!(ends(&wait(&mut group, 3_500)), ["c0"]);
    group.crash("c0");
    group.suspect(&members[1], DeathSign::Detached);
    assert_eq!(ends(&wait(&mut group, 20_000)), [""; 0]);
    assert_eq!(ends(&wait(&mut group, 10_000)), ["c1"]);
}

#[test]
fn a_unit_whose_owners_die_waits_for_the_end_of_the_session() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    let mut members: Vec<Member> = (0..4).map(|n| group.join(&format!("c{n}"))).collect();
    group.settle();
    for death in 0..3 {
        let owner = group.owner(&tp("t", 0)).unwrap().to_owned();
        let place = members.iter().position(|member| member.name.as_str() == owner).unwrap();
        let member = members.remove(place);
        group.suspect(&member, DeathSign::Detached);
        let done = wait(&mut group, 3_500);
        assert_eq!(ends(&done), [owner.as_str()]);
        group.pass();
        let next = group.owner(&tp("t", 0)).unwrap().to_owned();
        assert_eq!(next == owner, death == 2, "death {death}: {owner}, then {next}");
        if death == 2 {
            let waits = DeferReason::OwnersDie { owner: member.name.clone() };
            assert!(reasons(&group).contains(&waits) && waits.to_string().starts_with("its owners die"));
        }
        // The last one is left to end by its lease.
        wait(&mut group, 26_000);
        if death == 2 {
            assert_eq!(group.owner(&tp("t", 0)), Some(owner.as_str()));
        }
        group.crash(&owner);
        wait(&mut group, 500);
        assert_ne!(group.owner(&tp("t", 0)), Some(owner.as_str()));
        wait(&mut group, 30_000);
    }
}

/// Three consumers, of which the first was marked and heard again twice, and is marked now.
fn marked_a_third_time() -> TestGroup {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    for _ in 0..2 {
        group.suspect(&members[0], DeathSign::Detached);
        wait(&mut group, 1_000);
        group.hear(&members[0]);
        wait(&mut group, 1_000);
    }
    group.suspect(&members[0], DeathSign::Detached);
    group
}

/// `a` is marked; `b` and `c` may have three of the six partitions each, and begin to prepare.
fn prepared_within_limits() -> TestGroup {
    let mut group = TestGroup::with_topics(&[("t", 6)]);
    let a = group.join("a");
    group.join_as("b", |consumer| consumer.max_partitions = Some(3));
    group.join_as("c", |consumer| consumer.max_partitions = Some(3));
    group.settle();
    group.suspect(&a, DeathSign::Detached);
    group.pass();
    group
}

#[test]
fn a_name_whose_marks_do_not_last_waits_twice_as_long_each_time() {
    let mut group = marked_a_third_time();
    assert_eq!(ends(&wait(&mut group, 11_500)), [""; 0], "four times three seconds");
    assert_eq!(ends(&wait(&mut group, 1_000)), ["c0"]);
}

#[test]
fn old_false_alarms_are_forgotten() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    wait(&mut group, 1_000);
    group.hear(&members[0]);
    wait(&mut group, 601_000);
    group.suspect(&members[0], DeathSign::Detached);
    assert_eq!(ends(&wait(&mut group, 3_500)), ["c0"]);
}

#[test]
fn the_same_name_in_a_new_session_takes_back_what_is_not_taken_yet() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    wait(&mut group, 1_500);
    let again = group.join("c0");
    let done = group.settle();
    assert_eq!((ends(&done).len(), load(&group, "c0")), (0, 2));
    assert!(group.state.owns_something(&again) && group.state.handoffs().is_empty());
}
