//! Bytes that were seen on the wire, and bytes that never should be.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|digit| !digit.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&String::from_iter(pair), 16).unwrap()).collect()
}

fn of(topic: &str, partitions: impl Into<Vec<i32>>) -> TopicPartitions<'_> {
    TopicPartitions { topic, partitions: partitions.into() }
}

/// librdkafka 2.16 under `cooperative-sticky`: topics u and t, rack rk1, owning t-0, t-1 and u-3 of
/// generation 3.
const COOPERATIVE: &str = "0003 00000002 0001 74 0001 75
    00000022 00000002 0001 74 00000002 00000000 00000001 0001 75 00000001 00000003 00000003
    00000002 0001 74 00000002 00000000 00000001 0001 75 00000001 00000003
    00000003 0003 726b31";

/// The same client under `range`, owning nothing and without a rack.
const RANGE: &str = "0003 00000002 0001 74 0001 75 00000000 00000000 ffffffff 0000";

#[test]
fn a_cooperative_subscription_of_librdkafka_is_understood_and_written_alike() {
    let bytes = bytes(COOPERATIVE);
    let subscription = ConsumerSubscription::read(&bytes).unwrap();
    let owned = vec![of("t", [0, 1]), of("u", [3])];
    assert_eq!(subscription.topics, ["t", "u"]);
    assert_eq!(subscription.owned, owned);
    assert_eq!((subscription.generation, subscription.rack), (Some(3), Some("rk1")));
    assert_eq!(subscription.cooperative_generation(), Some(3));
    assert_eq!(subscription.sticky_claims(), StickyUserData { partitions: owned, generation: Some(3) });
    assert_eq!(subscription.sticky_claims().write(), subscription.user_data.unwrap());
    assert_eq!(subscription.write(), bytes);
}

#[test]
fn a_range_subscription_of_librdkafka_is_understood_and_written_alike() {
    let bytes = bytes(RANGE);
    let subscription = ConsumerSubscription::read(&bytes).unwrap();
    let expected = ConsumerSubscription {
        version: 3,
        topics: vec!["t", "u"],
        user_data: Some(&[]),
        rack: Some(""),
        ..ConsumerSubscription::default()
    };
    assert_eq!(subscription, expected);
    assert_eq!(subscription.write(), bytes);
}

#[test]
fn sticky_user_data_of_version_0_has_no_generation() {
    let bytes = bytes("00000001 0001 74 00000002 00000000 00000002");
    let data = StickyUserData::read(&bytes);
    assert_eq!(data, StickyUserData { partitions: vec![of("t", [0, 2])], generation: None });
    assert_eq!(data.write(), bytes);
}

#[test]
fn cooperative_user_data_is_a_generation() {
    assert_eq!(generation_user_data(Some(7)), [0, 0, 0, 7]);
    assert_eq!(generation_user_data(None), [0xFF; 4]);
}

#[test]
fn the_generation_is_that_of_the_field_or_else_of_the_user_data() {
    let generation = |field, user_data: &[u8]| {
        let user_data = Some(user_data);
        ConsumerSubscription { generation: field, user_data, ..ConsumerSubscription::default() }
            .cooperative_generation()
    };
    assert_eq!(generation(Some(4), &[0, 0, 0, 7]), Some(4));
    assert_eq!(generation(None, &[0, 0, 0, 7]), Some(7));
    assert_eq!(generation(None, &[0xFF; 4]), None);
    assert_eq!(generation(None, &[0]), None);
}

#[test]
fn sticky_hears_user_data_and_cooperative_sticky_the_fields() {
    let data = StickyUserData { partitions: vec![of("t", [0])], generation: Some(7) }.write();
    let subscription = ConsumerSubscription {
        owned: vec![of("t", [1, 2])],
        generation: Some(4),
        user_data: Some(&data),
        ..ConsumerSubscription::default()
    };
    let claims = StickyUserData { partitions: vec![of("t", [0])], generation: Some(7) };
    assert_eq!(subscription.sticky_claims(), claims);
    assert_eq!((subscription.owned.len(), subscription.cooperative_generation()), (1, Some(4)));
    let silent = ConsumerSubscription { user_data: None, ..subscription };
    assert_eq!(silent.sticky_claims(), StickyUserData::default());
}

