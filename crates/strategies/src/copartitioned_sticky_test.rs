//! Worked examples: what keeps a slot whole, what splits it, and where standbys go.

use super::*;
use crate::{MemberSpec, MemberState, MoveReason, ProblemBuilder, TopicHandle};

fn member(id: &str) -> MemberSpec {
    MemberSpec::new(id)
}

/// The members' ids by unit.
fn owners(problem: &Problem) -> Vec<String> {
    let placement = CopartitionedSticky.assign(problem);
    placement.owner.iter().map(|owner| problem.member(owner.unwrap()).id.to_string()).collect()
}

/// Topics `t` and `u` of as many partitions, and members `a` and `b`.
fn pair(partitions: u32, tell: impl Fn(&mut ProblemBuilder, [TopicHandle; 2])) -> Problem {
    let mut builder = Problem::builder();
    let topics = ["t", "u"].map(|name| builder.topic(name, partitions));
    for id in ["a", "b"] {
        builder.member(member(id));
    }
    tell(&mut builder, topics);
    builder.build().unwrap()
}

/// One topic shared by members of these capacities; how many partitions each gets.
fn shared(partitions: u32, capacities: &[f64]) -> Vec<usize> {
    let mut builder = Problem::builder();
    builder.topic("t", partitions);
    for (number, capacity) in capacities.iter().enumerate() {
        builder.member(MemberSpec { capacity: *capacity, ..member(&number.to_string()) });
    }
    let problem = builder.build().unwrap();
    let owner = CopartitionedSticky.assign(&problem).owner;
    problem
        .member_indices()
        .map(|member| owner.iter().filter(|owner| **owner == Some(member)).count())
        .collect()
}

#[test]
fn equal_numbers_go_to_one_member() {
    let problem = pair(3, |_, _| {});
    assert_eq!(owners(&problem), ["a", "b", "a", "a", "b", "a"]);
}

#[test]
fn topics_of_other_counts_or_subscribers_are_apart() {
    let mut builder = Problem::builder();
    let t = builder.topic("t", 2);
    let u = builder.topic("u", 2);
    builder.topic("v", 1);
    builder.member(member("a"));
    builder.member(MemberSpec { subscription: builder.subscription(["t"]), ..member("b") });
    builder.want_standbys(u, 1);
    builder.want_standbys(t, 1);
    let problem = builder.build().unwrap();
    assert_eq!(CopartitionedSet::all(&problem).len(), 3);
    let placement = CopartitionedSticky.assign(&problem);
    let [a, b] = [0, 1].map(MemberIndex::new);
    let (t, u) = (problem.topic_named("t").unwrap(), problem.topic_named("u").unwrap());
    assert!(problem.units_of(u).all(|unit| placement.owner[unit.index()] == Some(a)));
    assert!(problem.units_of(u).all(|unit| placement.standbys.of(unit).is_empty()));
    assert!(problem.units_of(t).any(|unit| placement.owner[unit.index()] == Some(b)));
}

#[test]
fn a_spread_slot_gathers_where_most_of_it_is() {
    let problem = pair(1, |builder, [t, u]| {
        let v = builder.topic("v", 1);
        let [a, b] = ["a", "b"].map(|id| builder.member_handle(id).unwrap());
        builder.current(t, 0, a);
        builder.current(u, 0, b);
        builder.current(v, 0, b);
    });
    let placement = CopartitionedSticky.assign(&problem);
    assert_eq!(owners(&problem), ["b"; 3]);
    let reasons: Vec<_> = placement.moves(&problem).iter().map(|moved| moved.reason).collect();
    assert_eq!(reasons, [MoveReason::SetSpread]);
    assert_eq!(reasons[0].to_string(), "its set was spread over several members");
}

#[test]
fn the_others_follow_a_fixed_unit() {
    let problem = pair(1, |builder, [t, u]| {
        let [a, b] = ["a", "b"].map(|id| builder.member_handle(id).unwrap());
        builder.fixed(t, 0, b);
        builder.current(u, 0, a);
    });
    assert_eq!(owners(&problem), ["b", "b"]);
}

