//! Kafka's tests of members and replicas in racks. Each result comes with how many
//! partitions it leaves far from their owners.

use super::notation::{gives, group, rounds, told, with_replicas};
use super::vector::{Outcome, Vector};

/// The number of partitions that have no replica in the rack of their owner.
fn far(vector: &Vector, outcome: &Outcome) -> usize {
    let racks = |topic: &str, partition: &i32| {
        let topic = vector.topics.iter().find(|known| known.0 == topic).unwrap();
        topic.2[usize::try_from(*partition).unwrap()].clone()
    };
    let of_member = |member: &super::vector::Member| {
        let rack = member.rack.clone().unwrap();
        let lists = outcome[&member.id].iter();
        let owned = lists.flat_map(|(topic, list)| list.iter().map(move |partition| racks(topic, partition)));
        owned.filter(|racks| !racks.contains(&rack)).count()
    };
    vector.members.iter().map(of_member).sum()
}

/// The assignment that `assignor` gives with `factor` replicas over `racks` racks, and how much of it is far.
fn near(assignor: &str, topics: &str, members: &str, (factor, racks): (u32, u32)) -> (String, usize) {
    let vector = with_replicas(&group(assignor, topics, members), factor, racks);
    let outcome = vector.outcome();
    (told(&vector, &outcome), far(&vector, &outcome))
}

/// The same as text.
fn with(result: &str, far: usize) -> (String, usize) {
    (result.to_owned(), far)
}

const TOPICS: &str = "t1=6 t2=7 t3=2";
const NEARBY: &str = "c1{t1,t2,t3} rack a | c2{t1,t2,t3} rack b | c3{t1,t2,t3} rack c";
const NEARBY_MIXED: &str = "c1{t1,t2,t3} rack a | c2{t1,t2,t3} rack b | c3{t1,t3} rack c";

#[test]
fn range_gives_what_is_near_if_the_sizes_stay() {
    let plain = "t1-0,1 t2-0,1,2 t3-0 | t1-2,3 t2-3,4 t3-1 | t1-4,5 t2-5,6";
    assert_eq!(gives("range", TOPICS, NEARBY), plain);
    let one = "t1-0,3 t2-0,3,6 | t1-1,4 t2-1,4 t3-0 | t1-2,5 t2-2,5 t3-1";
    assert_eq!(near("range", TOPICS, NEARBY, (1, 3)), with(one, 0));
    let two = "t1-0,2 t2-0,2,3 t3-1 | t1-1,3 t2-1,4 t3-0 | t1-4,5 t2-5,6";
    assert_eq!(near("range", TOPICS, NEARBY, (2, 3)), with(two, 1));
}

#[test]
fn range_by_rack_of_mixed_subscriptions() {
    let plain = "t1-0,1 t2-0,1,2,3 t3-0 | t1-2,3 t2-4,5,6 t3-1 | t1-4,5";
    assert_eq!(gives("range", TOPICS, NEARBY_MIXED), plain);
    let one = "t1-0,3 t2-0,2,3,6 | t1-1,4 t2-1,4,5 t3-0 | t1-2,5 t3-1";
    assert_eq!(near("range", TOPICS, NEARBY_MIXED, (1, 3)), with(one, 2));
    let two = "t1-0,2 t2-0,2,3,5 t3-1 | t1-1,3 t2-1,4,6 t3-0 | t1-4,5";
    assert_eq!(near("range", TOPICS, NEARBY_MIXED, (2, 3)), with(two, 0));
}

#[test]
fn where_every_partition_is_in_every_rack_racks_do_not_count() {
    for assignor in ["range", "sticky", "coop"] {
        for members in [NEARBY, NEARBY_MIXED] {
            let plain = gives(assignor, TOPICS, members);
            for replicas in [(2, 2), (3, 3)] {
                assert_eq!(near(assignor, TOPICS, members, replicas).0, plain);
            }
        }
    }
    // The third member's rack has no replica at all.
    assert_eq!(near("range", TOPICS, NEARBY, (2, 2)).1, 4);
}

#[test]
fn range_keeps_topics_with_equal_counts_together() {
    let together = "t1-0,1 t2-0,1 t3-0,1 | t1-2,3 t2-2,3 t3-2,3 | t1-4 t2-4 t3-4";
    for (replicas, far) in [((1, 3), 10), ((2, 3), 5), ((3, 2), 3)] {
        assert_eq!(near("range", "t1=5 t2=5 t3=5", NEARBY, replicas), with(together, far));
    }
    let pairs = "c0{t1,t2} rack a | c1{t1,t2} rack b | c2{t3,t4} rack b | c3{t3,t4} rack a";
    let nearby = "t1-0,2,4 t2-0,2,4 | t1-1,3,5 t2-1,3,5 | t3-1 t4-1 | t3-0 t4-0";
    assert_eq!(near("range", "t1=6 t2=6 t3=2 t4=2", pairs, (1, 2)), with(nearby, 0));
}

#[test]
fn range_keeps_those_together_that_have_the_same_subscribers_as_well() {
    let topics = "t1=5 t2=5 t3=5";
    let plain = "t1-0,1 t2-0,1,2 t3-0,1 | t1-2,3 t2-3,4 t3-2,3 | t1-4 t3-4";
    assert_eq!(gives("range", topics, NEARBY_MIXED), plain);
    let one = "t1-0,1 t2-0,1,4 t3-0,1 | t1-2,3 t2-2,3 t3-2,3 | t1-4 t3-4";
    assert_eq!(near("range", topics, NEARBY_MIXED, (1, 3)), with(one, 9));
    let two = "t1-2 t2-0,1,3 t3-2 | t1-0,3 t2-2,4 t3-0,3 | t1-1,4 t3-1,4";
    assert_eq!(near("range", topics, NEARBY_MIXED, (2, 3)), with(two, 0));
}

