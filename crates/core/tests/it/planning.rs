//! The actions and deferrals of a plan, and the units that it leaves alone.

use std::time::Duration;

use kafka_assigner_core::ack::Ack;
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::leader::LeaderContext;
use kafka_assigner_core::plan::{NoPlan, WhatIf, plan};
use kafka_assigner_core::record::{GroupConfig, Phase};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_strategies::{Placement, Problem, Registry, Strategy};
use kafka_assigner_types::id::HandoffIds;

fn begun(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action.step, Step::Begin { .. })).count()
}

fn loads(group: &TestGroup) -> Vec<usize> {
    group.loads().into_values().collect()
}

#[test]
fn who_is_there_first_gets_everything_without_a_handoff() {
    let mut group = TestGroup::with_topics(&[("t", 4), ("u", 6)]);
    group.join("a");
    let done = group.settle();
    assert_eq!(begun(&done), 0);
    assert_eq!(loads(&group), [10]);
    assert!(done.iter().all(|action| action.step.label() == "grant"));
}

#[test]
fn without_consumers_or_topics_nothing_is_done() {
    assert!(TestGroup::with_topics(&[("t", 4)]).settle().is_empty());
    let mut group = TestGroup::default();
    group.join("a");
    assert!(group.settle().is_empty());
}

#[test]
fn consumers_beyond_the_partitions_get_none_and_nothing_moves_for_them() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    for name in ["a", "b", "c", "d"] {
        group.join(name);
    }
    group.settle();
    assert_eq!(loads(&group), [1, 1]);
    group.join("e");
    assert!(group.settle().is_empty());
}

#[test]
fn rapid_joins_leave_what_is_in_flight_where_it_is_going() {
    // Pinned, and counted at its target.
    let mut group = TestGroup::with_topics(&[("t", 12)]);
    group.join("a");
    group.settle();
    group.join("b");
    assert_eq!(begun(&group.pass()), 6);
    let first: Vec<_> = group.state.handoffs().values().map(|e| e.last_good().cloned()).collect();
    group.join("c");
    group.join("d");
    let second = group.pass();
    let kept: Vec<_> = group.state.handoffs().values().map(|e| e.last_good().cloned()).collect();
    assert!(first.iter().all(|handoff| kept.contains(handoff)), "no handoff is overwritten");
    assert!(second.iter().all(|a| matches!(&a.step, Step::Begin { from, .. } if from.name.as_str() == "a")));
    group.settle();
    assert_eq!(loads(&group), [3, 3, 3, 3]);
}

#[test]
fn one_stuck_handoff_holds_nobody_else() {
    let mut group = TestGroup::with_topics(&[("t", 4)]);
    group.join("a");
    group.settle();
    group.join("b");
    group.pass();
    group.join("c");
    assert!(begun(&group.pass()) > 0);
}

#[test]
fn budgets_bound_what_is_in_flight_and_say_so() {
    let mut group = TestGroup::with_topics(&[("t", 12)]);
    group.configure(&GroupConfig { max_moves_in_flight: 4, max_warming: 3, ..GroupConfig::default() });
    group.join("a");
    group.settle();
    group.join("b");
    let plan = group.plan();
    assert_eq!(begun(&plan.actions), 3);
    assert_eq!(plan.deferred.len(), 3);
    assert!(plan.deferred.iter().all(|d| d.why.to_string() == "b warms 3 already"));
    group.join("c");
    let plan = group.plan();
    assert_eq!(begun(&plan.actions), 4);
    assert!(plan.deferred.iter().any(|d| d.why.to_string() == "the group's 4 moves are in flight"));
    group.settle();
    assert_eq!(loads(&group), [4, 4, 4]);
}

#[test]
fn what_is_warm_no_longer_counts_as_warming() {
    let mut group = TestGroup::with_topics(&[("t", 4)]);
    group.configure(&GroupConfig { max_warming: 1, ..GroupConfig::default() });
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    let (at, _) = group.state.handoffs().iter().next().map(|(at, e)| (at.clone(), e.clone())).unwrap();
    group.say(&b, &at, None, &Ack::Ready);
    assert_eq!(begun(&group.plan().actions), 1);
}

