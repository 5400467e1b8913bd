//! Faults of Kafka's classes. Each test says what they give, and shows what is right.

use super::notation::{gives, group, rounds};

#[test]
fn d1_a_partition_that_does_not_exist_is_not_claimed() {
    // Kafka: an IllegalStateException, "no more unfilled consumers", for as long as the claim lasts.
    let alike = "c1{t} own t-0,1 gen 1 | c2{t} own t-2,3 gen 1";
    for assignor in ["sticky", "coop"] {
        let result = gives(assignor, "t=2", alike);
        assert!(["t-0 | t-1", "t-1 | t-0", "t-0 | -", "t-1 | -"].contains(&result.as_str()), "{result}");
    }
    assert_eq!(rounds(group("coop", "t=2", alike), 3).last().unwrap(), "t-0 | t-1");

    // Kafka: t-0,1 u-0 | t-2,3.
    let mixed = "c1{t,u} own t-0,1 u-0 gen 1 | c2{t} own t-2,3 gen 1";
    assert_eq!(gives("sticky", "t=2 u=1", mixed), "t-1 u-0 | t-0");
    assert_eq!(gives("sticky", "t=2", "c1{t} own t--1 gen 1 | c2{t}"), "t-0 | t-1");
}

#[test]
fn d2_a_member_without_topics_gets_nothing() {
    // Kafka: a, which comes first in its map, counts as subscribed like the others: t-0,2 | t-1.
    assert_eq!(gives("sticky", "t=3", "a{} | b{t}"), "- | t-0,1,2");
    assert_eq!(gives("coop", "t=3", "a{} | b{t}"), "- | t-0,1,2");
    assert_eq!(gives("sticky", "t=3", "b{} | a{t}"), "- | t-0,1,2");
}

#[test]
fn d2_a_topic_listed_twice_does_not_stand_for_another() {
    // Kafka: the length of a's list is that of b's set, so a keeps u-0, to which it is not subscribed.
    let members = "b{t,u} own t-0 gen 1 | a{t,t} own t-1 u-0 gen 1";
    assert_eq!(gives("sticky", "t=2 u=1", members), "t-0 u-0 | t-1");
}

#[test]
fn d3_a_stale_claim_does_not_hide_that_another_still_owns() {
    // Kafka, first round: t2-0 | t1-0 | t1-3,4,5, so that B has t1-0 while C is told to revoke it.
    let members = "A{t2} own t2-0 gen 5 | B{t1} own t1-0 gen 4 | C{t1} own t1-0,1,2,3,4,5 gen 5";
    let seen = rounds(group("coop", "t1=6 t2=1", members), 4);
    assert_eq!(seen, ["t2-0 | - | t1-3,4,5", "t2-0 | t1-0,1,2 | t1-3,4,5"]);
}

#[test]
fn d3_a_partition_claimed_twice_is_given_to_neither_at_once() {
    // Kafka: u-0 goes to a in the round in which b is told to revoke it.
    let members = "a{t,u} own t-0 u-0 gen 4 | b{t} own t-1 u-0 gen 4";
    assert_eq!(rounds(group("coop", "t=2 u=1", members), 4).first().unwrap(), "t-0 | t-1");
}

#[test]
fn d4_a_previous_owner_that_has_all_it_can_get_is_not_looked_for() {
    // Kafka: a NullPointerException.
    let members = "A{t} own t-0,1,2,3,4,5 gen 5 | B{t} gen 5 | F{f} own t-0 gen 4";
    assert_eq!(gives("sticky", "t=6 f=1", members), "t-3,4,5 | t-0,1,2 | f-0");
}

#[test]
fn d5_a_previous_owner_gets_nothing_back_that_it_no_longer_subscribes_to() {
    // Kafka: t-2,3,4,5 | t-1 u-1,2 | t-0 u-0.
    let members = "A{t} own t-0,1,2,3,4,5 gen 5 | B{t,u} own u-0,1,2 gen 5 | F{u} own t-0 gen 4";
    let result = gives("sticky", "t=6 u=3", members);
    let of_f = result.split(" | ").nth(2).unwrap();
    assert!(of_f.starts_with("u-"), "{result}");
}

#[test]
fn d6_a_member_without_a_generation_is_older_than_any_whoever_comes_first() {
    // Kafka: compares the field of one with the user data of the other, so order decides.
    for members in ["a{t} own t-0,1 | b{t} own t-0,1 gen 1", "b{t} own t-0,1 | a{t} own t-0,1 gen 1"] {
        assert_eq!(gives("sticky", "t=4", members), "t-2,3 | t-0,1");
    }
}

#[test]
fn d7_generations_that_start_again_count_from_there() {
    // Kafka: once an assignor has seen generation 9 every claim of generation 1 is old to it.
    let vector = group("sticky", "t=3 u=1", "a{t,u} own t-0 u-0 gen 9 | b{t} own t-1,2 gen 9");
    let before = vector.outcome();
    let again = group("sticky", "t=3 u=1", "a{t,u} own t-0 u-0 gen 1 | b{t} own t-1,2 gen 1");
    assert_eq!(again.outcome(), before);
}

#[test]
fn d8_racks_may_reshuffle_a_group_that_did_not_change_as_in_kafka() {
    let members = "m0{t1} rack a | m1{t1} own t1-1,2 rack a gen 1 | m2{t0,t1} own t1-0 gen 1 \
                   | m3{t0,t1} own t0-0 rack b gen 1";
    let seen = rounds(group("sticky", "t0=a t1=b,c,b", members), 4);
    let (one, other) = ("t1-0 | t1-2 | t1-1 | t0-0", "t1-0 | t1-1 | t0-0 | t1-2");
    assert!(seen == [one, other, one, other] || seen == [other, one, other, one], "{seen:?}");
}
