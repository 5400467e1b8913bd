//! What a plan does, defers, and leaves alone.

use std::time::Duration;

use kafka_assigner_core::ack::Ack;
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::leader::LeaderContext;
use kafka_assigner_core::plan::{NoPlan, WhatIf, plan};
use kafka_assigner_core::record::{GroupConfig, Phase};
use kafka_assigner_strategies::{Placement, Problem, Registry, Strategy};
use kafka_assigner_types::id::HandoffIds;

fn begun(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action.step, Step::Begin { .. })).count()
}

fn loads(lab: &Lab) -> Vec<usize> {
    lab.loads().into_values().collect()
}

#[test]
fn who_is_there_first_gets_everything_without_a_handoff() {
    let mut lab = Lab::with_topics(&[("t", 4), ("u", 6)]);
    lab.join("a");
    let done = lab.settle();
    assert_eq!(begun(&done), 0);
    assert_eq!(loads(&lab), [10]);
    assert!(done.iter().all(|action| action.step.label() == "grant"));
}

#[test]
fn without_consumers_or_topics_nothing_is_done() {
    assert!(Lab::with_topics(&[("t", 4)]).settle().is_empty());
    let mut lab = Lab::default();
    lab.join("a");
    assert!(lab.settle().is_empty());
}

#[test]
fn consumers_beyond_the_partitions_get_none_and_nothing_moves_for_them() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    for name in ["a", "b", "c", "d"] {
        lab.join(name);
    }
    lab.settle();
    assert_eq!(loads(&lab), [1, 1]);
    lab.join("e");
    assert!(lab.settle().is_empty());
}

#[test]
fn rapid_joins_leave_what_is_in_flight_where_it_is_going() {
    // Pinned, and counted at its target.
    let mut lab = Lab::with_topics(&[("t", 12)]);
    lab.join("a");
    lab.settle();
    lab.join("b");
    assert_eq!(begun(&lab.pass()), 6);
    let first: Vec<_> = lab.state.handoffs().values().map(|e| e.last_good().cloned()).collect();
    lab.join("c");
    lab.join("d");
    let second = lab.pass();
    let kept: Vec<_> = lab.state.handoffs().values().map(|e| e.last_good().cloned()).collect();
    assert!(first.iter().all(|handoff| kept.contains(handoff)), "no handoff is overwritten");
    assert!(second.iter().all(|a| matches!(&a.step, Step::Begin { from, .. } if from.name.as_str() == "a")));
    lab.settle();
    assert_eq!(loads(&lab), [3, 3, 3, 3]);
}

#[test]
fn one_stuck_handoff_holds_nobody_else() {
    let mut lab = Lab::with_topics(&[("t", 4)]);
    lab.join("a");
    lab.settle();
    lab.join("b");
    lab.pass();
    lab.join("c");
    assert!(begun(&lab.pass()) > 0);
}

#[test]
fn budgets_bound_what_is_in_flight_and_say_so() {
    let mut lab = Lab::with_topics(&[("t", 12)]);
    lab.configure(&GroupConfig { max_moves_in_flight: 4, max_warming: 3, ..GroupConfig::default() });
    lab.join("a");
    lab.settle();
    lab.join("b");
    let plan = lab.plan();
    assert_eq!(begun(&plan.actions), 3);
    assert_eq!(plan.deferred.len(), 3);
    assert!(plan.deferred.iter().all(|d| d.why.to_string() == "b warms 3 already"));
    lab.join("c");
    let plan = lab.plan();
    assert_eq!(begun(&plan.actions), 4);
    assert!(plan.deferred.iter().any(|d| d.why.to_string() == "the group's 4 moves are in flight"));
    lab.settle();
    assert_eq!(loads(&lab), [4, 4, 4]);
}

#[test]
fn what_is_warm_no_longer_counts_as_warming() {
    let mut lab = Lab::with_topics(&[("t", 4)]);
    lab.configure(&GroupConfig { max_warming: 1, ..GroupConfig::default() });
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    let (at, _) = lab.state.handoffs().iter().next().map(|(at, e)| (at.clone(), e.clone())).unwrap();
    lab.say(&b, &at, None, &Ack::Ready);
    assert_eq!(begun(&lab.plan().actions), 1);
}

