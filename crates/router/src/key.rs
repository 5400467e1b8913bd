//! The partition of a key, as Kafka's Java producer computes it.

use std::num::NonZeroU32;

/// The partition, of `partitions` many, for a key: `toPositive(murmur2(key)) % partitions`.
pub(crate) fn partition(key: &[u8], partitions: NonZeroU32) -> u32 {
    (murmur2(key) & 0x7fff_ffff) % partitions
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

    #[test]
    fn a_partition_is_in_range() {
        let seven = NonZeroU32::new(7).expect("not 0");
        for key in ["", "a", "foobar", "21"] {
            assert!((0..7).contains(&partition(key.as_bytes(), seven)), "{key}");
        }
    }
}
