//! Traits of Java that Kafka's results inherit: the order of strings, and the order in which maps iterate.

use std::cmp::Ordering;

/// Compares as Java's `String.compareTo` does: by UTF-16 units, in which everything beyond the
/// basic plane (whose units start at D800) comes before U+E000.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    a.bytes().map(weight).cmp(b.bytes().map(weight))
}

/// Puts the first bytes of U+E000 to U+FFFF, EE and EF, behind those of what comes after them.
fn weight(byte: u8) -> u8 {
    match byte {
        0xEE | 0xEF => byte + 0x10,
        _ => byte,
    }
}

/// Java's `String.hashCode`.
pub(super) fn hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The hash of a topic's partition, from the hash of the topic.
pub(super) fn partition_hash(topic: i32, partition: u32) -> i32 {
    let partition = i32::try_from(partition).expect("Kafka counts partitions in i32");
    31_i32.wrapping_mul(partition.wrapping_add(31)).wrapping_add(topic)
}

/// The number of buckets of a map that nothing was put into yet.
pub(super) const FIRST_CAPACITY: u32 = 16;

/// The bucket of a key among `capacity`, a power of two. A map iterates bucket by bucket, and
/// within one in the order in which keys came.
pub(super) fn bucket(hash: i32, capacity: u32) -> u32 {
    let hash = hash.cast_unsigned();
    (hash ^ (hash >> 16)) & (capacity - 1)
}

/// True if a map of `capacity` buckets doubles as it comes to have `size` keys.
pub(super) fn outgrows(size: usize, capacity: u32) -> bool {
    size > capacity as usize / 4 * 3
}

/// The positions of keys, put into a map one after the other, in the order in which it iterates.
pub(super) fn map_order(hashes: impl Iterator<Item = i32>) -> Vec<usize> {
    let hashes: Vec<i32> = hashes.collect();
    let mut capacity = FIRST_CAPACITY;
    while outgrows(hashes.len(), capacity) {
        capacity *= 2;
    }
    let mut order: Vec<usize> = (0..hashes.len()).collect();
    order.sort_by_key(|at| bucket(hashes[*at], capacity));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_compare_by_utf16_units() {
        let names = ["a", "ab", "b", "é", "\u{D7FF}", "\u{10000}", "\u{10FFFF}", "\u{E000}", "\u{FB00}"];
        for (at, name) in names.iter().enumerate() {
            for (other_at, other) in names.iter().enumerate() {
                assert_eq!(compare(name, other), at.cmp(&other_at), "{name:?} {other:?}");
                assert_eq!(compare(name, other), name.encode_utf16().cmp(other.encode_utf16()));
            }
        }
    }

    #[test]
    fn hashes_are_those_of_java() {
        assert_eq!(hash(""), 0);
        assert_eq!(hash("consumer1"), -421_004_549);
        assert_eq!(hash("\u{10000}"), 0xD800 * 31 + 0xDC00);
        assert_eq!(partition_hash(hash("t"), 3), 31 * 34 + 116);
    }

    #[test]
    fn maps_iterate_as_in_java() {
        let order = |ids: &[&str]| map_order(ids.iter().map(|id| hash(id)));
        assert_eq!(order(&["consumer1", "consumer2", "consumer3", "consumer4"]), [3, 2, 1, 0]);
        assert_eq!(order(&["c1", "c0"]), [1, 0]);
    }

    #[test]
    fn a_map_of_thirteen_has_doubled() {
        let apart = |size: usize| {
            let mut hashes = vec![16, 0];
            hashes.extend((2..size).map(|_| 1));
            map_order(hashes.into_iter())[0]
        };
        assert_eq!((apart(12), apart(13)), (0, 1));
    }
}
