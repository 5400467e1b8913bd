//! Planned moves of what suspects own: what waits, what goes on, and what yields.

use std::time::Duration;

use kafka_assigner_core::ack::{self, Ack};
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::reason::{CancelReason, Reason};
use kafka_assigner_core::record::{Awaited, Capability, DeathSign, GroupConfig, Handoff, Phase};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::Member;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

use super::ahead::{cancelled, handoffs, phases, warm_ahead};
use super::{ends, load, of_mode, reasons, wait};

const STRICT: [Mode; 2] = [Mode::Exclusive, Mode::Routed];

/// A partition of `a` is on its way to `b`, and a router is there.
fn moving(config: &GroupConfig) -> (TestGroup, Member, Member, Handoff) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(config);
    group.route_as("r");
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    let handoff = handoffs(&group).remove(0);
    (group, a, b, handoff)
}

/// Lets the time of the group pass with everybody doing their part, but for those that seem to be dead.
fn wait_working(group: &mut TestGroup, ms: u64, dead: &Member) -> Vec<Action> {
    let mut done = Vec::new();
    for _ in 0..ms / 500 {
        done.extend(wait(group, 500));
        group.others_act(dead);
    }
    done
}

fn why(group: &TestGroup, handoff: &Handoff) -> Reason {
    group.state.assignment(handoff.lead()).unwrap().why.clone()
}

#[test]
fn a_strict_move_of_a_suspect_waits_for_the_end_of_its_session() {
    for mode in STRICT {
        for is_ready_first in [false, true] {
            let (mut group, a, b, handoff) = moving(&of_mode(mode));
            if is_ready_first {
                group.say(&b, handoff.lead(), Some(&handoff.id), &Ack::Ready);
            }
            group.suspect(&a, DeathSign::Detached);
            let done = wait_working(&mut group, 19_500, &a);
            assert_eq!((cancelled(&done), ends(&done)), (Vec::new(), Vec::new()), "{mode}");
            assert_eq!(group.state.handoff(handoff.lead()).unwrap().phase, Phase::Ready, "{mode}");
            assert_eq!(ends(&wait(&mut group, 500)), ["a"], "{mode}");
            group.pass();
            assert_eq!(group.owner(handoff.lead()), Some("b"), "{mode}");
            assert!(matches!(why(&group, &handoff), Reason::TookOverWarm { .. }), "{mode}: nothing is lost");
        }
    }
}

#[test]
fn a_strict_move_of_a_suspect_goes_on_once_that_is_heard() {
    for mode in STRICT {
        let (mut group, a, _, handoff) = moving(&of_mode(mode));
        group.suspect(&a, DeathSign::Silent);
        wait_working(&mut group, 40_000, &a);
        assert_eq!(group.state.handoff(handoff.lead()).unwrap().phase, Phase::Ready, "{mode}");
        group.hear(&a);
        let done = group.settle();
        assert_eq!(group.owner(handoff.lead()), Some("b"), "{mode}");
        assert!(cancelled(&done).iter().all(|why| **why == CancelReason::OwnerHeard), "{mode}: {done:?}");
    }
}

#[test]
fn a_strict_move_that_waits_for_a_suspect_takes_no_place_of_another_move() {
    let mut group = TestGroup::with_topics(&[("t", 6)]);
    group.configure(&GroupConfig { max_moves_in_flight: 1, ..of_mode(Mode::Exclusive) });
    group.join("a");
    group.join("c");
    group.settle();
    group.join("b");
    group.pass();
    let first = handoffs(&group).remove(0);
    assert_eq!(handoffs(&group).len(), 1);
    group.suspect(&first.old, DeathSign::Silent);
    wait_working(&mut group, 5_000, &first.old);
    assert_eq!(group.state.handoff(first.lead()).map(|handoff| handoff.phase), Some(Phase::Ready));
    assert_eq!(load(&group, "b"), 1, "the other move went through: {:?}", group.loads());
}

/// It was asked to stop, and died. Nobody is blamed, and the end of its session gives what it had to others.
#[test]
fn a_suspect_that_was_asked_to_stop_is_waited_for_until_the_deadline() {
    for mode in STRICT {
        let (mut group, a, b, handoff) = moving(&of_mode(mode));
        group.say(&b, handoff.lead(), Some(&handoff.id), &Ack::Ready);
        group.pass();
        assert!(matches!(phases(&group)[..], [Phase::Freezing | Phase::Draining]), "{mode}");
        group.suspect(&a, DeathSign::Detached);
        wait_working(&mut group, 21_000, &a);
        group.pass();
        assert_eq!(group.owner(handoff.lead()), Some("b"), "{mode}");
        assert!(group.state.assignment(handoff.lead()).unwrap().avoid.is_empty(), "{mode}");
    }
}

