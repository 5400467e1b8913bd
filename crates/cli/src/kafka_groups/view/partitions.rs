//! Partitions by topic.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kafka_assigner_strategies::kafka::wire::ConsumerAssignment;
use serde::Serialize;

/// A partition: the name of its topic and its number.
pub(in crate::kafka_groups) type PartitionKey = (String, i32);

/// Partitions by topic, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub(in crate::kafka_groups) struct PartitionsByTopic(BTreeMap<String, BTreeSet<i32>>);

impl PartitionsByTopic {
    /// Those that a plan gives a member of the classic protocol, or the fault of its bytes.
    pub(super) fn of_plan(bytes: &[u8]) -> Result<Self, String> {
        let plan = ConsumerAssignment::read(bytes).map_err(|error| error.to_string())?;
        let topics = plan.partitions.iter();
        Ok(topics.map(|of| (of.topic.to_owned(), of.partitions.clone())).collect())
    }

    pub(in crate::kafka_groups) fn count(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }

    pub(in crate::kafka_groups) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// All of them, by topic and number.
    pub(super) fn keys(&self) -> impl Iterator<Item = PartitionKey> {
        let of_topic = |(topic, numbers): (&String, &BTreeSet<i32>)| {
            let topic = topic.clone();
            numbers.iter().map(|number| (topic.clone(), *number)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_topic)
    }
}

impl FromIterator<(String, Vec<i32>)> for PartitionsByTopic {
    fn from_iter<I: IntoIterator<Item = (String, Vec<i32>)>>(topics: I) -> Self {
        let mut all = Self::default();
        for (topic, numbers) in topics {
            all.0.entry(topic).or_default().extend(numbers);
        }
        all
    }
}

/// As Kafka's tools: `t:0,1;u:0`, and a dash where there are none.
impl fmt::Display for PartitionsByTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("-");
        }
        let numbers =
            |numbers: &BTreeSet<i32>| numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(",");
        let topics = self.0.iter().map(|(topic, of)| format!("{topic}:{}", numbers(of)));
        f.write_str(&topics.collect::<Vec<_>>().join(";"))
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_strategies::kafka::wire::TopicPartitions;

    use super::*;

    #[test]
    fn partitions_are_written_as_kafkas_tools_do() {
        let all: PartitionsByTopic =
            [("u".to_owned(), vec![0]), ("t".to_owned(), vec![10, 2, 0])].into_iter().collect();
        assert_eq!((all.to_string().as_str(), all.count()), ("t:0,2,10;u:0", 4));
        assert_eq!(PartitionsByTopic::default().to_string(), "-");
        assert_eq!(all.keys().next(), Some(("t".to_owned(), 0)));
    }

    #[test]
    fn a_plan_is_read_and_a_broken_one_told() {
        let partitions = vec![TopicPartitions { topic: "t", partitions: vec![1, 0] }];
        let plan = ConsumerAssignment { partitions, ..ConsumerAssignment::default() };
        assert_eq!(PartitionsByTopic::of_plan(&plan.write()).unwrap().to_string(), "t:0,1");
        assert!(PartitionsByTopic::of_plan(b"").unwrap().is_empty(), "no plan yet");
        assert!(PartitionsByTopic::of_plan(&[0, 1, 0]).is_err());
    }
}
