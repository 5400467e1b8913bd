//! The topics of a group: the partitions that there are, and the modes of their grants.

use super::{Entry, GroupState, SharedMap};
use crate::record::{Consumer, Topic};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::name::TopicName;
use kafka_assigner_types::topic_id::TopicId;

impl GroupState {
    /// True if the group has the partition: its topic is there and has that many. A topic that can't be read is taken
    /// to have it, so that nothing is forgotten for want of knowledge.
    #[must_use]
    pub fn exists(&self, at: &TopicPartition) -> bool {
        match self.topics.get(&at.topic) {
            None => false,
            Some(Entry::Readable(topic)) => at.partition < topic.partitions,
            Some(Entry::Unreadable(_)) => true,
        }
    }

    /// The revision in which the topic's record came into being, or was seen to mean another topic of that name; `None`
    /// where there is none, or none that can be read.
    #[must_use]
    pub fn topic_since(&self, topic: &TopicName) -> Option<Revision> {
        let record = self.topics.get(topic)?.readable()?;
        Some(record.since.unwrap_or(record.create_revision))
    }

    /// Kafka's id of the topic; `None` where it is not known, or there is no such topic.
    #[must_use]
    pub fn topic_id(&self, topic: &TopicName) -> Option<TopicId> {
        self.topics.get(topic)?.last_good()?.topic_id.as_ref()?.parse().ok()
    }

    /// True if `at` was granted in a strict mode before its topic was gone, and the topic is there again. Such an
    /// assignment stays while its owner may act, and that owner was told that it owns nothing. In `overlap` an assignment
    /// goes with its topic.
    #[must_use]
    pub fn is_of_earlier_topic(&self, at: &TopicPartition) -> bool {
        let assignment = self.assignment(at).filter(|assignment| assignment.mode.is_strict());
        let granted = assignment.and_then(|assignment| assignment.topic_since);
        granted.zip(self.topic_since(&at.topic)).is_some_and(|(granted, now)| granted != now)
    }

    /// The partitions that move as one with `at`, and `at` itself: those that there are of its number in the topics that carry
    /// its topic's label.
    #[must_use]
    pub fn unit_of(&self, at: &TopicPartition) -> Vec<TopicPartition> {
        let label = |name: &TopicName| self.topics.get(name)?.last_good()?.copartition.as_deref();
        let wanted = label(&at.topic);
        let moves_along =
            |name: &&TopicName| **name == at.topic || (wanted.is_some() && label(name) == wanted);
        let unit = self.topics.keys().filter(moves_along);
        unit.map(|name| TopicPartition::new(name.clone(), at.partition))
            .filter(|at| self.exists(at))
            .collect()
    }

    /// The mode in which a unit is granted next: the strongest of its topics', since all of it moves as one.
    #[must_use]
    pub fn mode_of(&self, unit: &[TopicPartition]) -> Mode {
        let of_group = self.configured(|config| config.mode);
        let of_topic = |at: &TopicPartition| self.topics.get(&at.topic)?.last_good()?.mode;
        unit.iter().map(|at| of_topic(at).unwrap_or(of_group)).max().unwrap_or(of_group)
    }

    /// The weakest and the strongest mode in which partitions may be granted to `consumer`, in a group whose own mode is
    /// `of_group`: those of the topics that it takes. A topic that the group does not have yet will have the group's.
    #[must_use]
    pub fn modes_for(&self, consumer: &Consumer, of_group: Mode) -> [Mode; 2] {
        let of_topic = |topic: &TopicName| {
            let known = self.topics.get(topic).and_then(Entry::last_good);
            known.and_then(|topic| topic.mode).unwrap_or(of_group)
        };
        let modes: Vec<Mode> = match consumer.topics.is_empty() {
            true => self.topics.keys().map(of_topic).chain([of_group]).collect(),
            false => consumer.topics.iter().map(of_topic).collect(),
        };
        let [weakest, strongest] = [modes.iter().min(), modes.iter().max()];
        [weakest, strongest].map(|mode| mode.copied().unwrap_or(of_group))
    }

    /// The first topic of `consumer` with a mode of its own that is `mode`; `None` = they have that of the group.
    #[must_use]
    pub fn topic_with_mode(&self, consumer: &Consumer, mode: Mode) -> Option<&TopicName> {
        let has_it = |(_, topic): &(&TopicName, &Entry<Topic>)| {
            topic.last_good().is_some_and(|topic| topic.mode == Some(mode))
        };
        let of_consumer = self.topics.iter().filter(|(name, _)| consumer.subscribes(name));
        of_consumer.filter(has_it).map(|(name, _)| name).next()
    }

    /// The topics, by name.
    #[must_use]
    pub const fn topics(&self) -> &SharedMap<TopicName, Entry<Topic>> {
        &self.topics
    }
}
