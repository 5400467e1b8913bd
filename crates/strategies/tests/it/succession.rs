//! A problem that follows from another is the one that would have been told anew.

use kafka_assigner_strategies::{
    Balanced, InvalidProblem, MemberIndex, MemberSpec, Problem, ProblemMember, RackIndex, Strategy as _,
    Subscription, TopicIndex, all,
};
use proptest::prelude::*;

use crate::scenario::{Scenario, any_scenario};

/// The scenario without its last member, and that member as the problem knows it.
fn without_last(scenario: &Scenario) -> (Scenario, ProblemMember) {
    let last = scenario.members.len() - 1;
    let mut fewer = scenario.clone();
    fewer.members.pop();
    for fate in fewer.units.iter_mut().flatten() {
        fate.current = fate.current.filter(|member| *member != last);
        fate.fixed = fate.fixed.filter(|member| *member != last);
        fate.bans.retain(|member| *member != last);
        fate.pins.retain(|member| *member != last);
        fate.copies.retain(|(member, _)| *member != last);
    }
    let problem = scenario.problem();
    let id = scenario.member_id(last);
    (fewer, problem.member(problem.member_named(&id).unwrap()).clone())
}

/// True if the racks of the two are the same, as a rack is told with the first that is in it.
fn racks_are_alike(a: &Problem, b: &Problem) -> bool {
    a.racks() == b.racks()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_placement_that_came_true_is_what_is_owned(mut scenario in any_scenario()) {
        for fate in scenario.units.iter_mut().flatten() {
            (fate.fixed, fate.cools) = (None, false);
        }
        let problem = scenario.problem();
        for strategy in all() {
            let placement = strategy.assign(&problem);
            let mut told = scenario.after(&placement);
            told.units.iter_mut().flatten().flat_map(|fate| &mut fate.copies).for_each(|(_, lag)| *lag = 0);
            prop_assert_eq!(problem.clone().after(placement), told.problem());
        }
    }

    #[test]
    fn who_left_is_as_if_never_told(scenario in any_scenario().prop_filter("a member", |it| !it.members.is_empty())) {
        let (fewer, last) = without_last(&scenario);
        let (problem, expected) = (scenario.problem(), fewer.problem());
        prop_assume!(racks_are_alike(&problem, &expected));
        let index = problem.member_named(&last.id).unwrap();
        prop_assert_eq!(problem.without(index), expected);
    }

    #[test]
    fn who_joined_is_as_if_told_from_the_start(scenario in any_scenario().prop_filter("a member", |it| !it.members.is_empty())) {
        let (fewer, last) = without_last(&scenario);
        let mut expected = scenario.clone();
        expected.units = fewer.units.clone();
        prop_assume!(racks_are_alike(&fewer.problem(), &expected.problem()));
        prop_assert_eq!(fewer.problem().with(last).unwrap(), expected.problem());
    }
}

/// Two topics, and the members `a` and `c`.
fn problem() -> Problem {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 4);
    builder.topic("u", 4);
    let a = builder.member(MemberSpec::new("a"));
    let c = builder.member(MemberSpec::new("c"));
    builder.current(topic, 0, c);
    builder.pin(topic, 1, a);
    builder.pin(topic, 1, c);
    builder.ban(topic, 2, c);
    builder.build().unwrap()
}

fn named(id: &str) -> ProblemMember {
    ProblemMember { id: id.into(), ..problem().members()[0].clone() }
}

#[test]
fn a_member_in_between_changes_nothing_for_the_others() {
    let joined = problem().with(named("b")).unwrap();
    let [b, c] = [1, 2].map(MemberIndex::new);
    let unit = |partition| joined.unit(TopicIndex::new(0), partition);
    assert_eq!(joined.current(unit(0)), Some(c));
    assert!(joined.is_banned(unit(2), c) && !joined.is_banned(unit(2), b));
    assert_eq!(joined.without(b), problem());
}

#[test]
fn pins_count_again_once_a_member_they_name_can_have_the_unit() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 2);
    let a = builder.member(MemberSpec::new("a"));
    let b = builder.member(MemberSpec { subscription: Subscription::from_iter([]), ..MemberSpec::new("b") });
    builder.pin(topic, 0, a);
    builder.pin(topic, 0, b);
    let both = builder.build().unwrap();
    let unit = both.unit(TopicIndex::new(0), 0);
    assert!(both.is_pinned(unit));
    let without = both.without(MemberIndex::new(0));
    assert!(!without.is_pinned(unit));
}

#[test]
fn a_member_is_refused_that_is_there_already_or_of_another_problem() {
    assert_eq!(problem().with(named("a")).unwrap_err(), InvalidProblem::DuplicateMember("a".into()));
    let far = ProblemMember { subscription: Subscription::from_iter([TopicIndex::new(2)]), ..named("b") };
    assert_eq!(problem().with(far).unwrap_err(), InvalidProblem::ForeignHandle);
    let racked = ProblemMember { rack: Some(RackIndex::new(0)), ..named("b") };
    assert_eq!(problem().with(racked).unwrap_err(), InvalidProblem::ForeignHandle);
}

#[test]
fn a_subscription_in_any_order_to_all_topics_is_to_all() {
    let topics = [1, 0, 1].map(TopicIndex::new);
    let joined =
        problem().with(ProblemMember { subscription: Subscription::from_iter(topics), ..named("b") });
    assert_eq!(joined.unwrap().members()[1].subscription, Subscription::All);
}

#[test]
fn a_second_placement_of_what_follows_changes_nothing() {
    let first = problem();
    let next = first.clone().after(Balanced.assign(&first));
    assert_eq!(Balanced.assign(&next).changes(&next).count(), 0);
}
