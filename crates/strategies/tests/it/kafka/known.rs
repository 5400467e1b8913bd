//! Results that Kafka's own tests, bug reports and the documents of this project know.

use super::notation::{gives, group, rounds};

const STICKY: [&str; 2] = ["sticky", "coop"];

#[test]
fn little_or_nothing_to_share() {
    for assignor in ["range", "rr", "sticky", "coop"] {
        assert_eq!(gives(assignor, "t=3", "a{}"), "-");
        assert_eq!(gives(assignor, "t=3", "a{gone}"), "-");
        assert_eq!(gives(assignor, "t=3 u=2", "a{t}"), "t-0,1,2");
        assert_eq!(gives(assignor, "t=3 u=0", "a{t,u}"), "t-0,1,2");
        assert_eq!(gives(assignor, "t=1 u=2", "a{t,u}"), "t-0 u-0,1");
        assert_eq!(gives(assignor, "t=1", "a{t} | b{t}"), "t-0 | -");
        assert_eq!(gives(assignor, "t=2", "a{t} | b{t}"), "t-0 | t-1");
    }
}

#[test]
fn range_of_mixed_subscriptions() {
    assert_eq!(gives("range", "t1=3 t2=2", "c1{t1} | c2{t1,t2} | c3{t1}"), "t1-0 | t1-1 t2-0,1 | t1-2");
    assert_eq!(gives("range", "t1=3 t2=3", "c1{t1,t2} | c2{t1,t2}"), "t1-0,1 t2-0,1 | t1-2 t2-2");
}

#[test]
fn static_members_come_first_and_by_instance() {
    let members = "c9{t1,t2} static i1 | c8{t1,t2} static i2 | c7{t1,t2} static i3 | a{t1,t2}";
    let renamed = "x1{t1,t2} static i1 | x8{t1,t2} static i2 | x0{t1,t2} static i3 | b{t1,t2}";
    for members in [members, renamed] {
        assert_eq!(gives("range", "t1=5 t2=4", members), "t1-0,1 t2-0 | t1-2 t2-1 | t1-3 t2-2 | t1-4 t2-3");
        assert_eq!(gives("rr", "t1=5 t2=4", members), "t1-0,4 t2-3 | t1-1 t2-0 | t1-2 t2-1 | t1-3 t2-2");
    }
    let three = "c9{t1,t2} static i1 | c8{t1,t2} static i2 | c7{t1,t2} static i3";
    assert_eq!(gives("range", "t1=5 t2=5", three), "t1-0,1 t2-0,1 | t1-2,3 t2-2,3 | t1-4 t2-4");
}

#[test]
fn round_robin_goes_on_from_topic_to_topic() {
    assert_eq!(gives("rr", "t1=3 t2=3", "c1{t1,t2} | c2{t1,t2}"), "t1-0,2 t2-1 | t1-1 t2-0,2");
    assert_eq!(gives("rr", "t1=3 t2=2", "c1{t1} | c2{t1,t2} | c3{t1}"), "t1-0 | t1-1 t2-0,1 | t1-2");
    let statics = "a{t1,t2} static i1 | b{t1,t2} static i2 | c{t1,t2} static i3 | d{t1,t2}";
    assert_eq!(gives("rr", "t1=3 t2=3", statics), "t1-0 t2-1 | t1-1 t2-2 | t1-2 | t2-0");
}

const POOR: &str = "c1{t1,t2,t3,t4,t5} | c2{t1,t3,t5} | c3{t1,t3,t5} | c4{t1,t2,t3,t4,t5}";

#[test]
fn where_round_robin_is_poor_sticky_is_even() {
    let topics = "t1=2 t2=1 t3=2 t4=1 t5=2";
    assert_eq!(gives("rr", topics, POOR), "t1-0 t3-0 t5-0 | t1-1 t3-1 t5-1 | - | t2-0 t4-0");
    for assignor in STICKY {
        assert_eq!(gives(assignor, topics, POOR), "t2-0 t3-0 | t1-0 t3-1 | t1-1 t5-0 | t4-0 t5-1");
    }
}

#[test]
fn sticky_fresh() {
    for assignor in STICKY {
        assert_eq!(gives(assignor, "t1=3 t2=2", "c1{t1} | c2{t1,t2} | c3{t1}"), "t1-0,2 | t2-0,1 | t1-1");
        assert_eq!(gives(assignor, "t1=3 t2=3", "c1{t1,t2} | c2{t1,t2}"), "t1-0,2 t2-1 | t1-1 t2-0,2");
    }
}

