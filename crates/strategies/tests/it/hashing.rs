//! `jump-hash` moves what the hash says and no more.

use kafka_assigner_strategies::{JumpHash, MemberSpec, Problem, Strategy};
use proptest::prelude::*;

/// One topic and the members `m0000`, `m0001` and so on.
fn problem(topic: &str, partitions: u32, members: usize) -> Problem {
    let mut builder = Problem::builder();
    builder.topic(topic, partitions);
    for member in 0..members {
        builder.member(MemberSpec::new(format!("m{member:04}")));
    }
    builder.build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_member_added_at_the_end_is_the_only_one_that_units_move_to(
        topic in "[a-z]{1,12}",
        members in 1..40_usize,
    ) {
        let before = JumpHash.assign(&problem(&topic, 1_000, members)).owner;
        let joined = problem(&topic, 1_000, members + 1);
        let after = JumpHash.assign(&joined).owner;
        let newest = joined.member_indices().next_back();
        prop_assert!(before.iter().zip(&after).all(|(old, new)| new == old || *new == newest));
    }

    #[test]
    fn what_moves_to_a_new_member_is_about_its_share(topic in "[a-z]{1,12}", members in 1..20_usize) {
        let before = JumpHash.assign(&problem(&topic, 4_000, members)).owner;
        let after = JumpHash.assign(&problem(&topic, 4_000, members + 1)).owner;
        let moved = before.iter().zip(&after).filter(|(old, new)| old != new).count();
        // Half more or less than its share is seven standard deviations away at twenty members.
        let share = 4_000 / (members + 1);
        prop_assert!((share / 2..=share + share / 2).contains(&moved), "{} for a share of {}", moved, share);
    }
}