#[test]
fn a_consumer_that_fails_again_and_again_is_asked_less_and_less() {
    let mut lab = Lab::with_topics(&[("t", 1)]);
    lab.join_as("a", |a| a.max_partitions = Some(0));
    lab.settle();
    let a = lab.join("a");
    lab.settle();
    lab.leave(&a, &kafka_assigner_core::session::Leaving::Drain);
    let b = lab.join("b");
    let (mut attempts, mut seconds) = (0, 0);
    while attempts < 10 {
        let tried = begun(&lab.pass());
        if tried > 0 {
            attempts += tried;
            lab.say(&b, &tp("t", 0), None, &Ack::WarmFailed { reason: "no".to_owned() });
        }
        lab.pass();
        lab.later(Duration::from_secs(1));
        seconds += 1;
        assert!(seconds < 10_000);
    }
    // 10 + 20 + 40 + 80 + 160 + 320 + 600 + 600 + 600
    assert!((2_430..2_480).contains(&seconds), "{seconds}");
    assert_eq!(lab.owner(&tp("t", 0)), Some("a"));
}

#[test]
fn an_orphan_goes_even_to_somebody_who_failed() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &tp("t", 1), None, &Ack::WarmFailed { reason: "no".to_owned() });
    lab.settle();
    lab.crash("a");
    lab.settle();
    assert_eq!(loads(&lab), [2]);
    assert_eq!(lab.owner(&tp("t", 1)), Some("b"));
}

#[test]
fn topics_grow_vanish_and_come_back_under_higher_epochs() {
    let mut lab = Lab::with_topics(&[("t", 2), ("u", 2)]);
    lab.join("a");
    lab.settle();
    let before = lab.state.assignment(&tp("u", 1)).unwrap().held_epoch();
    lab.topic("t", 3);
    lab.settle();
    assert_eq!(lab.owner(&tp("t", 2)), Some("a"));
    lab.remove(&Key::Topic("u".parse().unwrap()));
    assert!(lab.pass().iter().all(|action| action.step == Step::Forget));
    assert_eq!(loads(&lab), [3]);
    lab.topic("u", 2);
    lab.settle();
    assert!(lab.state.assignment(&tp("u", 1)).unwrap().held_epoch() > before);
}

#[test]
fn nobody_gets_what_it_does_not_subscribe_to_and_the_plan_says_so() {
    let mut lab = Lab::with_topics(&[("t", 1), ("u", 1)]);
    lab.join_as("a", |a| a.topics = ["t".parse().unwrap()].into());
    lab.settle();
    let deferred = lab.plan().deferred;
    assert_eq!(deferred.len(), 1);
    assert_eq!(deferred[0].unit, [tp("u", 0)]);
    assert_eq!(deferred[0].why.to_string(), "nobody may have it: no member is subscribed to its topic");
}

#[test]
fn a_handoff_that_ends_makes_room_before_the_partition_moves_again() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &tp("t", 1), None, &Ack::Ready);
    lab.pass();
    lab.leave(&b, &kafka_assigner_core::session::Leaving::Drain);
    let deferred = lab.plan().deferred;
    assert_eq!(deferred[0].why.label(), "handoff_ending");
    assert_eq!(lab.state.handoff(&tp("t", 1)).unwrap().phase, Phase::Complete);
}

#[test]
fn looking_at_a_plan_changes_nothing_and_looking_again_shows_the_same() {
    let mut lab = Lab::with_topics(&[("t", 6)]);
    lab.join("a");
    lab.settle();
    lab.join("b");
    let before = lab.shelf.clone();
    assert_eq!(lab.plan(), lab.plan());
    assert_eq!(lab.shelf, before);
    let what_if = WhatIf { without: ["b".parse().unwrap()].into(), strategy: None };
    let without = plan(&lab.state, lab.context(), &mut HandoffIds::new(1), &what_if).unwrap();
    assert!(without.actions.is_empty());
    let what_if = WhatIf { strategy: Some("jump-hash".to_owned()), ..WhatIf::default() };
    let other = plan(&lab.state, lab.context(), &mut HandoffIds::new(1), &what_if).unwrap();
    assert_eq!(other.strategy, "jump-hash");
    let what_if = WhatIf { strategy: Some("none".to_owned()), ..WhatIf::default() };
    let unknown = plan(&lab.state, lab.context(), &mut HandoffIds::new(1), &what_if);
    assert_eq!(unknown, Err(NoPlan::UnknownStrategy("none".to_owned())));
}