#[test]
fn a_subscription_of_version_1_may_end_before_what_it_owns() {
    let bytes = bytes("0001 00000001 0001 74 00000001 2a");
    let subscription = ConsumerSubscription::read(&bytes).unwrap();
    assert_eq!((subscription.topics, subscription.user_data), (vec!["t"], Some(&[0x2a][..])));
    assert!(subscription.owned.is_empty());
}

#[test]
fn a_newer_version_is_read_as_the_newest_known() {
    let mut newer = bytes(COOPERATIVE);
    newer[1] = 9;
    newer.push(0);
    assert_eq!(ConsumerSubscription::read(&newer), ConsumerSubscription::read(&bytes(COOPERATIVE)));
}

#[test]
fn a_negative_version_is_none() {
    assert_eq!(ConsumerSubscription::read(&[0xFF; 20]), Err(Malformed::Version(-1)));
    assert_eq!(ConsumerAssignment::read(&[0xFF; 20]), Err(Malformed::Version(-1)));
}

#[test]
fn equal_contents_are_equal_bytes_in_whatever_order() {
    let subscription = |topics: Vec<&'static str>, owned| ConsumerSubscription {
        version: 1,
        topics,
        owned,
        ..ConsumerSubscription::default()
    };
    let one = subscription(vec!["a", "b"], vec![of("a", [0, 1]), of("b", [2])]);
    let other = subscription(vec!["b", "a"], vec![of("b", [2]), of("a", [1, 0])]);
    assert_eq!(one.write(), other.write());
}

#[test]
fn an_assignment_is_read_as_it_is_written() {
    let partitions = vec![of("t", [0, 1]), of("u", [3])];
    let assignment = ConsumerAssignment { version: 3, partitions, user_data: Some(b"plan") };
    assert_eq!(ConsumerAssignment::read(&assignment.write()).as_ref(), Ok(&assignment));
}

#[test]
fn no_bytes_are_an_assignment_of_nothing_and_one_is_none() {
    assert_eq!(ConsumerAssignment::read(&[]), Ok(ConsumerAssignment::default()));
    assert_eq!(ConsumerAssignment::read(&[0]), Err(Malformed::TooShort));
}

#[test]
fn user_data_that_promises_more_than_it_has_claims_nothing() {
    for hex in ["7fffffff", "00000001 7fff 74", "00000001 0001 74 7fffffff 00000000", "ffffffff", "0000", ""]
    {
        assert_eq!(StickyUserData::read(&bytes(hex)), StickyUserData::default(), "{hex}");
    }
}

#[test]
fn a_name_that_is_no_text_is_refused() {
    let bytes = bytes("0000 00000001 0001 ff 00000000");
    assert_eq!(ConsumerSubscription::read(&bytes), Err(Malformed::Name));
}

/// Bytes that begin like a message, with a few of them changed.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    (0..=89_usize, vec((0..89_usize, any::<u8>()), 0..4)).prop_map(|(length, changes)| {
        let mut damaged = bytes(COOPERATIVE);
        for (at, byte) in changes {
            damaged[at] = byte;
        }
        damaged.truncate(length);
        damaged
    })
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop_oneof![vec(any::<u8>(), 0..64), damaged()]) {
        let subscription = ConsumerSubscription::read(&bytes);
        let _ = ConsumerAssignment::read(&bytes);
        let _ = StickyUserData::read(&bytes).write();
        if let Ok(subscription) = subscription {
            let _ = (subscription.sticky_claims(), subscription.cooperative_generation());
            let written = subscription.write();
            prop_assert!(ConsumerSubscription::read(&written).is_ok());
        }
    }
}
