//! The standby copies of a member.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// A partition of whose state a member holds a copy: its number, or `[number, lag]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::assign) struct StandbyPartition {
    /// Its number. It may be one that does not exist.
    pub(in crate::assign) partition: i64,
    /// By how many records the copy is behind its owner.
    pub(in crate::assign) lag: u64,
}

impl<'de> Deserialize<'de> for StandbyPartition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StandbyVisitor)
    }
}

struct StandbyVisitor;

impl<'de> Visitor<'de> for StandbyVisitor {
    type Value = StandbyPartition;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a partition, or [partition, lag]")
    }

    fn visit_i64<E: Error>(self, partition: i64) -> Result<StandbyPartition, E> {
        Ok(StandbyPartition { partition, lag: 0 })
    }

    fn visit_u64<E: Error>(self, partition: u64) -> Result<StandbyPartition, E> {
        self.visit_i64(i64::try_from(partition).unwrap_or(i64::MAX))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<StandbyPartition, A::Error> {
        let partition = pair.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let lag = pair.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
        Ok(StandbyPartition { partition, lag })
    }
}
