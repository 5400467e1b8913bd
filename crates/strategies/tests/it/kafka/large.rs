//! Groups of the shapes that once took Kafka minutes, or for ever. Each is one call that must come
//! to an end with a valid result; how long it takes, the benchmarks tell.

use super::check::{assert_sticky, assert_valid, changed, fewest_moves};
use super::vector::{Member, Outcome, Topic, Vector};

fn topic(at: usize) -> String {
    format!("t{at:03}")
}

/// `topics` of `partitions` each; member `at` of `members` subscribes to what `wants` says.
fn group(topics: usize, partitions: u32, members: usize, wants: impl Fn(usize, usize) -> bool) -> Vector {
    let member = |at: usize| Member {
        id: format!("m{at:04}"),
        topics: (0..topics).filter(|topic| wants(at, *topic)).map(topic).collect(),
        ..Member::default()
    };
    Vector {
        n: 0,
        assignor: "sticky".to_owned(),
        topics: (0..topics).map(|at| Topic(topic(at), partitions, Vec::new())).collect(),
        members: (0..members).map(member).collect(),
        expect: Outcome::new(),
    }
}

/// A first placement, and one after the members with these numbers have left; then nothing moves.
fn place_and_leave(vector: &Vector, leaving: impl Fn(usize) -> bool) {
    let first = vector.outcome();
    assert_valid(vector, &first);
    let mut left = vector.after(&first);
    let mut at = 0..;
    left.members.retain(|_| !leaving(at.next().unwrap()));
    let second = left.outcome();
    assert_valid(&left, &second);
    assert_sticky(&left, &second);
    if !vector.is_mixed() {
        assert_eq!(changed(&left, &second), fewest_moves(&left));
    }
    let settled = left.after(&second);
    assert_eq!(changed(&settled, &settled.outcome()), 0);
}

#[test]
fn one_of_many_that_subscribe_alike_leaves() {
    place_and_leave(&group(50, 200, 200, |_, _| true), |at| at == 7);
}

#[test]
fn racks_of_many_that_subscribe_alike_make_no_difference_to_the_balance() {
    let mut vector = group(10, 200, 99, |_, _| true);
    for (member, rack) in vector.members.iter_mut().zip(["a", "b", "c"].iter().cycle()) {
        member.rack = Some((*rack).to_owned());
    }
    for topic in &mut vector.topics {
        topic.2 = (0..topic.1 as usize).map(|at| ["ab", "bc", "ca"][at % 3].to_owned()).collect();
    }
    let first = vector.outcome();
    assert_valid(&vector, &first);
    let mut left = vector.after(&first);
    left.members.remove(7);
    assert_valid(&left, &left.outcome());
}

#[test]
fn more_members_than_a_topic_has_partitions() {
    place_and_leave(&group(2, 500, 600, |_, _| true), |at| at % 3 == 0);
}

#[test]
fn one_of_many_subscribes_to_less() {
    place_and_leave(&group(50, 200, 200, |member, topic| member < 199 || topic == 0), |at| at == 7);
}

#[test]
fn kafka_15106_halves_that_overlap_come_to_an_end() {
    let halves = |member: usize, topic: usize| match member % 4 {
        0 | 1 => topic % 2 == member % 4,
        2 => topic < 50,
        _ => topic >= 50,
    };
    place_and_leave(&group(100, 200, 500, halves), |at| at == 7);
}

#[test]
fn many_with_few_topics_each_leave_at_once() {
    let some = |member: usize, topic: usize| (member * 31 + topic * 17) % 7 < 2 || topic == member % 40;
    let mut vector = group(40, 0, 200, some);
    for (at, topic) in vector.topics.iter_mut().enumerate() {
        topic.1 = 1 + u32::try_from(at * 7 % 10).unwrap();
    }
    place_and_leave(&vector, |at| at % 4 == 1);
}

#[test]
fn disjoint_buckets_are_shared_out_each_for_itself() {
    place_and_leave(&group(100, 50, 500, |member, topic| member / 100 == topic / 20), |at| at == 7);
}

#[test]
fn librdkafka_4629_as_many_members_as_partitions() {
    let vector = group(1, 1_000, 1_000, |_, _| true);
    place_and_leave(&Vector { assignor: "coop".to_owned(), ..vector }, |_| false);
}
