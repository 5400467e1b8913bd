//! The metadata of a committed offset: who committed it, and of which topic it is.

use std::fmt;

use kafka_assigner_types::id::Epoch;
use kafka_assigner_types::topic_id::TopicId;

/// The name of the word that says of which topic an offset is.
const TOPIC_ID: &str = "topic_id=";

/// The metadata that the runner commits beside an offset: words, one blank apart, each a name and a value. `epoch=` always
/// comes, `topic_id=` where the id is known. Example: `epoch=4294967301 topic_id=BwcHBwcHBwcHBwcHBwcHBw`.
///
/// Earlier versions wrote the epoch alone; other words, of other tools or of later versions, are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommitNote {
    /// The fencing token of the grant under which it was committed.
    pub(super) epoch: Epoch,
    /// The id of the topic, as it was when the partition was granted.
    pub(super) topic_id: Option<TopicId>,
}

impl fmt::Display for CommitNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch={}", self.epoch)?;
        match self.topic_id {
            Some(id) => write!(f, " {TOPIC_ID}{id}"),
            None => Ok(()),
        }
    }
}

/// The id of the topic of which a committed offset is; `None` = its metadata does not say.
pub(super) fn topic_id_in(metadata: &str) -> Option<TopicId> {
    metadata.split_ascii_whitespace().find_map(|word| word.strip_prefix(TOPIC_ID)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_its_epoch_and_its_topic_where_that_is_known() {
        let id = TopicId::new([7; 16]);
        let note = CommitNote { epoch: Epoch(5), topic_id: id };
        assert_eq!(note.to_string(), "epoch=5 topic_id=BwcHBwcHBwcHBwcHBwcHBw");
        assert_eq!(topic_id_in(&note.to_string()), id);
        assert_eq!(CommitNote { topic_id: None, ..note }.to_string(), "epoch=5");
    }

    #[test]
    fn what_other_versions_and_tools_commit_names_no_topic_or_its_own() {
        for unknown in
            ["", "epoch=5", "topic_id=", "topic_id=7", "a topic_id", "old_topic_id=BwcHBwcHBwcHBwcHBwcHBw"]
        {
            assert_eq!(topic_id_in(unknown), None, "{unknown:?}");
        }
        let later = "epoch=5 run=4 topic_id=BwcHBwcHBwcHBwcHBwcHBw begin=2";
        assert_eq!(topic_id_in(later), TopicId::new([7; 16]));
    }
}
