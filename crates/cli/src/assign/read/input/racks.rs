//! The racks of a partition's replicas.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// The racks of a partition's replicas: a string with a letter for each, a list of names, or `null`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::assign) struct PartitionRacks(pub(in crate::assign) Vec<String>);

impl<'de> Deserialize<'de> for PartitionRacks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RacksVisitor)
    }
}

struct RacksVisitor;

impl<'de> Visitor<'de> for RacksVisitor {
    type Value = PartitionRacks;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string with a letter for each replica's rack, a list of racks, or null")
    }

    fn visit_unit<E: Error>(self) -> Result<PartitionRacks, E> {
        Ok(PartitionRacks::default())
    }

    fn visit_str<E: Error>(self, letters: &str) -> Result<PartitionRacks, E> {
        Ok(PartitionRacks(letters.chars().map(String::from).collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<PartitionRacks, A::Error> {
        let mut racks = Vec::new();
        while let Some(name) = names.next_element()? {
            racks.push(name);
        }
        Ok(PartitionRacks(racks))
    }
}