#[test]
fn what_is_prepared_for_a_strict_suspect_that_drains_waits_for_the_end_of_its_session() {
    for mode in STRICT {
        let (mut group, members) = warm_ahead(&of_mode(mode));
        group.leave(&members[0], &Leaving::Drain);
        let done = wait_working(&mut group, 19_500, &members[0]);
        assert_eq!(cancelled(&done), [] as [&CancelReason; 0], "{mode}");
        let waits = |handoff: &Handoff| handoff.awaits == Some(Awaited::EndOfSession);
        assert_eq!(phases(&group), [Phase::Ready; 2], "{mode}");
        assert!(handoffs(&group).iter().all(waits), "{mode}");
        assert_eq!(ends(&wait(&mut group, 500)), ["c0"], "{mode}");
        group.pass();
        assert_eq!((load(&group, "c0"), handoffs(&group)), (0, Vec::new()), "{mode}");
    }
}

// A blip in a rolling deployment must not cost the whole preparation.
#[test]
fn what_is_prepared_for_a_suspect_that_drains_becomes_a_move_once_that_is_heard() {
    for mode in Mode::ALL {
        let (mut group, members) = warm_ahead(&GroupConfig { takeover_after_ms: 0, ..of_mode(mode) });
        let warm: Vec<_> = handoffs(&group).into_iter().map(|handoff| (handoff.id, handoff.new)).collect();
        group.leave(&members[0], &Leaving::Drain);
        // The leader sees both at once.
        group.hear(&members[0]);
        let done = group.pass();
        assert_eq!(cancelled(&done), [] as [&CancelReason; 0], "{mode}");
        let moves = |(id, new): &(_, Member)| {
            handoffs(&group).iter().any(|h| h.id == *id && h.new == *new && h.awaits.is_none())
        };
        assert!(warm.iter().all(moves), "{mode}: {:?}", handoffs(&group));
        let done = group.settle();
        assert!(!done.iter().any(|action| matches!(action.step, Step::Begin { .. })), "{mode}: {done:?}");
        assert_eq!(load(&group, "c0"), 0, "{mode}");
    }
}

/// A partition of `a`, which can rest, is on its way to `b`, which is ready.
fn resting(config: &GroupConfig) -> (TestGroup, Member, Member, Handoff) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(config);
    let a = group.join_as("a", |consumer| consumer.capabilities.extend([Capability::Rest]));
    group.settle();
    let b = group.join("b");
    group.pass();
    let handoff = handoffs(&group).remove(0);
    group.say(&b, handoff.lead(), Some(&handoff.id), &Ack::Ready);
    group.pass();
    (group, a, b, handoff)
}

#[test]
fn an_owner_that_rests_begins_records_again_once_the_new_one_seems_to_be_dead() {
    for rests in [false, true] {
        let (mut group, a, b, handoff) = resting(&of_mode(Mode::Routed));
        group.suspect(&b, DeathSign::Detached);
        if rests {
            group.say(&a, handoff.lead(), Some(&handoff.id), &Ack::Rested);
        }
        let done = group.pass();
        assert_eq!(cancelled(&done), [&CancelReason::NewOwnerGone], "{rests}");
        let Some(Role::Owner { resting, .. }) = group.view(&a).roles.remove(handoff.lead()) else {
            panic!("{rests}: it owns it")
        };
        assert_eq!(resting, None, "{rests}");
        assert!(
            group.state.assignment(handoff.lead()).unwrap().avoid.is_empty(),
            "{rests}: nobody is blamed"
        );
        assert_eq!(group.leader.memory().backs_off(handoff.lead(), group.moment), None, "{rests}");
        group.hear(&b);
        group.settle();
        assert_eq!(load(&group, "b"), 1, "{rests}");
    }
}

#[test]
fn an_owner_that_seems_to_be_dead_again_and_again_puts_no_deadline_off() {
    let config = GroupConfig { phase_deadline_ms: 30_000, ..of_mode(Mode::Routed) };
    let (mut group, a, _, handoff) = resting(&config);
    let is_late = |done: &[Action]| {
        cancelled(done).iter().any(|why| matches!(why, CancelReason::Deadline { phase: Phase::Ready, .. }))
    };
    for heard in 1..=3 {
        assert!(!is_late(&wait(&mut group, 9_500)), "{heard}");
        group.suspect(&a, DeathSign::Silent);
        assert!(!is_late(&wait(&mut group, 5_000)), "{heard}: no time counts while it is suspected");
        group.hear(&a);
        assert_eq!(is_late(&wait(&mut group, 500)), heard == 3, "{heard}");
    }
    assert_eq!(group.owner(handoff.lead()), Some("a"));
}

