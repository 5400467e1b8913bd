//! The limits of takeovers: who may follow, how many at once, how much one consumer takes, when.

use std::time::Duration;

use kafka_assigner_core::action::Step;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::DeferReason;
use kafka_assigner_core::record::{DeathSign, GroupConfig, Source, Topic, encode};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::mode::Mode;

use super::ahead::{handoffs, warm_ahead};
use super::{ends, group_of, load, marked_a_third_time, of_mode, prepared_within_limits, reasons, wait};

#[test]
fn nobody_is_taken_over_where_others_take_other_topics_only() {
    for mode in Mode::ALL {
        let mut group = TestGroup::with_topics(&[("t", 2), ("u", 2)]);
        group.configure(&of_mode(mode));
        let a = group.join_as("a", |consumer| consumer.topics = ["t".parse().unwrap()].into());
        group.join_as("b", |consumer| consumer.topics = ["u".parse().unwrap()].into());
        group.settle();
        group.suspect(&a, DeathSign::Detached);
        assert_eq!(ends(&wait(&mut group, 29_500)), [""; 0], "{mode}");
        group.join("c");
        assert_eq!(ends(&wait(&mut group, 500)), ["a"], "{mode}");
    }
}

#[test]
fn a_takeover_keeps_to_the_limits_of_consumers_that_got_something_meanwhile() {
    let mut group = prepared_within_limits();
    group.everybody_acts();
    assert_eq!(handoffs(&group).len(), 2);
    group.topic("new", 2);
    wait(&mut group, 4_000);
    group.settle();
    assert_eq!((load(&group, "a"), load(&group, "b"), load(&group, "c")), (0, 3, 3), "{:?}", group.loads());
    group.join("d");
    group.settle();
    assert!((0..2).all(|n| group.owner(&tp("new", n)).is_some()), "{:?}", group.loads());
}

#[test]
fn nobody_prepares_at_once_for_a_name_whose_marks_do_not_last() {
    let mut group = marked_a_third_time();
    let begin = group.moment;
    let done = group.follow(Duration::from_millis(11_900));
    let begun = done.iter().filter(|(_, action)| matches!(action.step, Step::Begin { .. }));
    let begun: Vec<u128> = begun.map(|(moment, _)| moment.since(begin).as_millis()).collect();
    assert_eq!(begun, [9_000; 2], "three times three seconds, of the twelve until its end");
}

#[test]
fn a_suspect_whose_time_has_come_is_ended_first_and_prepared_for_no_more() {
    let (mut group, members) = group_of(3, &GroupConfig::default());
    group.suspect(&members[0], DeathSign::Detached);
    group.topic("new", 3);
    group.later(Duration::from_secs(3));
    let done = group.pass();
    assert_eq!(ends(&done[..1]), ["c0"], "{done:?}");
    assert!(done.iter().all(|action| !matches!(action.step, Step::Begin { .. })), "{done:?}");
}

#[test]
fn the_store_is_not_asked_about_suspects_that_are_too_many() {
    let (mut group, members) = group_of(3, &of_mode(Mode::Exclusive));
    group.suspect(&members[0], DeathSign::Detached);
    group.suspect(&members[1], DeathSign::Detached);
    wait(&mut group, 20_000);
    group.leader.observe_everything(group.moment);
    let pass = group.leader.step(&group.state, None, group.inputs());
    assert!(pass.ask.is_empty(), "{:?}", pass.ask);
    let many =
        |member: &Member| DeferReason::ManySuspected { owner: member.name.clone(), processes: 2, limit: 1 };
    assert!(reasons(&group).contains(&many(&members[0])), "{:?}", reasons(&group));
}

#[test]
fn a_process_that_is_taken_over_in_part_counts_once() {
    let mut group = TestGroup::with_topics(&[("t", 6)]);
    let join = |group: &mut TestGroup, name: &str, process: &str| {
        group.join_as(name, |consumer| consumer.process = process.to_owned())
    };
    let (a, b) = (join(&mut group, "a", "p"), join(&mut group, "b", "p"));
    let c = join(&mut group, "c", "q");
    group.settle();
    group.suspect(&a, DeathSign::Detached);
    assert_eq!(ends(&wait(&mut group, 3_500)), ["a"]);
    group.suspect(&b, DeathSign::Detached);
    group.suspect(&c, DeathSign::Detached);
    group.join("late");
    assert_eq!(ends(&wait(&mut group, 4_000)), [""; 0]);
    let many = DeferReason::ManySuspected { owner: c.name, processes: 2, limit: 1 };
    assert!(reasons(&group).contains(&many), "{:?}", reasons(&group));
}

#[test]
fn what_waits_for_the_end_of_a_session_is_not_looked_at_as_overdue() {
    for mode in Mode::ALL {
        let config = GroupConfig { phase_deadline_ms: 5_000, takeover_after_ms: 0, ..of_mode(mode) };
        let (mut group, _) = warm_ahead(&config);
        wait(&mut group, 20_000);
        assert_eq!(group.leader.memory().overdue(group.moment).count(), 0, "{mode}");
    }
}

/// One topic in `overlap`, one in `exclusive`, both of the suspect.
#[test]
fn a_suspect_that_owns_in_two_modes_is_ended_by_time_and_its_strict_claims_run_on() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let strict = Topic { mode: Some(Mode::Exclusive), ..Topic::new(2, Source::Static) };
    group.put(&Key::Topic("u".parse().unwrap()), encode(&strict));
    let a = group.join("a");
    group.join("b");
    group.settle();
    assert_eq!(load(&group, "a"), 2);
    group.suspect(&a, DeathSign::Detached);
    assert_eq!(ends(&wait(&mut group, 3_000)), ["a"]);
    wait(&mut group, 500);
    assert_eq!(load(&group, "a"), 1, "what it had in overlap is granted");
    wait(&mut group, 16_000);
    assert_eq!(load(&group, "a"), 1, "its claim runs for two thirds of the session");
    wait(&mut group, 1_000);
    assert_eq!(load(&group, "a"), 0);
}
