//! The function as published, and what the strategy adds to it.

use super::*;
use crate::{MemberSpec, MoveReason, ProblemBuilder};

/// Forty partitions and the members `a`, `b` and `c`.
fn problem(tell: impl FnOnce(&mut ProblemBuilder, crate::TopicHandle)) -> Problem {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 40);
    for id in ["a", "b", "c"] {
        builder.member(MemberSpec::new(id));
    }
    tell(&mut builder, topic);
    builder.build().unwrap()
}

#[test]
fn the_function_is_the_published_one() {
    // Vectors that implementations in other languages publish too.
    let cases = [(1, 1, 0), (42, 57, 43), (0xDEAD_10CC, 1, 0), (0xDEAD_10CC, 666, 361), (256, 1024, 520)];
    for (key, buckets, bucket) in cases {
        assert_eq!(jump(key, buckets), bucket, "key {key} among {buckets}");
    }
    assert_eq!(jump(7, 0), 0);
}

#[test]
fn fnv_is_the_published_one() {
    assert_eq!(fnv1a(0xcbf2_9ce4_8422_2325, b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn keys_never_change() {
    let topic = ProblemTopic { name: "clicks".into(), partitions: 2, standbys: 0 };
    let keys = [0, 1].map(|partition| KeyPrefix::of(&topic).key(partition));
    assert_eq!(keys, [7_573_550_066_219_213_088, 16_303_658_809_826_920_354]);
}

#[test]
fn units_spread_over_all_members() {
    let problem = problem(|_, _| {});
    let owner = JumpHash.assign(&problem).owner;
    for member in problem.member_indices() {
        let owned = owner.iter().filter(|owner| **owner == Some(member)).count();
        assert!((6..=21).contains(&owned), "{owned} of 40 units");
    }
}

#[test]
fn a_full_member_turns_away_only_what_it_has_no_room_for() {
    let limited = problem(|builder, _| {
        builder.member(MemberSpec { max_partitions: Some(3), ..MemberSpec::new("d") });
    });
    let unlimited = problem(|builder, _| {
        builder.member(MemberSpec::new("d"));
    });
    let d = limited.member_named("d");
    let (limited, unlimited) = (JumpHash.assign(&limited).owner, JumpHash.assign(&unlimited).owner);
    assert_eq!(limited.iter().filter(|owner| **owner == d).count(), 3);
    let others = unlimited.iter().zip(&limited).filter(|(without, _)| **without != d);
    assert!(others.clone().count() > 20 && others.clone().all(|(without, with)| without == with));
}

#[test]
fn the_reason_of_a_move_is_the_hash() {
    let problem = problem(|builder, topic| {
        let a = builder.member_handle("a").unwrap();
        (0..40).for_each(|partition| builder.current(topic, partition, a));
    });
    let moves = JumpHash.assign(&problem).moves(&problem);
    assert!(!moves.is_empty() && moves.iter().all(|moved| moved.reason == MoveReason::Hash));
}

#[test]
fn what_nobody_can_take_stays_where_it_is() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 2);
    let full = builder.member(MemberSpec { max_partitions: Some(0), ..MemberSpec::new("full") });
    let leaving = builder.member(MemberSpec { state: MemberState::Draining, ..MemberSpec::new("leaving") });
    builder.current(topic, 0, full);
    builder.current(topic, 1, leaving);
    let problem = builder.build().unwrap();
    let placement = JumpHash.assign(&problem);
    assert!(placement.moves(&problem).is_empty() && placement.unassigned.is_empty());
}