#[test]
fn what_is_fixed_draws_the_others_more_than_what_moved_lately() {
    let problem = pair(1, |builder, [t, u]| {
        let [a, b] = ["a", "b"].map(|id| builder.member_handle(id).unwrap());
        let v = builder.topic("v", 1);
        builder.topic("w", 1);
        builder.fixed(t, 0, b);
        for topic in [u, v] {
            builder.current(topic, 0, a);
            builder.cool(topic, 0);
        }
    });
    assert_eq!(owners(&problem), ["b", "a", "a", "b"]);
}

#[test]
fn who_has_copies_of_a_whole_slot_comes_before_who_is_less_behind_with_a_part() {
    let problem = pair(1, |builder, [t, u]| {
        let [a, b] = ["a", "b"].map(|id| builder.member_handle(id).unwrap());
        builder.standby(t, 0, a, 0);
        [t, u].into_iter().for_each(|topic| builder.standby(topic, 0, b, 50));
    });
    assert_eq!(owners(&problem), ["b", "b"]);
}

#[test]
fn of_two_with_copies_of_a_whole_slot_the_worst_copy_decides() {
    let problem = pair(1, |builder, [t, u]| {
        let [a, b] = ["a", "b"].map(|id| builder.member_handle(id).unwrap());
        for (topic, lags) in [(t, [0, 100]), (u, [200, 100])] {
            [a, b].into_iter().zip(lags).for_each(|(member, lag)| builder.standby(topic, 0, member, lag));
        }
    });
    assert_eq!(owners(&problem), ["b", "b"]);
}

#[test]
fn what_may_not_follow_a_fixed_unit_stays() {
    let problem = pair(1, |builder, [t, u]| {
        let [a, b] = ["a", "b"].map(|id| builder.member_handle(id).unwrap());
        builder.fixed(t, 0, b);
        builder.current(u, 0, a);
        builder.ban(u, 0, b);
    });
    assert_eq!(owners(&problem), ["b", "a"]);
}

#[test]
fn a_ban_from_one_unit_sends_the_whole_slot_elsewhere() {
    let problem = pair(2, |builder, [_, u]| {
        let a = builder.member_handle("a").unwrap();
        builder.ban(u, 0, a);
    });
    assert_eq!(owners(&problem), ["b", "a", "b", "a"]);
}

#[test]
fn a_slot_that_nobody_may_have_all_of_is_split() {
    let problem = pair(1, |builder, [t, u]| {
        let [a, b] = ["a", "b"].map(|id| builder.member_handle(id).unwrap());
        builder.ban(t, 0, b);
        builder.ban(u, 0, a);
        builder.want_standbys(t, 1);
    });
    assert_eq!(owners(&problem), ["a", "b"]);
    assert!(CopartitionedSticky.assign(&problem).standbys.is_empty());
}

/// Slots of `t` and `u` of which no member may have both: `c` may have `u` and the others may have `t`.
fn torn(partitions: u32, tell: impl Fn(&mut ProblemBuilder, TopicHandle)) -> Problem {
    pair(partitions, |builder, [t, u]| {
        let c = builder.member(member("c"));
        for slot in 0..partitions {
            builder.ban(t, slot, c);
            for id in ["a", "b"] {
                builder.ban(u, slot, builder.member_handle(id).unwrap());
            }
        }
        tell(builder, t);
    })
}

#[test]
fn units_of_split_slots_go_round() {
    // The units of `u` go to their copies, without a look at who is emptiest.
    let problem = torn(4, |builder, _| {
        let (u, c) = (builder.topic_handle("u").unwrap(), builder.member_handle("c").unwrap());
        (0..4).for_each(|slot| builder.standby(u, slot, c, 0));
    });
    assert_eq!(owners(&problem), ["a", "b", "a", "b", "c", "c", "c", "c"]);
}

#[test]
fn a_unit_of_a_split_slot_goes_to_who_has_a_copy_of_it() {
    let problem = torn(1, |builder, t| builder.standby(t, 0, builder.member_handle("b").unwrap(), 90));
    assert_eq!(owners(&problem), ["b", "c"]);
}

#[test]
fn above_its_limit_a_member_gives_though_shares_are_even() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 4);
    let a = builder.member(MemberSpec { max_partitions: Some(1), ..member("a") });
    let b = builder.member(member("b"));
    (0..).zip([a, a, b, b]).for_each(|(slot, owner)| builder.current(topic, slot, owner));
    assert_eq!(owners(&builder.build().unwrap()), ["a", "b", "b", "b"]);
}

