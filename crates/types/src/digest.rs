//! Digests of what a member was told, by which the service and its clients find out that something got lost.
//!
//! A digest is the sum of the fingerprints of the single items, modulo 2⁶⁴: it does not depend on their order, and one
//! item is added or taken out without a look at the others. An item's fingerprint is the 64-bit FNV-1a hash of its text
//! in UTF-8, mixed by the finaliser of MurmurHash3, since sums of bare FNV hashes of similar texts are often equal. The
//! texts are those that `consumer.proto` and `routing.proto` describe. Nothing here resists an attacker: a client that
//! lies about its digest harms itself.

use std::fmt::{self, Write as _};

use crate::id::{Epoch, HandoffId, TopicPartition};

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// The fingerprint of one role or route that a member was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

/// The sum of fingerprints. The default is that of nothing, 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Digest(pub u64);

impl Digest {
    /// Adds one item.
    pub const fn add(&mut self, item: Fingerprint) {
        self.0 = self.0.wrapping_add(item.0);
    }

    /// Takes out an item that was added.
    pub const fn remove(&mut self, item: Fingerprint) {
        self.0 = self.0.wrapping_sub(item.0);
    }
}

impl FromIterator<Fingerprint> for Digest {
    fn from_iter<I: IntoIterator<Item = Fingerprint>>(items: I) -> Self {
        let mut digest = Self::default();
        items.into_iter().for_each(|item| digest.add(item));
        digest
    }
}

/// The role of a consumer in one partition, as far as another one under another key would be told again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleKey<'a> {
    /// It owns the partition under this epoch.
    Owner(Epoch),
    /// It owns the partition, and ends the record in the works for this handoff.
    Resting(&'a HandoffId),
    /// It prepares for this handoff.
    Warming(&'a HandoffId),
    /// It is about to own it by this handoff.
    CatchingUp(&'a HandoffId),
    /// It stops for this handoff.
    Draining(&'a HandoffId),
    /// It lets go in this handoff.
    Releasing(&'a HandoffId),
}

impl RoleKey<'_> {
    /// The fingerprint of this role in the partition `at`: of `topic`, `partition`, the role's word and its key, with a
    /// line feed between them.
    #[must_use]
    pub fn in_partition(self, at: &TopicPartition) -> Fingerprint {
        match self {
            Self::Owner(epoch) => fingerprint(at, format_args!("owner\n{}", epoch.0)),
            Self::Resting(id) => fingerprint(at, format_args!("resting\n{id}")),
            Self::Warming(id) => fingerprint(at, format_args!("warming\n{id}")),
            Self::CatchingUp(id) => fingerprint(at, format_args!("catching_up\n{id}")),
            Self::Draining(id) => fingerprint(at, format_args!("draining\n{id}")),
            Self::Releasing(id) => fingerprint(at, format_args!("releasing\n{id}")),
        }
    }
}

/// The route of one partition, as routers are told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteKey<'a> {
    /// Requests go to an owner.
    Open {
        /// The owner's epoch.
        epoch: Epoch,
        /// The owner's name.
        owner: &'a str,
        /// The owner's session.
        incarnation: &'a str,
        /// The owner's address for requests; may be empty.
        endpoint: &'a str,
    },
    /// Requests wait for this handoff.
    Stash(&'a HandoffId),
    /// Requests wait for an owner.
    Unowned,
}

impl RouteKey<'_> {
    /// The fingerprint of this route of the partition `at`: of `topic`, `partition`, the route's word and what belongs
    /// to it, with a line feed between them.
    #[must_use]
    pub fn of_partition(self, at: &TopicPartition) -> Fingerprint {
        match self {
            Self::Open { epoch, owner, incarnation, endpoint } => {
                fingerprint(at, format_args!("open\n{}\n{owner}\n{incarnation}\n{endpoint}", epoch.0))
            }
            Self::Stash(id) => fingerprint(at, format_args!("stash\n{id}")),
            Self::Unowned => fingerprint(at, format_args!("unowned")),
        }
    }
}

struct Fnv(u64);

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = text.bytes().fold(self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
        Ok(())
    }
}

fn fingerprint(at: &TopicPartition, rest: fmt::Arguments<'_>) -> Fingerprint {
    let mut hash = Fnv(FNV_OFFSET);
    // Hashing can't fail, and neither does the text of an id.
    let _ = write!(hash, "{}\n{}\n{rest}", at.topic, at.partition);
    Fingerprint(mixed(hash.0))
}

/// MurmurHash3's finaliser of 64 bits.
const fn mixed(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(partition: u32) -> TopicPartition {
        TopicPartition::new("orders".parse().expect("a name"), partition)
    }

    fn owner(partition: u32, epoch: u64) -> Fingerprint {
        RoleKey::Owner(Epoch(epoch)).in_partition(&at(partition))
    }

    // The values that consumer.proto names: another language checks its own code by them.
    #[test]
    fn the_published_values_hold() {
        let warming = RoleKey::Warming(&HandoffId::new("h1")).in_partition(&at(1));
        assert_eq!(owner(0, 7), Fingerprint(OWNER));
        assert_eq!([owner(0, 7), warming].into_iter().collect::<Digest>(), Digest(BOTH));
    }

    const OWNER: u64 = 0xc169_ccac_03e7_0402;
    const BOTH: u64 = 0x4c15_89a5_5504_3e06;

    #[test]
    fn order_does_not_matter_and_what_is_taken_out_leaves_nothing() {
        let mut digest: Digest = [owner(0, 7), owner(1, 8)].into_iter().collect();
        assert_eq!(digest, [owner(1, 8), owner(0, 7)].into_iter().collect());
        digest.remove(owner(0, 7));
        digest.remove(owner(1, 8));
        assert_eq!(digest, Digest::default());
    }

    #[test]
    fn epochs_that_change_places_are_told_apart() {
        for (low, high) in (0..1_000).zip(1..) {
            let one: Digest = [owner(0, low), owner(1, high)].into_iter().collect();
            let other: Digest = [owner(0, high), owner(1, low)].into_iter().collect();
            assert_ne!(one, other, "{low} and {high}");
        }
    }

    #[test]
    fn every_part_of_a_route_counts() {
        let open = |epoch, owner, incarnation, endpoint| {
            RouteKey::Open { epoch: Epoch(epoch), owner, incarnation, endpoint }.of_partition(&at(0))
        };
        let id = HandoffId::new("h");
        let all = [
            open(1, "a", "1", "e"),
            open(2, "a", "1", "e"),
            open(1, "b", "1", "e"),
            open(1, "a", "2", "e"),
            open(1, "a", "1", ""),
            RouteKey::Stash(&id).of_partition(&at(0)),
            RouteKey::Unowned.of_partition(&at(0)),
            RouteKey::Unowned.of_partition(&at(1)),
        ];
        let distinct: std::collections::BTreeSet<u64> = all.iter().map(|item| item.0).collect();
        assert_eq!(distinct.len(), all.len());
    }
}
