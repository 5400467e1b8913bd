//! The number of wanted standbys.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// A number for all topics, or one for each topic that is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::assign) enum StandbyCounts {
    /// Every topic has this many.
    All(u32),
    /// These topics have as many, the others none.
    Of(Vec<(String, u32)>),
}

impl Default for StandbyCounts {
    fn default() -> Self {
        Self::All(0)
    }
}

impl<'de> Deserialize<'de> for StandbyCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StandbyCountsVisitor)
    }
}

struct StandbyCountsVisitor;

impl<'de> Visitor<'de> for StandbyCountsVisitor {
    type Value = StandbyCounts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number up to 4294967295, or an object with one for each topic")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<StandbyCounts, E> {
        let wrong = || E::invalid_value(serde::de::Unexpected::Unsigned(number), &self);
        u32::try_from(number).map(StandbyCounts::All).map_err(|_| wrong())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StandbyCounts, A::Error> {
        let mut counts = Vec::new();
        while let Some(count) = map.next_entry()? {
            counts.push(count);
        }
        Ok(StandbyCounts::Of(counts))
    }
}