#[test]
fn range_shares_pairs_of_topics_out_among_all() {
    let (topics, all) = ("t1=6 t2=6 t3=2 t4=2", "{t1,t2,t3,t4} rack");
    let members = format!("c0{all} a | c1{all} b | c2{all} b | c3{all} a");
    let two = "t1-0,2 t2-0,2 t3-0 t4-0 | t1-1,3 t2-1,3 t3-1 t4-1 | t1-5 t2-5 | t1-4 t2-4";
    assert_eq!(near("range", topics, &members, (1, 2)), with(two, 0));
    let three = "t1-0,3 t2-0,3 t3-0 t4-0 | t1-1,4 t2-1,4 t3-1 t4-1 | t1-2 t2-2 | t1-5 t2-5";
    assert_eq!(near("range", topics, &members, (1, 3)), with(three, 6));
}

#[test]
fn range_passes_over_topics_that_do_not_exist() {
    let all = "{t1,t2,t3,t4,t5,t6,t7,t8,t9} rack";
    let members = format!("c1{all} a | c2{all} b | c3{all} c");
    let result =
        "t1-0,2 t2-0,2 t3-0 t4-0 t5-1 t6-1 | t1-1,3 t2-1,3 t3-1 t4-1 t5-2 t6-2 | t1-4,5 t2-4,5 t5-0,3 t6-0,3";
    assert_eq!(near("range", "t1=6 t2=6 t3=2 t4=2 t5=4 t6=4", &members, (2, 3)).0, result);
}

/// Both topics go together, so what a member gets depends on where both lie.
#[test]
fn static_members_keep_what_is_near_under_any_id() {
    for ids in [["c9", "c8", "c7"], ["a", "z", "k"]] {
        let [one, two, three] = ids;
        let members = format!(
            "{one}{{t1,t2}} static i1 rack a | {two}{{t1,t2}} static i2 rack b | {three}{{t1,t2}} static i3 rack c"
        );
        let alike = "t1=ab,bc,ca,ab,bc t2=ab,bc,ca,ab,bc";
        assert_eq!(gives("range", alike, &members), "t1-0,2 t2-0,2 | t1-1,3 t2-1,3 | t1-4 t2-4");
        let shifted = "t1-0,3 t2-0,3 | t1-1,4 t2-1,4 | t1-2 t2-2";
        assert_eq!(near("range", "t1=5 t2=5", &members, (2, 3)).0, shifted);
    }
}

#[test]
fn sticky_by_rack() {
    let by_rack = "t1-0,3 t2-0,3,6 | t1-1,4 t2-1,4 t3-0 | t1-2,5 t2-2,5 t3-1";
    for assignor in ["sticky", "coop"] {
        for replicas in [(1, 3), (2, 3)] {
            assert_eq!(near(assignor, TOPICS, NEARBY, replicas), with(by_rack, 0));
        }
        assert_eq!(gives(assignor, TOPICS, NEARBY), by_rack);
        let plain = "t1-5 t2-0,2,4,6 | t1-3 t2-1,3,5 t3-0 | t1-0,1,2,4 t3-1";
        assert_eq!(gives(assignor, TOPICS, NEARBY_MIXED), plain);
        let one = "t1-3 t2-0,2,3,6 | t1-4 t2-1,4,5 t3-0 | t1-0,1,2,5 t3-1";
        assert_eq!(near(assignor, TOPICS, NEARBY_MIXED, (1, 3)), with(one, 4));
        let two = "t1-3 t2-0,2,5,6 | t1-0 t2-1,3,4 t3-0 | t1-1,2,4,5 t3-1";
        assert_eq!(near(assignor, TOPICS, NEARBY_MIXED, (2, 3)), with(two, 0));
    }
}

#[test]
fn what_lies_far_comes_near_in_two_rounds() {
    let members = "c1{t1,t2,t3} own t1-0,1,2,3,4 gen 1 rack a | c2{t1,t2,t3} own t1-5 t2-0,1,2,3 gen 1 rack b \
                   | c3{t1,t2,t3} own t2-4,5,6 t3-0,1 gen 1 rack c";
    let vector = with_replicas(&group("coop", TOPICS, members), 1, 3);
    let seen = rounds(vector, 4);
    assert_eq!(
        seen,
        ["t1-0,3 | t2-1 | t2-5 t3-1", "t1-0,3 t2-0,3,6 | t1-1,4 t2-1,4 t3-0 | t1-2,5 t2-2,5 t3-1"]
    );
}

#[test]
fn two_that_own_what_is_near_the_other_change_places_in_two_rounds() {
    let members = "c0{t} own t-0,1 gen 1 rack a | c1{t} own t-2,3 gen 1 rack b";
    let vector = group("coop", "t=a,b,a,b", members);
    let assignment = vector.assign(&vector.group());
    assert_eq!(assignment.withheld().len(), 2);
    assert_eq!(rounds(vector, 4), ["t-0 | t-3", "t-0,2 | t-1,3"]);
}