/// Gives everything to the last member.
#[derive(Debug)]
struct ToTheLast;

impl Strategy for ToTheLast {
    fn name(&self) -> &'static str {
        "to-the-last"
    }

    fn summary(&self) -> &'static str {
        "gives everything to the last member"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        Placement::of(problem, vec![problem.member_indices().last(); problem.units()])
    }
}

#[test]
fn a_strategy_that_was_added_plans_like_any_other() {
    let mut lab = Lab::with_topics(&[("t", 4)]);
    lab.join("a");
    lab.settle();
    lab.join("b");
    let strategies = Registry::builtin().with(&ToTheLast);
    let context = LeaderContext { strategies: &strategies, ..lab.context() };
    let what_if = WhatIf { strategy: Some("to-the-last".to_owned()), ..WhatIf::default() };
    let moves = plan(&lab.state, context, &mut HandoffIds::new(1), &what_if).unwrap();
    assert_eq!(begun(&moves.actions), 4);
    assert!(plan(&lab.state, lab.context(), &mut HandoffIds::new(1), &what_if).is_err());
}

#[test]
fn one_partition_that_was_taken_meanwhile_stands_down_alone() {
    let mut lab = Lab::with_topics(&[("t", 20)]);
    lab.join("a");
    lab.settle();
    lab.join("b");
    let planned = lab.plan().actions;
    let at = planned[0].unit[0].clone();
    let other = lab.clone();
    let winner = vec![other.plan().actions[0].clone()];
    lab.carry_out(winner);
    let record = lab.stored::<serde_json::Value>(&Key::Handoff(at.clone()));
    assert_eq!(lab.carry_out(planned).len(), 9);
    assert_eq!(lab.stored::<serde_json::Value>(&Key::Handoff(at)), record);
}

#[test]
fn without_a_readable_configuration_nothing_is_planned_unless_a_good_one_was_seen() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.put(&Key::GroupConfig, "{");
    lab.join("a");
    let none = plan(&lab.state, lab.context(), &mut HandoffIds::new(1), &WhatIf::default());
    assert_eq!(none, Err(NoPlan::UnreadableConfig));
    lab.configure(&GroupConfig { strategy: "jump-hash".to_owned(), ..GroupConfig::default() });
    lab.put(&Key::GroupConfig, "{");
    assert_eq!(lab.plan().strategy, "jump-hash");
}

#[test]
fn moves_are_spent_on_even_topics_once_the_group_says_so() {
    let mut lab = Lab::with_topics(&[("t", 4), ("u", 4)]);
    for (name, topic) in [("a", "t"), ("b", "u")] {
        lab.join_as(name, |consumer| consumer.topics = [topic.parse().unwrap()].into());
    }
    lab.settle();
    lab.join("a");
    lab.join("b");
    assert_eq!(begun(&lab.settle()), 0);
    lab.configure(&GroupConfig { spread_topics: "moves".to_owned(), ..GroupConfig::default() });
    assert_eq!(begun(&lab.settle()), 4);
    assert_eq!(loads(&lab), [4, 4]);
    assert_eq!(begun(&lab.settle()), 0);
}

#[test]
fn a_consumer_of_twice_the_capacity_gets_twice_as_much() {
    let mut lab = Lab::with_topics(&[("t", 30)]);
    lab.join("a");
    lab.join_as("b", |consumer| consumer.capacity = Some(2.0));
    lab.settle();
    assert_eq!(loads(&lab), [10, 20]);
}

#[test]
fn a_capacity_that_is_none_counts_as_one_and_keeps_nobody_from_being_planned() {
    let mut lab = Lab::with_topics(&[("t", 30)]);
    lab.join("a");
    lab.join_as("b", |consumer| consumer.capacity = Some(-1.0));
    lab.settle();
    assert_eq!(loads(&lab), [15, 15]);
}

#[test]
fn a_newer_generation_waits_for_what_older_ones_hand_over() {
    let mut lab = Lab::with_topics(&[("t", 30)]);
    lab.join_as("a", |consumer| consumer.generation = "v9".to_owned());
    lab.settle();
    lab.join_as("b", |consumer| consumer.generation = "v10".to_owned());
    assert!(lab.settle().is_empty());
    lab.crash("a");
    lab.settle();
    assert_eq!(loads(&lab), [30]);
    assert_eq!(lab.owner(&tp("t", 0)), Some("b"));
}