#[test]
fn above_its_limit_a_member_gives_what_would_follow_a_fixed_unit() {
    let mut builder = Problem::builder();
    let [t, u] = ["t", "u"].map(|name| builder.topic(name, 1));
    let a = builder.member(MemberSpec { max_partitions: Some(1), ..member("a") });
    builder.member(member("b"));
    builder.fixed(t, 0, a);
    builder.current(u, 0, a);
    assert_eq!(owners(&builder.build().unwrap()), ["a", "b"]);
}

#[test]
fn above_its_limit_a_member_gives_a_unit_of_a_slot_that_nobody_has_room_for() {
    let mut builder = Problem::builder();
    let [s, t, u] = ["s", "t", "u"].map(|name| builder.topic(name, if name == "s" { 2 } else { 1 }));
    let limited = |id| MemberSpec { max_partitions: Some(1), ..member(id) };
    let [a, b] = ["a", "b"].map(|id| builder.member(limited(id)));
    builder.member(MemberSpec { subscription: builder.subscription(["t", "u"]), ..limited("c") });
    builder.fixed(s, 0, a);
    builder.current(t, 0, a);
    builder.current(u, 0, b);
    let problem = builder.build().unwrap();
    let placement = CopartitionedSticky.assign(&problem);
    let of = |topic: &str| {
        let unit = problem.unit(problem.topic_named(topic).unwrap(), 0);
        placement.owner[unit.index()].map(|owner| problem.member(owner).id.to_string())
    };
    assert_eq!(["s", "t", "u"].map(of), ["a", "c", "b"].map(|id| Some(id.to_owned())));
}

#[test]
fn above_its_limit_a_member_gives_no_more_than_the_excess() {
    let mut builder = Problem::builder();
    let [t, u, v] = ["t", "u", "v"].map(|name| builder.topic(name, 1));
    let [a, b, ..] =
        ["a", "b", "c", "d"].map(|id| builder.member(MemberSpec { max_partitions: Some(1), ..member(id) }));
    builder.current(t, 0, a);
    builder.current(u, 0, a);
    builder.current(v, 0, b);
    let problem = builder.build().unwrap();
    assert_eq!(owners(&problem), ["c", "a", "b"]);
}

#[test]
fn where_room_is_short_what_is_nobodys_comes_before_what_an_owner_still_has() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 2);
    builder.member(MemberSpec { max_partitions: Some(1), ..member("a") });
    let b = builder.member(MemberSpec { state: MemberState::Draining, ..member("b") });
    builder.current(topic, 0, b);
    assert_eq!(owners(&builder.build().unwrap()), ["b", "a"]);
}

#[test]
fn what_nobody_may_have_takes_no_room() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 3);
    let a = builder.member(MemberSpec { max_partitions: Some(1), ..member("a") });
    let b = builder.member(MemberSpec { state: MemberState::Draining, ..member("b") });
    builder.current(topic, 0, b);
    builder.ban(topic, 1, a);
    let placement = CopartitionedSticky.assign(&builder.build().unwrap());
    assert_eq!(placement.owner, [Some(1), None, Some(0)].map(|owner| owner.map(MemberIndex::new)));
}

#[test]
fn who_alone_may_have_a_topic_keeps_its_room_for_that() {
    let mut builder = Problem::builder();
    for (name, partitions) in [("t", 1), ("u", 1), ("empty", 0)] {
        builder.topic(name, partitions);
    }
    builder.member(MemberSpec { subscription: builder.subscription(["t"]), ..member("a") });
    let subscription = builder.subscription(["t", "u"]);
    builder.member(MemberSpec { subscription, capacity: 2.0, max_partitions: Some(1), ..member("b") });
    assert_eq!(owners(&builder.build().unwrap()), ["a", "b"]);
}

#[test]
fn a_limit_counts_units_and_splits_only_what_would_be_nobodys() {
    let limited = |limit| {
        let mut builder = Problem::builder();
        for name in ["t", "u"] {
            builder.topic(name, 2);
        }
        builder.member(MemberSpec { max_partitions: Some(limit), ..member("a") });
        builder.member(MemberSpec { max_partitions: Some(3), ..member("b") });
        owners(&builder.build().unwrap())
    };
    assert_eq!(limited(2), ["a", "b", "a", "b"]);
    assert_eq!(limited(1), ["b", "a", "b", "b"]);
}