// A set that came to be after both were prepared.
#[test]
fn what_is_prepared_for_the_parts_of_a_set_yields_to_the_move_of_all_of_it() {
    let topics = ["t", "u", "v", "w"];
    let mut group = TestGroup::with_topics(&topics.map(|topic| (topic, 1)));
    group.configure(&GroupConfig { takeover_after_ms: 0, ..GroupConfig::default() });
    let c0 = group.join("c0");
    group.join("c1");
    group.settle();
    let set = topics.into_iter().filter(|topic| group.owner(&tp(topic, 0)) == Some("c0")).collect::<Vec<_>>();
    group.suspect(&c0, DeathSign::Detached);
    group.pass();
    assert_eq!((set.len(), handoffs(&group).len()), (2, 2), "each is prepared for itself");
    set.iter().for_each(|topic| group.topic_in_set(topic, 1, "s"));
    group.leave(&c0, &Leaving::Drain);
    wait_working(&mut group, 5_000, &c0);
    assert_eq!((load(&group, "c0"), load(&group, "c1")), (0, 4), "{:?}", reasons(&group));
}

/// `c0` of three owns four partitions, of which all are prepared.
fn four_prepared(config: &GroupConfig) -> (TestGroup, Member) {
    let mut group = TestGroup::with_topics(&[("t", 12)]);
    group.configure(config);
    let c0 = group.join("c0");
    group.join("c1");
    group.join("c2");
    group.settle();
    group.suspect(&c0, DeathSign::Detached);
    group.pass();
    group.everybody_acts();
    assert_eq!(phases(&group), [Phase::Ready; 4]);
    (group, c0)
}

#[test]
fn what_is_prepared_becomes_a_move_within_the_budget_of_moves() {
    let config = GroupConfig { max_moves_in_flight: 1, takeover_after_ms: 0, ..GroupConfig::default() };
    let (mut group, c0) = four_prepared(&config);
    group.leave(&c0, &Leaving::Drain);
    group.pass();
    let moves = handoffs(&group).into_iter().filter(|handoff| handoff.awaits.is_none()).count();
    assert_eq!((moves, handoffs(&group).len()), (1, 4), "the others stay prepared");
    group.settle();
    assert_eq!(load(&group, "c0"), 0);
}

#[test]
fn what_is_warm_for_a_suspect_that_drains_stays_with_who_is_warm() {
    let (mut group, c0) = four_prepared(&GroupConfig { takeover_after_ms: 0, ..GroupConfig::default() });
    let warm: Vec<_> = handoffs(&group).into_iter().map(|handoff| (handoff.id, handoff.new)).collect();
    group.join("c3");
    group.leave(&c0, &Leaving::Drain);
    let done = group.pass();
    assert_eq!(cancelled(&done), [] as [&CancelReason; 0]);
    let moves = |(id, new): &(_, Member)| {
        handoffs(&group).iter().any(|h| h.id == *id && h.new == *new && h.awaits.is_none())
    };
    assert!(warm.iter().all(moves), "{:?}", handoffs(&group));
    group.settle();
    assert_eq!(load(&group, "c0"), 0);
}

#[test]
fn what_is_prepared_counts_among_no_moves_while_a_grace_runs() {
    let config = GroupConfig {
        max_moves_in_flight: 1,
        rejoin_grace_ms: 60_000,
        takeover_after_ms: 0,
        ..GroupConfig::default()
    };
    let (mut group, _) = four_prepared(&config);
    group.crash("c0");
    group.join("c3");
    group.later(Duration::from_secs(1));
    let done = group.pass();
    let begun = done.iter().filter(|action| matches!(action.step, Step::Begin { .. })).count();
    assert_eq!((begun, load(&group, "c0")), (1, 4), "{:?}", reasons(&group));
}

/// `a` can't keep `exclusive`, in which the group is from now on: the plan moves what it owns.
fn unable(config: &GroupConfig) -> (TestGroup, Member) {
    let mut group = TestGroup::with_topics(&[("t", 4)]);
    group.configure(config);
    let a = group.join_as("a", |consumer| consumer.capabilities = [].into());
    group.join("b");
    group.settle();
    (group, a)
}

