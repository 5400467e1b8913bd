//! The subscription of a member, with which it joins.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_strategies::kafka::wire::{
    ConsumerAssignment, ConsumerSubscription, Malformed, StickyUserData, TopicPartitions,
    generation_user_data,
};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::TopicName;

/// The manner in which partitions change hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RebalanceManner {
    /// Each member gives up everything before it joins.
    Eager,
    /// Each member keeps what it has, gives up what is to move, and joins again.
    Cooperative,
}

/// The notes of a strategy, which travel with each member's subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrategyNotes {
    /// None.
    Nothing,
    /// The partitions that the member had last, and in which generation, as Kafka's `sticky` reads it.
    Sticky,
    /// The generation of what the member owns, as Kafka's `cooperative-sticky` reads it.
    Generation,
}

/// A strategy that a member offers to its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedStrategy {
    /// Its name; members agree by it.
    pub name: String,
    /// The manner that it can bear.
    pub manner: RebalanceManner,
    /// Its notes.
    pub notes: StrategyNotes,
}

impl OfferedStrategy {
    /// The names of the strategies that there are: Kafka's own, then those of this project.
    pub const NAMES: [&str; 6] =
        ["range", "roundrobin", "sticky", "cooperative-sticky", "balanced", "copartitioned-sticky"];

    /// A strategy by its name, with the manner and the notes that its plans rely on; `None` where there is none of that
    /// name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (manner, notes) = match name {
            "range" | "roundrobin" => (RebalanceManner::Eager, StrategyNotes::Nothing),
            "sticky" => (RebalanceManner::Eager, StrategyNotes::Sticky),
            "cooperative-sticky" => (RebalanceManner::Cooperative, StrategyNotes::Generation),
            // The partitions that a member had last count where another strategy makes it give everything up before it joins.
            "balanced" | "copartitioned-sticky" => (RebalanceManner::Cooperative, StrategyNotes::Sticky),
            _ => return None,
        };
        Some(Self { name: name.to_owned(), manner, notes })
    }
}

/// Partitions with the generation in which a member got them; −1: none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatedPartitions {
    pub(crate) partitions: BTreeSet<TopicPartition>,
    pub(crate) generation: i32,
}

impl Default for DatedPartitions {
    fn default() -> Self {
        Self { partitions: BTreeSet::new(), generation: -1 }
    }
}

/// The facts that a subscription is made of. Equal facts are equal bytes: a broker takes others for a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubscriptionFacts<'a> {
    pub(crate) topics: &'a BTreeSet<TopicName>,
    pub(crate) owned: &'a DatedPartitions,
    /// The partitions that the member had last, though it may have given it up to join.
    pub(crate) last: &'a DatedPartitions,
    pub(crate) rack: Option<&'a str>,
}

impl SubscriptionFacts<'_> {
    /// The subscription as a member that offers a strategy sends it.
    pub(crate) fn bytes(&self, notes: StrategyNotes) -> Vec<u8> {
        let user_data = self.user_data(notes);
        ConsumerSubscription {
            version: ConsumerSubscription::NEWEST,
            topics: self.topics.iter().map(TopicName::as_str).collect(),
            user_data: user_data.as_deref(),
            owned: by_topic(&self.owned.partitions),
            generation: Some(self.owned.generation).filter(|generation| *generation >= 0),
            rack: self.rack,
        }
        .write()
    }

    fn user_data(&self, notes: StrategyNotes) -> Option<Vec<u8>> {
        let dated = |dated: &DatedPartitions| Some(dated.generation).filter(|generation| *generation >= 0);
        match notes {
            StrategyNotes::Nothing => None,
            StrategyNotes::Sticky => {
                let partitions = by_topic(&self.last.partitions);
                Some(StickyUserData { partitions, generation: dated(self.last) }.write())
            }
            StrategyNotes::Generation => Some(generation_user_data(dated(self.owned)).to_vec()),
        }
    }
}

fn by_topic(partitions: &BTreeSet<TopicPartition>) -> Vec<TopicPartitions<'_>> {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        topics.entry(partition.topic.as_str()).or_default().push(partition.kafka_number());
    }
    topics.into_iter().map(|(topic, partitions)| TopicPartitions { topic, partitions }).collect()
}

/// One member's part of a plan, as the leader sends it.
pub(crate) fn assignment_bytes(partitions: &BTreeSet<TopicPartition>) -> Vec<u8> {
    let partitions = by_topic(partitions);
    ConsumerAssignment { version: ConsumerAssignment::NEWEST, partitions, user_data: None }.write()
}

/// The partitions in a part of a plan. Names and numbers that no partition has are left out.
pub(crate) fn assigned(bytes: &[u8]) -> Result<BTreeSet<TopicPartition>, Malformed> {
    let assignment = ConsumerAssignment::read(bytes)?;
    let of_topic = |of: &TopicPartitions<'_>| {
        let partitions =
            of.partitions.iter().filter_map(|number| TopicPartition::from_kafka(of.topic, *number).ok());
        partitions.collect::<Vec<_>>()
    };
    Ok(assignment.partitions.iter().flat_map(of_topic).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(all: &[(&str, u32)]) -> BTreeSet<TopicPartition> {
        all.iter().map(|partition| TopicPartition::try_from(*partition).unwrap()).collect()
    }

    #[test]
    fn a_subscription_says_what_was_had_last_to_the_one_who_asks() {
        let topics = [TopicName::new("t").unwrap()].into();
        let owned = DatedPartitions::default();
        let last = DatedPartitions { partitions: partitions(&[("t", 1), ("t", 0)]), generation: 4 };
        let facts = SubscriptionFacts { topics: &topics, owned: &owned, last: &last, rack: Some("a") };
        let read = |bytes: &[u8]| {
            let read = ConsumerSubscription::read(bytes).unwrap();
            (read.sticky_claims().write(), read.generation, read.rack.map(str::to_owned), read.owned.len())
        };
        let (claims, generation, rack, owned) = read(&facts.bytes(StrategyNotes::Sticky));
        let expected = StickyUserData { partitions: by_topic(&last.partitions), generation: Some(4) }.write();
        assert_eq!((claims, generation, rack.as_deref(), owned), (expected, None, Some("a"), 0));
        let plain = facts.bytes(StrategyNotes::Nothing);
        assert_eq!(ConsumerSubscription::read(&plain).unwrap().user_data, None);
        let dated = facts.bytes(StrategyNotes::Generation);
        assert_eq!(ConsumerSubscription::read(&dated).unwrap().user_data, Some(&[0xff; 4][..]));
    }

    #[test]
    fn a_plan_is_read_as_it_was_written_and_nonsense_is_left_out() {
        let planned = partitions(&[("t", 1), ("u", 0)]);
        assert_eq!(assigned(&assignment_bytes(&planned)).unwrap(), planned);
        assert_eq!(assigned(&[]).unwrap(), BTreeSet::new());
        let odd = ConsumerAssignment {
            version: 0,
            partitions: vec![
                TopicPartitions { topic: "t", partitions: vec![-1, 3, 3] },
                TopicPartitions { topic: "a/b", partitions: vec![0] },
            ],
            user_data: None,
        };
        assert_eq!(assigned(&odd.write()).unwrap(), partitions(&[("t", 3)]));
        assert!(assigned(&[0]).is_err());
    }
}
