//! The partition of a key, as Kafka's producers compute it.

use std::num::NonZeroU32;

/// The hash by which a producer chooses the partition of a key. Requests and records of a key meet in one partition only
/// where both sides use the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyHash {
    /// The hash of Kafka's Java client by default, and of librdkafka with `partitioner=murmur2` or `murmur2_random`.
    Murmur2,
    /// CRC-32, the hash of librdkafka by default (`partitioner=consistent_random`), and so of what is built on it: rdkafka in
    /// Rust, `confluent-kafka` in Python, Go and .NET. Those give a record with an *empty* key to any partition.
    Crc32,
}

impl KeyHash {
    /// The partition, of `partitions` many, for a key.
    #[must_use]
    pub fn partition(self, key: &[u8], partitions: NonZeroU32) -> u32 {
        match self {
            // Java's number has a sign, which it takes off.
            Self::Murmur2 => (murmur2(key) & 0x7fff_ffff) % partitions,
            Self::Crc32 => crc32(key) % partitions,
        }
    }
}

/// CRC-32 as in IEEE 802.3, which librdkafka calls `rd_crc32`. Keys are short, so no table is kept for it.
fn crc32(data: &[u8]) -> u32 {
    const REVERSED: u32 = 0xedb8_8320;
    let with_bit = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ REVERSED } else { crc >> 1 };
    !data.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), with_bit))
}

/// `MurmurHash2` with 32 bits and Kafka's seed (`org.apache.kafka.common.utils.Utils.murmur2`).
fn murmur2(data: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    // Kafka takes the length as a 32-bit number too.
    let mut hash = SEED ^ u32::try_from(data.len()).unwrap_or(u32::MAX);
    let mut words = data.chunks_exact(4);
    for word in words.by_ref() {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ (word ^ (word >> 24)).wrapping_mul(M);
    }
    let rest = words.remainder();
    for (place, byte) in rest.iter().enumerate() {
        hash ^= u32::from(*byte) << (8 * place);
    }
    if !rest.is_empty() {
        hash = hash.wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The values that Kafka's own tests pin.
    #[test]
    fn the_hash_is_kafkas() {
        for (data, hash) in [
            ("21", -973_932_308_i32),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(data.as_bytes()), u32::from_ne_bytes(hash.to_ne_bytes()), "{data}");
        }
    }

    // The check value of the standard, and two that librdkafka's own tests of its partitioners pin.
    #[test]
    fn the_checksum_is_that_of_librdkafka() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        let seventeen = NonZeroU32::new(17).expect("not 0");
        assert_eq!(KeyHash::Crc32.partition(b"23456", seventeen), 0xb1b4_51d7 % 17);
        assert_eq!(
            KeyHash::Crc32.partition(b"this is another string with more length to it perhaps", seventeen),
            0xb015_0df7 % 17
        );
    }

    #[test]
    fn a_partition_is_in_range() {
        let seven = NonZeroU32::new(7).expect("not 0");
        for key in ["", "a", "foobar", "21"] {
            for hash in [KeyHash::Murmur2, KeyHash::Crc32] {
                assert!((0..7).contains(&hash.partition(key.as_bytes(), seven)), "{key}");
            }
        }
    }
}