#[test]
fn what_is_new_goes_to_who_has_least() {
    let members = "c1{t1,t2} own t1-0 t2-1 gen 1 | c2{t1,t2} own t1-1 t2-2 gen 1";
    let under = "c1{t1,t2} own t1-0 gen 1 | c2{t1,t2} own t1-1 gen 1 | c3{t1,t2}";
    for assignor in STICKY {
        assert_eq!(gives(assignor, "t1=2 t2=3", members), "t1-0 t2-0,1 | t1-1 t2-2");
        assert_eq!(gives(assignor, "t1=2 t2=3", under), "t1-0 t2-1 | t1-1 t2-2 | t2-0");
        let full = "c1{t} own t-0,1 gen 1 | c2{t} own t-2 gen 1 | c3{t}";
        assert_eq!(gives(assignor, "t=4", full), "t-0,1 | t-2 | t-3");
    }
}

#[test]
fn of_two_with_too_much_the_maps_first_keeps_it() {
    let members = "consumer1{t1,t2} own t1-0 t2-0 gen 1 | consumer2{t1,t2} own t1-1 t2-1 gen 1 \
                   | consumer3{t1,t2}";
    let settled = "t1-0 | t1-1 t2-1 | t2-0";
    assert_eq!(gives("sticky", "t1=2 t2=2", members), settled);
    let seen = rounds(group("coop", "t1=2 t2=2", members), 4);
    assert_eq!(seen, ["t1-0 | t1-1 t2-1 | -", settled]);
}

#[test]
fn one_joins_and_one_leaves() {
    let joined = "c1{t} own t-0,1,2 gen 1 | c2{t}";
    assert_eq!(gives("sticky", "t=3", joined), "t-0,1 | t-2");
    assert_eq!(rounds(group("coop", "t=3", joined), 4), ["t-0,1 | -", "t-0,1 | t-2"]);
    for assignor in STICKY {
        assert_eq!(gives(assignor, "t=3", "c2{t} own t-2 gen 2"), "t-0,1,2");
    }
}

#[test]
fn kafka_16277_nobody_keeps_a_whole_topic() {
    let joined = "c1{t1,t2,t3,t4} own t1-0,1 t2-0,1 t3-0,1 t4-0,1 gen 1 | c2{t1,t2,t3,t4}";
    let split = "t1-0 t2-0 t3-0 t4-0 | t1-1 t2-1 t3-1 t4-1";
    assert_eq!(gives("sticky", "t1=2 t2=2 t3=2 t4=2", joined), split);
}

#[test]
fn more_join_and_the_first_leave() {
    let two = "c1{t1,t2} own t1-0,2 t2-1,3 gen 1 | c2{t1,t2} own t1-1 t2-0,2 gen 1";
    let four = format!("{two} | c3{{t1,t2}} | c4{{t1,t2}}");
    assert_eq!(gives("sticky", "t1=3 t2=4", "c1{t1,t2} | c2{t1,t2}"), "t1-0,2 t2-1,3 | t1-1 t2-0,2");
    assert_eq!(gives("sticky", "t1=3 t2=4", &four), "t1-0 t2-1 | t1-1 t2-0 | t1-2 t2-3 | t2-2");
    let left = "c3{t1,t2} own t1-2 t2-3 gen 2 | c4{t1,t2} own t2-2 gen 2";
    assert_eq!(gives("sticky", "t1=3 t2=4", left), "t1-0,2 t2-1,3 | t1-1 t2-0,2");
}

#[test]
fn kafka_7026_who_returns_with_an_old_claim_gets_only_what_is_left() {
    let members = "c1{t} own t-0,3 gen 2 | c2{t} own t-1,4 gen 2 | c3{t} own t-2,5,0,3 gen 1";
    for assignor in STICKY {
        assert_eq!(gives(assignor, "t=6", members), "t-0,3 | t-1,4 | t-2,5");
    }
}

#[test]
fn kafka_12984_what_two_of_one_generation_claim_is_nobodys() {
    let members = "c1{t} own t-0,1 gen 1 | c2{t} own t-0,2 gen 1 | c3{t}";
    assert_eq!(gives("sticky", "t=3", members), "t-1 | t-2 | t-0");
    assert_eq!(rounds(group("coop", "t=3", members), 4), ["t-1 | t-2 | -", "t-1 | t-2 | t-0"]);
    assert_eq!(gives("sticky", "t=4", members), "t-1,3 | t-2 | t-0");
}

