//! The start of a partition of which the service told an offset, and the group has committed one.

use kafka_assigner_types::id::Offset;
use kafka_assigner_types::topic_id::TopicId;

/// An offset that the group has committed for a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The first record that is not processed.
    pub offset: Offset,
    /// The id of the topic in which it was committed, as far as its metadata says so; `None` = it does not.
    pub topic_id: Option<TopicId>,
}

impl CommittedOffset {
    /// The start in the topic `topic_id`, where the service told `told`; `None` = neither says one.
    ///
    /// An offset of another topic of that name counts for nothing, and the start is the beginning where none was told. One
    /// that is known to be of this topic is never gone back behind: the service tells what it has noted, and a store that was
    /// put back has an old note, or takes a partition for a new one that was worked on. One of which nobody knows the topic
    /// counts where no start was told.
    pub(crate) fn start(
        committed: Option<Self>,
        told: Option<Offset>,
        topic_id: Option<TopicId>,
    ) -> Option<Offset> {
        let Some(committed) = committed else { return told };
        match committed.is_of(topic_id) {
            Some(false) => Some(told.unwrap_or(Offset::ZERO)),
            Some(true) => told.max(Some(committed.offset)),
            None => told.or(Some(committed.offset)),
        }
    }

    /// True if it was committed in the topic `topic_id`, false if in another one of that name; `None` = nobody knows.
    pub(crate) fn is_of(&self, topic_id: Option<TopicId>) -> Option<bool> {
        self.topic_id.zip(topic_id).map(|(of, this)| of == this)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(number: i64) -> Option<Offset> {
        Offset::new(number).ok()
    }

    fn started(told: Option<i64>, committed: i64, of: Option<u8>, topic: Option<u8>) -> Option<Offset> {
        let id = |byte: u8| TopicId::new([byte; 16]).expect("not zero");
        let committed =
            CommittedOffset { offset: offset(committed).expect("not negative"), topic_id: of.map(id) };
        CommittedOffset::start(Some(committed), told.and_then(offset), topic.map(id))
    }

    #[test]
    fn an_offset_that_is_committed_in_this_topic_is_not_gone_back_behind() {
        assert_eq!(started(Some(0), 5, Some(8), Some(8)), offset(5), "it is no new partition");
        assert_eq!(started(Some(3), 5, Some(8), Some(8)), offset(5), "what was told is older");
        assert_eq!(started(Some(7), 5, Some(8), Some(8)), offset(7), "the last commit has failed");
        assert_eq!(started(None, 5, Some(8), Some(8)), offset(5));
    }

    #[test]
    fn an_offset_that_is_committed_in_another_topic_counts_for_nothing() {
        assert_eq!(started(Some(0), 5, Some(7), Some(8)), offset(0));
        assert_eq!(started(Some(3), 5, Some(7), Some(8)), offset(3));
        assert_eq!(started(None, 5, Some(7), Some(8)), offset(0));
    }

    #[test]
    fn an_offset_of_an_unknown_topic_counts_where_no_start_was_told() {
        for (of, topic) in [(None, Some(8)), (Some(8), None), (None, None)] {
            assert_eq!(started(Some(0), 5, of, topic), offset(0));
            assert_eq!(started(None, 5, of, topic), offset(5));
        }
    }

    #[test]
    fn a_start_that_was_told_counts_where_nothing_is_committed() {
        assert_eq!(CommittedOffset::start(None, offset(3), None), offset(3));
        assert_eq!(CommittedOffset::start(None, None, None), None);
    }
}
