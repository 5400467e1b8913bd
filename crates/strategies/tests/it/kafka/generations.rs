//! Claims of several generations: the newest counts, whoever makes it and in whatever order.

use super::check::{assert_valid, load, owners, settle};
use super::notation::{gives, group, rounds};
use super::vector::Vector;

const STICKY: [&str; 2] = ["sticky", "coop"];

/// The members in every order of their claims: `claims` go to the three ids in all ways there are.
fn permuted(topics: &str, claims: [&str; 3]) -> impl Iterator<Item = String> {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    orders.into_iter().map(move |order| {
        let members = ["consumer1", "consumer2", "consumer3"].into_iter().zip(order);
        let told: Vec<_> = members.map(|(id, at)| format!("{id}{{{topics}}} own {}", claims[at])).collect();
        told.join(" | ")
    })
}

/// Valid at last; returns the group as it was told and what came out of the last round.
fn settled(assignor: &str, topics: &str, members: &str) -> (Vector, Vec<usize>) {
    let vector = group(assignor, topics, members);
    let (_, outcome, _) = settle_any(&vector);
    assert_valid(&vector, &outcome);
    let loads = vector.members.iter().map(|member| load(&outcome, &member.id)).collect();
    (vector, loads)
}

/// The same as [`settle`] from the second round on: in the first, claims contradict each other.
fn settle_any(vector: &Vector) -> (Vector, super::vector::Outcome, usize) {
    settle(vector.after(&vector.outcome()))
}

#[test]
fn three_generations_of_the_same_partitions_end_without_doubles() {
    let claims = ["t-0,1 u-0 gen 1", "t-0,2,3 gen 2", "t-2,4,5 u-0 gen 3"];
    for assignor in STICKY {
        for members in permuted("t,u", claims) {
            let (_, loads) = settled(assignor, "t=6 u=1", &members);
            assert_eq!(loads.iter().sum::<usize>(), 7);
            assert!(loads.iter().all(|load| [2, 3].contains(load)), "{members}: {loads:?}");
        }
    }
    let claims = ["t-0,1,2 gen 1", "t-0,1,2 gen 2", "t-0 gen 3"];
    for members in permuted("t", claims) {
        let result = gives("sticky", "t=3", &members);
        let newest = members.split(" | ").position(|member| member.ends_with("gen 3")).unwrap();
        assert_eq!(result.split(" | ").nth(newest), Some("t-0"), "{members}: {result}");
    }
}

#[test]
fn each_partition_is_with_its_newest_claim() {
    let all = "{t1,t2,t3}";
    let members = format!(
        "a{all} own t1-0,1,2 gen 3 | b{all} own t1-0,1,2 t2-0,1,2 gen 2 | c{all} own t1-0 t2-0,1,2 t3-0,1,2 gen 1"
    );
    for assignor in STICKY {
        assert_eq!(gives(assignor, "t1=3 t2=3 t3=3", &members), "t1-0,1,2 | t2-0,1,2 | t3-0,1,2");
    }
}

#[test]
fn older_generations_that_contradict_each_other_leave_a_valid_result() {
    let alike = "a{t1,t2,t3} own t1-0,1,2,3 gen 2 | b{t1,t2,t3} own t1-0,1 t2-0,1,2,3 gen 1 \
                 | c{t1,t2,t3} own t2-0 t3-0,1,2,3 gen 2";
    let mixed = "a{t1,t2} own t1-0,1,2,3 gen 2 | b{t1,t2,t3} own t1-0,1 t2-0,1,2,3 gen 1 \
                 | c{t2,t3} own t2-0 t3-0,1,2,3 gen 2";
    let topics = "t1=4 t2=4 t3=4";
    assert_eq!(gives("sticky", topics, alike), "t1-0,1,2,3 | t2-1,2,3 t3-3 | t2-0 t3-0,1,2");
    assert_eq!(gives("sticky", topics, mixed), "t1-0,1,2,3 | t2-1,2,3 t3-0 | t2-0 t3-1,2,3");
    for members in [alike, mixed] {
        assert_eq!(settled("coop", topics, members).1, [4, 4, 4]);
    }
}

#[test]
fn who_missed_generations_keeps_nothing_that_newer_members_have() {
    let members = "a{t} own t-0,1 gen 5 | b{t} own t-2,3 gen 5 | c{t} own t-0,2 gen 1";
    assert_eq!(gives("sticky", "t=4", members), "t-0,1 | t-2 | t-3");
    assert_eq!(rounds(group("coop", "t=4", members), 4), ["t-0,1 | t-2 | -", "t-0,1 | t-2 | t-3"]);
}

#[test]
fn one_old_one_without_and_two_old_members_take_what_the_newest_leave() {
    let one_old = "a{t} own t-0,1,2 gen 3 | b{t} own t-3,4,5 gen 3 | c{t} own t-0,1,2,3 gen 1";
    let without = "a{t} own t-0,1,2 gen 3 | b{t} own t-3,4,5 gen 3 | c{t} own t-0,1,2,3";
    let two_old = "a{t} own t-0,1,2 gen 3 | b{t} own t-0,3,4 gen 1 | c{t} own t-0,1,5 gen 2";
    for members in [one_old, without, two_old] {
        assert_eq!(gives("sticky", "t=6", members), "t-0,1 | t-3,4 | t-2,5");
        let (vector, outcome, _) = settle_any(&group("coop", "t=6", members));
        assert_valid(&vector, &outcome);
        assert_eq!(owners(&outcome).len(), 6);
    }
}

#[test]
fn who_has_too_much_gives_only_that() {
    let members = "a{t} own t-1,2,3 gen 1 | b{t} | c{t} own t-5,6,7,8,9 gen 1 | d{t}";
    let settled = "t-1,2,3 | t-0,8 | t-5,6,7 | t-4,9";
    assert_eq!(gives("sticky", "t=10", members), settled);
    assert_eq!(rounds(group("coop", "t=10", members), 4), ["t-1,2,3 | t-0 | t-5,6,7 | t-4", settled]);
}

#[test]
fn a_partition_below_zero_and_one_beyond_the_topic_are_claimed_by_nobody() {
    for assignor in STICKY {
        assert_eq!(gives(assignor, "t=2", "a{t} own t--1,0 gen 1 | b{t} own t-1,2 gen 1"), "t-0 | t-1");
    }
}
