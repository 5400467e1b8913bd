//! The entries of the log: lines of JSON, so that Kafka's own tools show them.

use kafka_assigner_types::id::Epoch;
use serde::{Deserialize, Serialize};

/// One record of the log.
///
/// Of two entries the one with the older epoch counts only where it comes first. So the first entry of a new owner is a
/// fence: what an owner before it still has on its way comes to nothing, for every reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The epoch of the owner that wrote it.
    pub epoch: Epoch,
    /// The content.
    #[serde(flatten)]
    pub what: EntryKind,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "entry")]
pub enum EntryKind {
    /// An owner begins.
    Opened,
    /// Something was added to a counter.
    Added(Addition),
}

/// An addition to a counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addition {
    /// The caller that asked for it.
    pub caller: String,
    /// The number of the request.
    pub number: u64,
    /// The name of the counter.
    pub key: String,
    /// The amount.
    pub amount: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    // The log outlives every version of this program.
    #[test]
    fn the_form_in_the_log_stays() {
        let addition = Addition { caller: "c".to_owned(), number: 3, key: "k".to_owned(), amount: 2 };
        for (entry, line) in [
            (Entry { epoch: Epoch(7), what: EntryKind::Opened }, r#"{"epoch":7,"entry":"opened"}"#),
            (
                Entry { epoch: Epoch(7), what: EntryKind::Added(addition) },
                r#"{"epoch":7,"entry":"added","caller":"c","number":3,"key":"k","amount":2}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&entry).unwrap(), line);
            assert_eq!(serde_json::from_str::<Entry>(line).unwrap(), entry);
        }
    }
}
