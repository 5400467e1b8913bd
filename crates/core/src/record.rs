//! The stored records: one JSON value per key, each with a version, each keeping the fields it does not know.
//!
//! A record of a newer version, or one that is not what its key promises, is [`Unreadable`]: whoever meets
//! it leaves alone what the record is about, says so, and goes on when it can be read again.

mod assignment;
mod begun;
mod cluster;
mod consumer;
mod failing;
mod group;
mod handoff;
mod intent;
mod leader;
mod router;
mod stop;
mod topic;

use bytes::Bytes;
use kafka_assigner_types::claim::LONGEST_OUTAGE_GRACE;
use kafka_assigner_types::id::Offset;
use kafka_assigner_types::moment::millis;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use assignment::{Assignment, Avoid, Owner};
pub use begun::{BegunReport, CommitReport, UnbegunGrant, UnbegunReason};
pub use cluster::{ClusterRecord, HistoryNote, Tombstone};
pub use consumer::{Capability, Consumer, DeathSign, Progress, Rejoin, Renewal, Standing, Suspicion};
pub use failing::{FailingReport, RecordFailure};
pub use group::{GroupConfig, InvalidConfig, OwnersStopped};
pub use handoff::{Awaited, FinalOffset, Handoff, HandoffRecord, Phase, Reference, Taken};
pub use intent::{Intent, IntentKind};
pub use leader::LeaderRecord;
pub use router::{Router, RouterAck};
pub use stop::{Resumed, Stop};
pub use topic::{MAX_PARTITIONS, MAX_SET, Source, Topic};

/// The version that this code writes, and the newest that it reads.
pub const VERSION: u64 = 1;

/// Fields that a newer writer added; they are written back as they came.
pub type Extra = serde_json::Map<String, serde_json::Value>;

/// The `version` field of every record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            1..=VERSION => Ok(Self),
            other => {
                Err(D::Error::custom(format_args!("version {other}, this program reads 1 to {VERSION}")))
            }
        }
    }
}

/// A stored value that can't be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the stored record can't be read: {0}")]
pub struct Unreadable(pub String);

/// Reads a stored value.
///
/// # Errors
/// [`Unreadable`] for what is not JSON, lacks a field, or has a newer version.
pub fn decode<T: DeserializeOwned>(value: &[u8]) -> Result<T, Unreadable> {
    serde_json::from_slice(value).map_err(|error| Unreadable(error.to_string()))
}

/// Reads an offset; `None` where it is negative, which is no place in a log: older versions recorded whatever a client
/// said.
/// The outage grace of a record that does not tell it: the longest that a client of any version has.
fn longest_outage_grace_ms() -> u64 {
    millis(LONGEST_OUTAGE_GRACE)
}

fn offset_in_log<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Offset>, D::Error> {
    let number = Option::<i64>::deserialize(deserializer)?;
    Ok(number.and_then(|number| Offset::new(number).ok()))
}

/// Writes a value as it is stored.
///
/// # Panics
/// Never for the records of this module: all their keys are text and all their numbers finite.
pub fn encode<T: Serialize>(record: &T) -> Bytes {
    serde_json::to_vec(record).expect("records have text keys and finite numbers only").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_survive_a_rewrite() {
        let stored = br#"{"version":1,"partitions":3,"source":"static","colour":{"a":[1]}}"#;
        let topic: Topic = decode(stored).unwrap();
        let again: serde_json::Value = serde_json::from_slice(&encode(&topic)).unwrap();
        assert_eq!(again["colour"], serde_json::json!({"a": [1]}));
        assert_eq!(again["version"], 1);
    }

    #[test]
    fn a_newer_version_and_other_garbage_are_unreadable() {
        for (stored, part) in [
            (&br#"{"version":2,"partitions":3,"source":"static"}"#[..], "version 2"),
            (br#"{"version":0,"partitions":3,"source":"static"}"#, "version 0"),
            (br#"{"partitions":3,"source":"static"}"#, "version"),
            (b"not json", "expected"),
            (b"", "EOF"),
        ] {
            let error = decode::<Topic>(stored).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
