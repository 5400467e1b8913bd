//! The place where processing starts.

use std::collections::BTreeMap;

use kafka_assigner_types::id::Offset;
use kafka_assigner_types::name::TopicName;

/// The place where processing starts in a partition of which the group has committed nothing. Records before it are read
/// into the state only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartPosition {
    /// At the first record. The default: nothing is left out.
    #[default]
    Earliest,
    /// Behind the last record.
    Latest,
    /// At the first record that is as new as this, in milliseconds since 1970; behind the last one where there is none.
    Timestamp(i64),
    /// At this offset; behind the last record where that comes first.
    At(Offset),
    /// Nowhere: the partition does not begin until somebody has committed an offset.
    Refuse,
}

/// The start positions of topics.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartPositions {
    of_others: StartPosition,
    of_topics: BTreeMap<TopicName, StartPosition>,
    starts_anew: bool,
}

impl StartPositions {
    /// The same for every topic.
    #[must_use]
    pub const fn all(position: StartPosition) -> Self {
        Self { of_others: position, of_topics: BTreeMap::new(), starts_anew: false }
    }

    /// With another one for `topic`.
    #[must_use]
    pub fn with(mut self, topic: TopicName, position: StartPosition) -> Self {
        self.of_topics.insert(topic, position);
        self
    }

    /// The same, and they count too where an offset was committed before and is gone: Kafka has dropped it, or somebody has
    /// deleted it. Without this call such a partition does not begin until somebody has committed an offset. For groups whose
    /// offsets are deleted on purpose, and for a consumer that goes on under another Kafka group.
    #[must_use]
    pub fn starting_anew(self) -> Self {
        Self { starts_anew: true, ..self }
    }

    /// True if a partition whose committed offset is gone starts as one that was never begun.
    #[must_use]
    pub const fn starts_anew(&self) -> bool {
        self.starts_anew
    }

    /// The start position of `topic`.
    #[must_use]
    pub fn of(&self, topic: &TopicName) -> StartPosition {
        self.of_topics.get(topic).copied().unwrap_or(self.of_others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_that_is_not_named_starts_as_all_others_do() {
        let [a, b] = ["a", "b"].map(|name| TopicName::new(name).unwrap());
        let positions = StartPositions::all(StartPosition::Latest).with(a.clone(), StartPosition::Refuse);
        assert_eq!((positions.of(&a), positions.of(&b)), (StartPosition::Refuse, StartPosition::Latest));
        assert_eq!(StartPositions::default().of(&b), StartPosition::Earliest);
    }
}