#[test]
fn a_unit_that_moved_lately_stays() {
    let problem = pair(1, |builder, [t, u]| {
        let [a, b] = ["a", "b"].map(|id| builder.member_handle(id).unwrap());
        let v = builder.topic("v", 1);
        builder.current(t, 0, a);
        builder.current(u, 0, b);
        builder.current(v, 0, b);
        builder.cool(t, 0);
    });
    assert_eq!(owners(&problem), ["a", "a", "a"]);
}

#[test]
fn a_limit_sends_whole_slots_away_even_if_they_moved_lately() {
    let mut builder = Problem::builder();
    let topics = ["t", "u", "v"].map(|name| builder.topic(name, 2));
    let a = builder.member(MemberSpec { max_partitions: Some(4), ..member("a") });
    builder.member(member("b"));
    for topic in topics {
        for slot in 0..2 {
            builder.current(topic, slot, a);
            builder.cool(topic, slot);
        }
    }
    assert_eq!(owners(&builder.build().unwrap()), ["a", "b", "a", "b", "a", "b"]);
}

#[test]
fn the_standby_of_a_draining_owner_is_promoted() {
    let mut builder = Problem::builder();
    let t = builder.topic("t", 1);
    builder.want_standbys(t, 1);
    let a = builder.member(MemberSpec { state: MemberState::Draining, ..member("a") });
    builder.member(member("b"));
    let c = builder.member(member("c"));
    builder.current(t, 0, a);
    builder.standby(t, 0, c, 50_000);
    let problem = builder.build().unwrap();
    assert_eq!(owners(&problem), ["c"]);
    let standbys = CopartitionedSticky.assign(&problem).standbys;
    let ids: Vec<_> = problem.unit_indices().flat_map(|unit| standbys.of(unit)).collect();
    assert_eq!(ids, [&MemberIndex::new(1)]);
}

#[test]
fn loads_are_in_proportion_to_capacity() {
    assert_eq!(shared(6, &[1.0, 2.0, 3.0]), [1, 2, 3]);
    assert_eq!(shared(9, &[6.0, 3.0]), [6, 3]);
    assert_eq!(shared(5, &[1.5, 1.0]), [3, 2]);
    // 1.25, 1.25 and 2.5: each rounded down or up.
    assert_eq!(shared(5, &[1.0, 1.0, 2.0]).iter().sum::<usize>(), 5);
    assert!(shared(5, &[1.0, 1.0, 2.0])[2] >= 2);
}

#[test]
fn what_rounding_leaves_open_is_even_over_all_sets() {
    let mut builder = Problem::builder();
    for partitions in 1..=9 {
        builder.topic(format!("t{partitions}"), partitions);
    }
    for number in 0..10 {
        builder.member(member(&format!("m{number}")));
    }
    let problem = builder.build().unwrap();
    let owner = CopartitionedSticky.assign(&problem).owner;
    let loads =
        problem.member_indices().map(|member| owner.iter().filter(|owner| **owner == Some(member)).count());
    assert!(loads.into_iter().all(|load| (4..=5).contains(&load)));
}

#[test]
fn standbys_are_in_other_racks() {
    for standbys in [1, 2] {
        let mut builder = Problem::builder();
        let topic = builder.topic("t", 90);
        builder.want_standbys(topic, standbys);
        for number in 0..9 {
            let rack = Some(builder.rack(&format!("rack-{}", number / 3).into()));
            builder.member(MemberSpec { rack, ..member(&format!("m{number}")) });
        }
        let problem = builder.build().unwrap();
        let placement = CopartitionedSticky.assign(&problem);
        for unit in problem.unit_indices() {
            let members =
                placement.owner[unit.index()].into_iter().chain(placement.standbys.of(unit).iter().copied());
            let mut racks: Vec<_> = members.map(|member| problem.member(member).rack).collect();
            racks.sort_unstable();
            racks.dedup();
            assert_eq!(racks.len(), 1 + standbys as usize);
        }
    }
}
