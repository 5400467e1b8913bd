//! The histories that consumers write about themselves: lines of JSON.

use kafka_assigner_rig::clock::Moment;
use serde::{Deserialize, Serialize};

use crate::sink::Verdict;

/// One line of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "entry")]
pub(crate) enum Entry {
    /// The partition was granted.
    Granted {
        /// The claim.
        #[serde(flatten)]
        claimed: Claimed,
        /// Kafka's id of the topic, as the grant has it; `None` where it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic_id: Option<String>,
    },
    /// A record was written to the sink, under the claim as it was right before.
    Wrote {
        /// The claim.
        #[serde(flatten)]
        claimed: Claimed,
        /// The generation of the topic; 0 for the one that stays.
        #[serde(default, skip_serializing_if = "is_zero")]
        generation: i32,
        /// The record's offset.
        offset: i64,
        /// The answer of the sink.
        verdict: Verdict,
    },
    /// The stream of a session told something.
    Told {
        /// The session.
        incarnation: String,
        /// The revision of the store up to which it has told everything.
        revision: u64,
        /// The moment in which the client took it in.
        at: Moment,
    },
    /// The process stopped acting for the partition.
    Ended {
        /// The partition.
        partition: i32,
        /// The moment.
        at: Moment,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_zero(generation: &i32) -> bool {
    *generation == 0
}

/// A claim as its holder saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claimed {
    /// The partition.
    pub(crate) partition: i32,
    /// The epoch under which it was held.
    pub(crate) epoch: u64,
    /// The time at which its holder looked.
    pub(crate) at: Moment,
    /// The end of its validity unless it was confirmed, or ended, before; `at` where it was not valid.
    pub(crate) until: Moment,
}

#[cfg(test)]
mod tests {
    use kafka_assigner_rig::journal::{self, Journal};

    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let claimed = Claimed { partition: 1, epoch: 7, at: Moment(10), until: Moment(20) };
        let entries = [
            Entry::Granted { claimed, topic_id: Some("BwcHBwcHBwcHBwcHBwcHBw".to_owned()) },
            Entry::Granted { claimed, topic_id: None },
            Entry::Wrote { claimed, generation: 0, offset: 3, verdict: Verdict::Refused { epoch: 9 } },
            Entry::Wrote { claimed, generation: 2, offset: 3, verdict: Verdict::Applied },
            Entry::Told { incarnation: "x".to_owned(), revision: 8, at: Moment(25) },
            Entry::Ended { partition: 1, at: Moment(30) },
        ];
        let journal = Journal::open(&path).unwrap();
        entries.iter().for_each(|entry| journal.write(entry).unwrap());
        assert_eq!(journal::read::<Entry>(&path).unwrap(), entries);
    }
}
