//! The fast rules give what the plain ones give, and what must hold of any.

use std::collections::BTreeMap;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::random::{ASSIGNORS, any_group, plain_group};
use super::vector::{Member, Outcome, Topic, Vector};
use super::{golden, plain};

/// The owners of each partition.
fn owners(outcome: &Outcome) -> BTreeMap<(String, i32), Vec<&str>> {
    let mut owners: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (id, lists) in outcome {
        for (topic, partition) in lists.iter().flat_map(|(topic, list)| list.iter().map(move |p| (topic, p)))
        {
            owners.entry((topic.clone(), *partition)).or_default().push(id.as_str());
        }
    }
    owners
}

fn loads(outcome: &Outcome) -> Vec<usize> {
    outcome.values().map(|lists| lists.iter().map(|(_, list)| list.len()).sum()).collect()
}

#[test]
fn the_plain_rules_are_kafkas() {
    for vector in golden::vectors() {
        assert_eq!(plain::outcome(&vector), vector.expect, "vector {} of {}", vector.n, vector.assignor);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn the_fast_rules_are_the_plain_ones(vector in any_group()) {
        prop_assert_eq!(vector.outcome(), plain::outcome(&vector));
    }

    #[test]
    fn each_partition_with_a_subscriber_has_one_owner_who_is_one(vector in any_group()) {
        let outcome = vector.outcome();
        let owners = owners(&outcome);
        for topic in &vector.topics {
            let subscribers: Vec<_> = vector.members.iter().filter(|m| m.topics.contains(&topic.0)).collect();
            for partition in 0..topic.1.cast_signed() {
                let owner = owners.get(&(topic.0.clone(), partition)).map_or(&[][..], Vec::as_slice);
                let may_wait = vector.assignor == "coop" || subscribers.is_empty();
                prop_assert!(owner.len() == 1 || (owner.is_empty() && may_wait), "{} {partition}", topic.0);
                prop_assert!(owner.iter().all(|id| subscribers.iter().any(|member| member.id == *id)));
            }
        }
        prop_assert!(owners.keys().all(|(name, p)| vector.topics.iter().any(|t| t.0 == *name && *p < t.1.cast_signed())));
        prop_assert!(vector.members.iter().all(|member| outcome.contains_key(&member.id)));
    }

    #[test]
    fn what_is_withheld_is_not_given_and_comes_next(vector in any_group()) {
        let mut vector = Vector { assignor: "coop".to_owned(), ..vector };
        let group = vector.group();
        let assignment = vector.assign(&group);
        prop_assert!(assignment.withheld().iter().all(|(unit, _)| assignment.owners(&group)[unit.index()].is_none()));
        let withheld = assignment.withheld().len();
        vector.topics.iter_mut().for_each(|topic| topic.2.clear());
        vector = vector.after(&vector.outcome());
        let next = vector.group();
        prop_assert!(withheld == 0 || vector.is_mixed() || vector.assign(&next).withheld().is_empty());
    }

    #[test]
    fn equal_subscriptions_come_out_within_one(vector in any_group()) {
        let vector = Vector { assignor: "sticky".to_owned(), ..vector };
        let loads = loads(&vector.outcome());
        prop_assert!(vector.is_mixed() || loads.iter().max().unwrap() - loads.iter().min().unwrap() <= 1);
    }

    #[test]
    fn a_sticky_result_without_racks_is_left_alone(vector in plain_group("sticky")) {
        let first = vector.outcome();
        let second = vector.after(&first).outcome();
        prop_assert_eq!(owners(&second), owners(&first));
    }

    #[test]
    fn the_order_of_the_groups_list_matters_to_no_set(vector in plain_group("sticky"), turn in 0..16_usize) {
        for assignor in ASSIGNORS {
            let vector = Vector { assignor: assignor.to_owned(), ..vector.clone() };
            let mut turned = vector.clone();
            let turn = turn % turned.members.len();
            turned.members.rotate_left(turn);
            turned.topics.reverse();
            let (here, there) = (vector.outcome(), turned.outcome());
            prop_assert_eq!(owners(&here), owners(&there), "{}", assignor);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// With as many partitions each member has the one of its place.
    #[test]
    fn a_hundred_members_come_in_their_order_however_they_are_listed(
        ids in btree_set("[a-z\u{e9}\u{fb00}\u{10000}]{3,8}", 100),
        statics in vec(any::<bool>(), 100),
        turn in 0..100_usize,
    ) {
        let member = |(id, is_static): (String, bool)| Member {
            instance: is_static.then(|| id.chars().rev().collect::<String>() + &id),
            id,
            topics: vec!["t".to_owned()],
            ..Member::default()
        };
        let mut members: Vec<_> = ids.into_iter().zip(statics).map(member).collect();
        members.rotate_left(turn);
        let topics = vec![Topic("t".to_owned(), 100, Vec::new())];
        let vector = Vector { n: 0, assignor: "range".to_owned(), topics, members, expect: Outcome::new() };
        let key = |member: &Member| {
            let utf16 = |text: &str| text.encode_utf16().collect::<Vec<_>>();
            (member.instance.is_none(), utf16(member.instance.as_ref().unwrap_or(&member.id)))
        };
        let mut ordered = vector.members.clone();
        ordered.sort_by_key(key);
        for assignor in ["range", "rr"] {
            let outcome = Vector { assignor: assignor.to_owned(), ..vector.clone() }.outcome();
            for (place, member) in (0..).zip(&ordered) {
                prop_assert_eq!(&outcome[&member.id], &[("t".to_owned(), vec![place])]);
            }
        }
    }
}