#[test]
fn a_consumer_that_fails_again_and_again_is_asked_less_and_less() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.join_as("a", |a| a.max_partitions = Some(0));
    group.settle();
    let a = group.join("a");
    group.settle();
    group.leave(&a, &kafka_assigner_core::session::Leaving::Drain);
    let b = group.join("b");
    let (mut attempts, mut seconds) = (0, 0);
    while attempts < 10 {
        let tried = begun(&group.pass());
        if tried > 0 {
            attempts += tried;
            group.say(&b, &tp("t", 0), None, &Ack::WarmFailed { reason: "no".to_owned() });
        }
        group.pass();
        group.later(Duration::from_secs(1));
        seconds += 1;
        assert!(seconds < 10_000);
    }
    // 10 + 20 + 40 + 80 + 160 + 320 + 600 + 600 + 600
    assert!((2_430..2_480).contains(&seconds), "{seconds}");
    assert_eq!(group.owner(&tp("t", 0)), Some("a"));
}

#[test]
fn an_orphan_goes_even_to_somebody_who_failed() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    group.say(&b, &tp("t", 1), None, &Ack::WarmFailed { reason: "no".to_owned() });
    group.settle();
    group.crash("a");
    group.settle();
    assert_eq!(loads(&group), [2]);
    assert_eq!(group.owner(&tp("t", 1)), Some("b"));
}

#[test]
fn topics_grow_vanish_and_come_back_under_higher_epochs() {
    let mut group = TestGroup::with_topics(&[("t", 2), ("u", 2)]);
    group.join("a");
    group.settle();
    let before = group.state.assignment(&tp("u", 1)).unwrap().held_epoch();
    group.topic("t", 3);
    group.settle();
    assert_eq!(group.owner(&tp("t", 2)), Some("a"));
    group.remove(&Key::Topic("u".parse().unwrap()));
    assert!(group.pass().iter().all(|action| action.step == Step::Forget));
    assert_eq!(loads(&group), [3]);
    group.topic("u", 2);
    group.settle();
    assert!(group.state.assignment(&tp("u", 1)).unwrap().held_epoch() > before);
}

#[test]
fn nobody_gets_what_it_does_not_subscribe_to_and_the_plan_says_so() {
    let mut group = TestGroup::with_topics(&[("t", 1), ("u", 1)]);
    group.join_as("a", |a| a.topics = ["t".parse().unwrap()].into());
    group.settle();
    let deferred = group.plan().deferred;
    assert_eq!(deferred.len(), 1);
    assert_eq!(deferred[0].unit, [tp("u", 0)]);
    assert_eq!(deferred[0].why.to_string(), "nobody may have it: no member is subscribed to its topic");
}

#[test]
fn a_handoff_that_ends_makes_room_before_the_partition_moves_again() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    group.say(&b, &tp("t", 1), None, &Ack::Ready);
    group.pass();
    group.leave(&b, &kafka_assigner_core::session::Leaving::Drain);
    let deferred = group.plan().deferred;
    assert_eq!(deferred[0].why.label(), "handoff_ending");
    assert_eq!(group.state.handoff(&tp("t", 1)).unwrap().phase, Phase::Complete);
}

#[test]
fn looking_at_a_plan_changes_nothing_and_looking_again_shows_the_same() {
    let mut group = TestGroup::with_topics(&[("t", 6)]);
    group.join("a");
    group.settle();
    group.join("b");
    let before = group.store.clone();
    assert_eq!(group.plan(), group.plan());
    assert_eq!(group.store, before);
    let what_if = WhatIf { without: ["b".parse().unwrap()].into(), strategy: None };
    let without = plan(&group.state, group.context(), &mut HandoffIds::new(1), &what_if).unwrap();
    assert!(without.actions.is_empty());
    let what_if = WhatIf { strategy: Some("jump-hash".to_owned()), ..WhatIf::default() };
    let other = plan(&group.state, group.context(), &mut HandoffIds::new(1), &what_if).unwrap();
    assert_eq!(other.strategy, "jump-hash");
    let what_if = WhatIf { strategy: Some("none".to_owned()), ..WhatIf::default() };
    let unknown = plan(&group.state, group.context(), &mut HandoffIds::new(1), &what_if);
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
    let mut group = TestGroup::with_topics(&[("t", 4)]);
    group.join("a");
    group.settle();
    group.join("b");
    let strategies = Registry::builtin().with(&ToTheLast);
    let context = LeaderContext { strategies: &strategies, ..group.context() };
    let what_if = WhatIf { strategy: Some("to-the-last".to_owned()), ..WhatIf::default() };
    let moves = plan(&group.state, context, &mut HandoffIds::new(1), &what_if).unwrap();
    assert_eq!(begun(&moves.actions), 4);
    assert!(plan(&group.state, group.context(), &mut HandoffIds::new(1), &what_if).is_err());
}