#[test]
fn the_newest_generation_wins_each_partition() {
    for older in ["gen 9", "gen 8", ""] {
        let members = format!("c1{{t}} own t-0,1 gen 10 | c2{{t}} own t-0,1 {older}");
        for assignor in STICKY {
            assert_eq!(gives(assignor, "t=4", &members), "t-0,1 | t-2,3");
        }
    }
}

#[test]
fn kafka_14639_what_changes_hands_takes_two_rounds() {
    let members = "c1{t} own t-0,1,2,3 gen 3 | c2{t} own t-0,1 gen 2 | c3{t} own t-2,3 gen 1";
    let seen = rounds(group("coop", "t=4", members), 4);
    assert_eq!(seen.len(), 2);
    assert!(seen[0].ends_with("| - | -"), "{seen:?}");
}

#[test]
fn kafka_7962_a_topic_that_is_gone_is_skipped() {
    for assignor in STICKY {
        assert_eq!(gives(assignor, "t=1", "c1{t,u} own t-0 u-0,1 gen 1"), "t-0");
        assert_eq!(gives(assignor, "", "c1{u} own u-0,1 gen 1"), "-");
    }
}

#[test]
fn librdkafka_4783_small_leftovers_settle() {
    let members = "c1{s} own s-0 gen 1 | c2{s,a} own a-0 gen 1 | c3{s,a} | c4{a} | c5{s}";
    assert!(rounds(group("coop", "s=3 a=2", members), 6).len() <= 3);
}

#[test]
fn mixed_claims_settle_in_two_rounds() {
    let members = "c1{t1,t2,t3} own t1-0,1,2,3,4 gen 1 | c2{t1,t2,t3} own t1-5 t2-0,1,2,3 gen 1 \
                   | c3{t1,t3} own t2-4,5,6 t3-0,1 gen 1";
    let seen = rounds(group("coop", "t1=6 t2=7 t3=2", members), 4);
    assert_eq!(seen, ["t1-2,3,4 | t2-0,1,2,3 | t3-0,1", "t1-2,3,4 t2-4,5 | t2-0,1,2,3,6 | t1-0,1,5 t3-0,1"]);
}

#[test]
fn members_compare_by_utf16() {
    assert_eq!(gives("range", "t=3", "\u{FB00}{t} | \u{10000}{t}"), "t-2 | t-0,1");
}

/// The introduction to rebalancing that this project comes with says that with six partitions and a
/// third member range gives c1 p0,p1 and so on, which is so. That the cooperative rule then takes
/// two from c1 and c2 one after the other is not: both let go in the first round.
#[test]
fn the_introductions_third_member() {
    let joined = "C1{P} own P-0,1,2 gen 1 | C2{P} own P-3,4,5 gen 1 | C3{P}";
    assert_eq!(gives("range", "P=6", joined), "P-0,1 | P-2,3 | P-4,5");
    assert_eq!(gives("sticky", "P=6", joined), "P-0,1 | P-3,4 | P-2,5");
    assert_eq!(rounds(group("coop", "P=6", joined), 4), ["P-0,1 | P-3,4 | -", "P-0,1 | P-3,4 | P-2,5"]);
}

#[test]
fn the_introductions_two_topics() {
    let members = "C1{A,B} | C2{A,B}";
    assert_eq!(gives("range", "A=3 B=3", members), "A-0,1 B-0,1 | A-2 B-2");
    assert_eq!(gives("rr", "A=3 B=3", members), "A-0,2 B-1 | A-1 B-0,2");
}

#[test]
fn round_robin_deals_to_static_members_by_instance() {
    for [one, two, three] in [["c9", "c8", "c7"], ["a", "z", "k"]] {
        let members =
            format!("{one}{{t1,t2}} static i1 | {two}{{t1,t2}} static i2 | {three}{{t1,t2}} static i3");
        assert_eq!(gives("rr", "t1=5 t2=5", &members), "t1-0,3 t2-1,4 | t1-1,4 t2-2 | t1-2 t2-0,3");
        assert_eq!(gives("range", "t1=5 t2=5", &members), "t1-0,1 t2-0,1 | t1-2,3 t2-2,3 | t1-4 t2-4");
    }
}

#[test]
fn ids_sort_as_text_and_instances_overrule_them() {
    assert_eq!(gives("range", "c=5", "c-1{c} | c-10{c} | c-2{c}"), "c-0,1 | c-2,3 | c-4");
    assert_eq!(gives("range", "c=3", "c-2{c} | c-10{c}"), "c-2 | c-0,1");
    let renamed = "c-2{c} static i1 | c-1{c} static i2 | c-10{c}";
    assert_eq!(gives("range", "c=5", renamed), "c-0,1 | c-2,3 | c-4");
}
