//! The worked example, and the rules it leaves open.

use super::*;
use crate::{MemberSpec, MemberState, MoveReason, ProblemBuilder, Subscription, UnitIndex};

/// The partitions of the only topic that each member owns, by member.
fn owned(problem: &Problem, placement: &Placement) -> Vec<(String, Vec<usize>)> {
    let of = |member| (0..problem.units()).filter(move |unit| placement.owner[*unit] == Some(member));
    let ids = problem.member_indices();
    ids.map(|member| (problem.member(member).id.to_string(), of(member).collect())).collect()
}

/// One topic; each member with the partitions it owns today.
fn problem(partitions: u32, members: &[(MemberSpec, &[u32])]) -> Problem {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", partitions);
    for (spec, owns) in members {
        let member = builder.member(spec.clone());
        owns.iter().for_each(|partition| builder.current(topic, *partition, member));
    }
    builder.build().unwrap()
}

fn place(problem: &Problem) -> Vec<(String, Vec<usize>)> {
    owned(problem, &StickyBalanced.assign(problem))
}

fn expect(members: &[(&str, &[usize])]) -> Vec<(String, Vec<usize>)> {
    members.iter().map(|(id, units)| ((*id).to_string(), units.to_vec())).collect()
}

fn member(id: &str) -> MemberSpec {
    MemberSpec::new(id)
}

#[test]
fn the_worked_example_comes_out_exactly() {
    let fresh = problem(10, &[(member("A"), &[]), (member("B"), &[]), (member("C"), &[])]);
    let first = expect(&[("A", &[0, 1, 2, 3]), ("B", &[4, 5, 6]), ("C", &[7, 8, 9])]);
    assert_eq!(place(&fresh), first);

    let c_died = problem(10, &[(member("A"), &[0, 1, 2, 3]), (member("B"), &[4, 5, 6])]);
    let second = expect(&[("A", &[0, 1, 2, 3, 7]), ("B", &[4, 5, 6, 8, 9])]);
    assert_eq!(place(&c_died), second);
    assert_eq!(StickyBalanced.assign(&c_died).moves(&c_died).len(), 3);
}

#[test]
fn who_has_more_gets_the_odd_unit() {
    let problem = problem(7, &[(member("a"), &[0, 1, 2]), (member("b"), &[3, 4, 5, 6])]);
    assert!(StickyBalanced.assign(&problem).moves(&problem).is_empty());
}

#[test]
fn the_highest_units_leave_and_say_why() {
    let problem = problem(6, &[(member("a"), &[0, 1, 2, 3, 4, 5]), (member("b"), &[])]);
    let placement = StickyBalanced.assign(&problem);
    assert_eq!(owned(&problem, &placement), expect(&[("a", &[0, 1, 2]), ("b", &[3, 4, 5])]));
    let reason = placement.moves(&problem)[0].reason;
    assert_eq!(reason, MoveReason::OverTarget { had: 6, target: 3 });
    assert_eq!(reason.to_string(), "its owner had 6 and is to have 3");
}

#[test]
fn totals_are_balanced_across_topics() {
    let mut builder = Problem::builder();
    for topic in 0..5 {
        builder.topic(format!("t{topic}"), 3);
    }
    for id in ["a", "b", "c", "d"] {
        builder.member(member(id));
    }
    let problem = builder.build().unwrap();
    let loads: Vec<_> = place(&problem).into_iter().map(|(_, units)| units.len()).collect();
    assert_eq!(loads, [4, 4, 4, 3]);
}

#[test]
fn a_limit_passes_the_rest_on() {
    let limited = MemberSpec { max_partitions: Some(2), ..member("a") };
    let problem = problem(10, &[(limited, &[]), (member("b"), &[]), (member("c"), &[])]);
    assert_eq!(place(&problem), expect(&[("a", &[0, 1]), ("b", &[2, 3, 4, 5]), ("c", &[6, 7, 8, 9])]));
}

#[test]
fn a_draining_member_gives_what_others_can_take_and_keeps_the_rest() {
    let leaving = MemberSpec { state: MemberState::Draining, ..member("a") };
    let limited = MemberSpec { max_partitions: Some(2), ..member("b") };
    let problem = problem(4, &[(leaving, &[0, 1, 2]), (limited, &[])]);
    assert_eq!(place(&problem), expect(&[("a", &[1, 2]), ("b", &[0, 3])]));
}

#[test]
fn a_member_on_hold_keeps_what_it_has_and_takes_nothing() {
    let holding = MemberSpec { state: MemberState::Hold, ..member("a") };
    let problem = problem(6, &[(holding, &[0, 1, 2, 3]), (member("b"), &[]), (member("c"), &[])]);
    assert_eq!(place(&problem), expect(&[("a", &[0, 1, 2, 3]), ("b", &[4]), ("c", &[5])]));
}

#[test]
fn fixed_units_count_and_are_no_moves() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 4);
    let (a, b) = (builder.member(member("a")), builder.member(member("b")));
    (0..4).for_each(|partition| builder.current(topic, partition, a));
    builder.fixed(topic, 0, b);
    let problem = builder.build().unwrap();
    let placement = StickyBalanced.assign(&problem);
    assert_eq!(owned(&problem, &placement), expect(&[("a", &[1, 2]), ("b", &[0, 3])]));
    assert_eq!(
        placement.moves(&problem).iter().map(|moved| moved.unit).collect::<Vec<_>>(),
        [UnitIndex::new(3)]
    );
}

/// `x` is subscribed to `t0` only, `y` to both topics, of four partitions each.
fn mixed(tell: impl FnOnce(&mut ProblemBuilder)) -> Problem {
    let mut builder = Problem::builder();
    let (t0, _) = (builder.topic("t0", 4), builder.topic("t1", 4));
    builder.member(MemberSpec { subscription: Subscription::from_iter([t0]), ..member("x") });
    builder.member(member("y"));
    tell(&mut builder);
    builder.build().unwrap()
}

#[test]
fn a_fresh_mixed_placement_serves_the_topics_with_few_takers_first() {
    let problem = mixed(|_| {});
    assert_eq!(place(&problem), expect(&[("x", &[0, 1, 2, 3]), ("y", &[4, 5, 6, 7])]));
}

#[test]
fn a_mixed_placement_is_levelled_as_far_as_subscriptions_let_it() {
    let problem = mixed(|builder| {
        let y = builder.member_handle("y").unwrap();
        for topic in ["t0", "t1"] {
            let topic = builder.topic_handle(topic).unwrap();
            (0..4).for_each(|partition| builder.current(topic, partition, y));
        }
    });
    assert_eq!(place(&problem), expect(&[("x", &[0, 1, 2, 3]), ("y", &[4, 5, 6, 7])]));
}

#[test]
fn a_ban_sends_one_unit_elsewhere() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 4);
    let (a, b) = (builder.member(member("a")), builder.member(member("b")));
    [0, 1].into_iter().for_each(|partition| builder.current(topic, partition, a));
    [2, 3].into_iter().for_each(|partition| builder.current(topic, partition, b));
    builder.ban(topic, 0, a);
    let problem = builder.build().unwrap();
    let placement = StickyBalanced.assign(&problem);
    assert_eq!(owned(&problem, &placement), expect(&[("a", &[1, 3]), ("b", &[0, 2])]));
    let reasons: Vec<_> = placement.moves(&problem).iter().map(|moved| moved.reason.to_string()).collect();
    assert_eq!(reasons, ["its owner may not own it any more", "its owner takes others instead"]);
}