#[test]
fn what_is_prepared_is_cancelled_where_the_plan_moves_it_elsewhere() {
    for (max_moves_in_flight, replanned) in [(100, 2), (1, 1)] {
        let config = GroupConfig { max_moves_in_flight, takeover_after_ms: 0, ..GroupConfig::default() };
        let (mut group, a) = unable(&config);
        group.suspect(&a, DeathSign::Silent);
        group.pass();
        group.everybody_acts();
        assert_eq!(phases(&group), [Phase::Ready; 2]);
        group.configure(&GroupConfig { mode: Mode::Exclusive, ..config });
        group.join("d");
        let done = group.pass();
        assert_eq!(cancelled(&done), vec![&CancelReason::Replanned; replanned], "{max_moves_in_flight}");
        group.settle();
        assert_eq!(load(&group, "a"), 0, "{max_moves_in_flight}: {:?}", group.loads());
        let avoid = |n| group.state.assignment(&tp("t", n)).unwrap().avoid.len();
        assert_eq!((0..4).map(avoid).sum::<usize>(), 0, "nobody is at fault");
    }
}

#[test]
fn what_the_plan_moves_is_not_prepared_for_as_well() {
    let (mut group, a) = unable(&GroupConfig::default());
    group.configure(&of_mode(Mode::Exclusive));
    group.suspect(&a, DeathSign::Silent);
    let done = group.pass();
    let begun = done.iter().filter(|action| matches!(action.step, Step::Begin { .. })).count();
    assert_eq!((begun, handoffs(&group).len()), (2, 2));
    assert!(handoffs(&group).iter().all(|handoff| handoff.awaits.is_none()));
}

#[test]
fn an_operator_calls_off_what_waits_for_a_name_that_may_come_back() {
    for mode in Mode::ALL {
        let (mut group, _) = warm_ahead(&GroupConfig { rejoin_grace_ms: 60_000, ..of_mode(mode) });
        group.crash("c0");
        wait(&mut group, 31_000);
        let at = handoffs(&group)[0].lead().clone();
        let verdict = ack::abort(&group.state, &at, "not now", WallMillis(0));
        let ack::Verdict::Record { write, .. } = verdict else { panic!("{verdict:?}") };
        assert!(group.apply(&write.unfenced()));
        let done = group.pass();
        let aborted = CancelReason::Aborted { reason: "not now".to_owned() };
        assert_eq!(cancelled(&done), [&aborted], "{mode}");
        wait(&mut group, 60_000);
        assert_eq!(load(&group, "c0"), 0, "{mode}");
    }
}

#[test]
fn what_makes_no_progress_while_a_name_may_come_back_is_cancelled() {
    for mode in Mode::ALL {
        let config = GroupConfig { rejoin_grace_ms: 600_000, warm_deadline_ms: 40_000, ..of_mode(mode) };
        let (mut group, members) = super::group_of(3, &config);
        group.suspect(&members[0], DeathSign::Detached);
        group.pass();
        assert_eq!(phases(&group), [Phase::Warming; 2], "{mode}");
        group.crash("c0");
        let done = wait(&mut group, 45_000);
        assert_eq!(cancelled(&done).len(), 2, "{mode}: {done:?}");
        let is_late =
            |why: &&CancelReason| matches!(why, CancelReason::Deadline { phase: Phase::Warming, .. });
        assert!(cancelled(&done).iter().all(is_late), "{mode}");
        assert_eq!(load(&group, "c0"), 2, "{mode}: it may still come back");
    }
}

#[test]
fn who_prepares_and_leaves_or_dies_is_replaced_by_another_one() {
    for mode in Mode::ALL {
        for dies in [false, true] {
            let (mut group, members) = warm_ahead(&GroupConfig { takeover_after_ms: 0, ..of_mode(mode) });
            let lost = handoffs(&group)[0].new.clone();
            let done = if dies {
                group.crash(lost.name.as_str());
                group.pass()
            } else {
                group.leave(&lost, &Leaving::Drain);
                group.pass()
            };
            let why = if dies { CancelReason::NewOwnerGone } else { CancelReason::NotEligible };
            assert!(cancelled(&done).contains(&&why), "{mode}: {done:?}");
            wait_working(&mut group, 2_000, &members[0]);
            let waits: Vec<Handoff> =
                handoffs(&group).into_iter().filter(|handoff| handoff.old == members[0]).collect();
            assert_eq!(waits.len(), 2, "{mode}");
            assert!(waits.iter().all(|h| h.new.name != lost.name && h.phase == Phase::Ready), "{mode}");
        }
    }
}

#[test]
fn a_new_leader_grants_what_was_prepared_for_a_session_that_is_being_ended() {
    for mode in Mode::ALL {
        let (mut group, _) = warm_ahead(&of_mode(mode));
        group.change_leader();
        assert_eq!(ends(&wait(&mut group, 20_000)), ["c0"], "{mode}");
        group.change_leader();
        wait(&mut group, 500);
        assert_eq!((load(&group, "c0"), handoffs(&group)), (0, Vec::new()), "{mode}");
    }
}
