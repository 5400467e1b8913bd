//! A number that stands for who gets what, the same on Kafka's side (`java/Compare.java`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::output::Shares;

/// Equal where the same members get the same partitions; the order in which they are told does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest(String);

impl Digest {
    pub(crate) fn of(shares: &Shares<'_>) -> Self {
        let mut sum = 0u64;
        for share in shares.iter() {
            let member = fnv(share.member);
            for (topic, partition) in &share.partitions {
                let named = mixed(member.wrapping_add(fnv(topic)));
                sum = sum.wrapping_add(mixed(named.wrapping_add(u64::from(*partition))));
            }
        }
        Self(format!("{sum:016x}"))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// FNV-1a, which both sides have in three lines.
fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn mixed(value: u64) -> u64 {
    let mixed = (value ^ (value >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use kafka_assigner_strategies::MemberIndex;

    use super::*;
    use crate::input::Input;
    use crate::shape::{Shape, Subscriptions};

    fn digest(owners: [usize; 4]) -> Digest {
        let shape =
            Shape { members: 2, partitions: 4, topics: 2, subscriptions: Subscriptions::All, racks: false };
        let input = Input::new(&shape, &[0, 1]);
        let mut shares = Shares::with_sizes(&input, [4, 4]);
        let partitions = input.topics.iter().flat_map(|topic| [(&topic.name, 0), (&topic.name, 1)]);
        for (partition, owner) in partitions.zip(owners) {
            shares.of(MemberIndex::new(owner)).partitions.push(partition);
        }
        Digest::of(&shares)
    }

    #[test]
    fn another_owner_is_another_digest() {
        let digests: Vec<_> = (0..16).map(|bits| digest([0, 1, 2, 3].map(|at| bits >> at & 1))).collect();
        let distinct: std::collections::BTreeSet<_> = digests.iter().map(ToString::to_string).collect();
        assert_eq!(distinct.len(), 16);
    }

    /// Found by `java/Digest.java`, for the same owners.
    #[test]
    fn it_is_the_same_number_as_in_java() {
        assert_eq!(digest([0, 1, 0, 1]).to_string(), "807ab8d0569d0571");
    }
}
