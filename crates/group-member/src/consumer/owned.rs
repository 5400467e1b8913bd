//! Partitions by the ids of their topics.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_kafka::messages::{HeartbeatAssignedTopic, HeartbeatAssignment, HeartbeatOwnedTopic};
use kafka_assigner_kafka::wire::Uuid;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::TopicName;

/// Partitions by the ids of their topics: a topic that was deleted and created again is another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PartitionsById(BTreeSet<(Uuid, u32)>);

impl PartitionsById {
    pub(super) fn of_answer(assignment: HeartbeatAssignment) -> Self {
        let topics = assignment.topic_partitions.into_iter();
        let of_topic = |topic: HeartbeatAssignedTopic| {
            let numbers = topic.partitions.into_iter().filter_map(|number| u32::try_from(number).ok());
            numbers.map(move |number| (topic.topic_id, number))
        };
        Self(topics.flat_map(of_topic).collect())
    }

    pub(super) fn to_request(&self) -> Vec<HeartbeatOwnedTopic> {
        let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
        for (topic, number) in &self.0 {
            topics.entry(*topic).or_default().push(i32::try_from(*number).unwrap_or(i32::MAX));
        }
        let topic = |(topic_id, partitions)| HeartbeatOwnedTopic { topic_id, partitions };
        topics.into_iter().map(topic).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn without(&self, others: &Self) -> Self {
        Self(self.0.difference(&others.0).copied().collect())
    }

    pub(super) fn without_topics(&self, topics: &BTreeSet<Uuid>) -> Self {
        Self(self.0.iter().filter(|(topic, _)| !topics.contains(topic)).copied().collect())
    }

    pub(super) fn topics(&self) -> BTreeSet<Uuid> {
        self.0.iter().map(|(topic, _)| *topic).collect()
    }

    /// Without the partitions that have these names.
    pub(super) fn unnamed(&self, gone: &BTreeSet<TopicPartition>, names: &BTreeMap<Uuid, TopicName>) -> Self {
        let is_gone = |(topic, number): &&(Uuid, u32)| {
            let name = names.get(topic);
            name.is_some_and(|name| gone.contains(&TopicPartition::new(name.clone(), *number)))
        };
        Self(self.0.iter().filter(|partition| !is_gone(partition)).copied().collect())
    }

    /// The partitions by name; those of topics without one are left out.
    pub(super) fn named(&self, names: &BTreeMap<Uuid, TopicName>) -> BTreeSet<TopicPartition> {
        let named =
            |(topic, number): &(Uuid, u32)| Some(TopicPartition::new(names.get(topic)?.clone(), *number));
        self.0.iter().filter_map(named).collect()
    }
}