/// Panics, as a user's strategy may.
#[derive(Debug)]
struct Panicking;

impl Strategy for Panicking {
    fn name(&self) -> &'static str {
        "panicking"
    }

    fn summary(&self) -> &'static str {
        "panics"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        panic!("{} units are too many", problem.units());
    }
}

#[test]
fn a_strategy_that_panics_makes_no_plan_and_says_why() {
    let mut group = TestGroup::with_topics(&[("t", 4)]);
    group.join("a");
    group.settle();
    let strategies = Registry::builtin().with(&Panicking);
    let context = LeaderContext { strategies: &strategies, ..group.context() };
    let what_if = WhatIf { strategy: Some("panicking".to_owned()), ..WhatIf::default() };
    let none = plan(&group.state, context, &mut HandoffIds::new(1), &what_if);
    let (strategy, message) = ("panicking".to_owned(), "4 units are too many".to_owned());
    assert_eq!(none, Err(NoPlan::Panicked { strategy, message }));
}

#[test]
fn one_partition_that_was_taken_meanwhile_stands_down_alone() {
    let mut group = TestGroup::with_topics(&[("t", 20)]);
    group.join("a");
    group.settle();
    group.join("b");
    let planned = group.plan().actions;
    let at = planned[0].unit[0].clone();
    let other = group.clone();
    let winner = vec![other.plan().actions[0].clone()];
    group.carry_out(winner);
    let record = group.stored::<serde_json::Value>(&Key::Handoff(at.clone()));
    assert_eq!(group.carry_out(planned).len(), 9);
    assert_eq!(group.stored::<serde_json::Value>(&Key::Handoff(at)), record);
}

#[test]
fn without_a_readable_configuration_nothing_is_planned_unless_a_good_one_was_seen() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.put(&Key::GroupConfig, "{");
    group.join("a");
    let none = plan(&group.state, group.context(), &mut HandoffIds::new(1), &WhatIf::default());
    assert_eq!(none, Err(NoPlan::UnreadableConfig));
    group.configure(&GroupConfig { strategy: "jump-hash".to_owned(), ..GroupConfig::default() });
    group.put(&Key::GroupConfig, "{");
    assert_eq!(group.plan().strategy, "jump-hash");
}

#[test]
fn moves_are_spent_on_even_topics_once_the_group_says_so() {
    let mut group = TestGroup::with_topics(&[("t", 4), ("u", 4)]);
    for (name, topic) in [("a", "t"), ("b", "u")] {
        group.join_as(name, |consumer| consumer.topics = [topic.parse().unwrap()].into());
    }
    group.settle();
    group.join("a");
    group.join("b");
    assert_eq!(begun(&group.settle()), 0);
    group.configure(&GroupConfig { spread_topics: "moves".to_owned(), ..GroupConfig::default() });
    assert_eq!(begun(&group.settle()), 4);
    assert_eq!(loads(&group), [4, 4]);
    assert_eq!(begun(&group.settle()), 0);
}

#[test]
fn a_consumer_of_twice_the_capacity_gets_twice_as_much() {
    let mut group = TestGroup::with_topics(&[("t", 30)]);
    group.join("a");
    group.join_as("b", |consumer| consumer.capacity = Some(2.0));
    group.settle();
    assert_eq!(loads(&group), [10, 20]);
}

#[test]
fn a_capacity_that_is_none_counts_as_one_and_keeps_nobody_from_being_planned() {
    let mut group = TestGroup::with_topics(&[("t", 30)]);
    group.join("a");
    group.join_as("b", |consumer| consumer.capacity = Some(-1.0));
    group.settle();
    assert_eq!(loads(&group), [15, 15]);
}

#[test]
fn a_newer_generation_waits_for_what_older_ones_hand_over() {
    let mut group = TestGroup::with_topics(&[("t", 30)]);
    group.join_as("a", |consumer| consumer.generation = "v9".to_owned());
    group.settle();
    group.join_as("b", |consumer| consumer.generation = "v10".to_owned());
    assert!(group.settle().is_empty());
    group.crash("a");
    group.settle();
    assert_eq!(loads(&group), [30]);
    assert_eq!(group.owner(&tp("t", 0)), Some("b"));
}
