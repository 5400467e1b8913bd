//! Brokers, topics and partitions, as the last answers of brokers have them; pure.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_group_member::{KafkaError, TopicFacts};
use kafka_assigner_kafka::BrokerAddress;
use kafka_assigner_kafka::messages::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_assigner_kafka::wire::Uuid;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::TopicName;

/// The most brokers that are learnt from one answer; more than the largest clusters have.
const MOST_BROKERS: usize = 1000;

/// The cluster as it is known.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    brokers: BTreeMap<i32, BrokerFacts>,
    topics: BTreeMap<String, TopicView>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct BrokerFacts {
    address: BrokerAddress,
    rack: Option<String>,
}

/// A topic that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TopicView {
    id: Uuid,
    is_internal: bool,
    /// By number.
    partitions: Vec<PartitionView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct PartitionView {
    leader: i32,
    leader_epoch: i32,
    replicas: Vec<i32>,
}

/// The broker to read a partition from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartitionLeader {
    pub(crate) node: i32,
    pub(crate) address: BrokerAddress,
    pub(crate) epoch: i32,
    pub(crate) topic_id: Uuid,
}

impl Topology {
    /// Takes an answer in. One to a question for all topics (`of_all`) also says which are gone.
    pub(crate) fn learn(&mut self, answer: MetadataResponse, of_all: bool) {
        if of_all {
            let named: BTreeSet<_> = answer.topics.iter().filter_map(|topic| topic.name.clone()).collect();
            self.topics.retain(|name, _| named.contains(name));
        }
        let broker = |broker: &MetadataResponseBroker| {
            let address = BrokerAddress::new(&broker.host, broker.port)?;
            Some((broker.node_id, BrokerFacts { address, rack: broker.rack.clone() }))
        };
        let brokers: BTreeMap<_, _> = answer.brokers.iter().take(MOST_BROKERS).filter_map(broker).collect();
        if !brokers.is_empty() {
            self.brokers = brokers;
        }
        for topic in answer.topics {
            self.learn_topic(topic);
        }
    }

    /// Forgets all topics but `names`: what nobody asked for, and what nobody asks for any more.
    pub(crate) fn retain(&mut self, names: &BTreeSet<String>) {
        self.topics.retain(|name, _| names.contains(name));
    }

    pub(crate) fn has_broker(&self, node: i32) -> bool {
        self.brokers.contains_key(&node)
    }

    /// A topic about which the broker can't tell now stays as it was.
    fn learn_topic(&mut self, topic: MetadataResponseTopic) {
        let Some(name) = topic.name else { return };
        match KafkaError(topic.error_code) {
            KafkaError::NONE => {
                let (id, is_internal) = (topic.topic_id, topic.is_internal);
                let partitions = by_number(topic.partitions);
                self.topics.insert(name, TopicView { id, is_internal, partitions });
            }
            KafkaError::UNKNOWN_TOPIC => drop(self.topics.remove(&name)),
            _ => {}
        }
    }

    pub(crate) fn addresses(&self) -> Vec<BrokerAddress> {
        self.brokers.values().map(|broker| broker.address.clone()).collect()
    }

    /// The topics whose names `matches` likes, without Kafka's own.
    pub(crate) fn matching(&self, matches: impl Fn(&str) -> bool) -> BTreeSet<TopicName> {
        let chosen = self.topics.iter().filter(|(name, topic)| !topic.is_internal && matches(name));
        chosen.filter_map(|(name, _)| TopicName::new(name).ok()).collect()
    }

    /// The names by id.
    pub(crate) fn names(&self) -> BTreeMap<Uuid, TopicName> {
        let named = self.topics.iter().filter(|(_, topic)| topic.id != Uuid::ZERO);
        named.filter_map(|(name, topic)| Some((topic.id, TopicName::new(name).ok()?))).collect()
    }

    /// The topic's id; zero where it has none, or is not known.
    pub(crate) fn id_of(&self, topic: &TopicName) -> Uuid {
        self.topics.get(topic.as_str()).map_or(Uuid::ZERO, |topic| topic.id)
    }

    pub(crate) fn knows(&self, topic: &TopicName) -> bool {
        self.topics.contains_key(topic.as_str())
    }

    pub(crate) fn leader(&self, partition: &TopicPartition) -> Option<PartitionLeader> {
        let topic = self.topics.get(partition.topic.as_str())?;
        let view = topic.partitions.get(usize::try_from(partition.partition).ok()?)?;
        let address = self.brokers.get(&view.leader)?.address.clone();
        Some(PartitionLeader { node: view.leader, address, epoch: view.leader_epoch, topic_id: topic.id })
    }

    /// The facts that a plan for `topics` is made of. Topics that are not known are missing.
    pub(crate) fn facts(&self, topics: &BTreeSet<String>) -> BTreeMap<String, TopicFacts> {
        let facts = |name: &String| Some((name.clone(), self.facts_of(self.topics.get(name)?)));
        topics.iter().filter_map(facts).collect()
    }

    fn facts_of(&self, topic: &TopicView) -> TopicFacts {
        let rack = |node: &i32| self.brokers.get(node).and_then(|broker| broker.rack.clone());
        let racks = |view: &PartitionView| view.replicas.iter().filter_map(rack).collect();
        TopicFacts {
            partitions: u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX),
            racks: topic.partitions.iter().map(racks).collect(),
        }
    }
}

/// The partitions in the order of their numbers; an answer that leaves one out is cut there.
fn by_number(mut partitions: Vec<MetadataResponsePartition>) -> Vec<PartitionView> {
    partitions.sort_by_key(|partition| partition.partition_index);
    let view = |partition: MetadataResponsePartition| PartitionView {
        leader: partition.leader_id,
        leader_epoch: partition.leader_epoch,
        replicas: partition.replica_nodes,
    };
    let whole =
        partitions.into_iter().zip(0..).take_while(|(partition, at)| partition.partition_index == *at);
    whole.map(|(partition, _)| view(partition)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, error_code: i16, numbers: &[i32]) -> MetadataResponseTopic {
        let partition = |number: &i32| MetadataResponsePartition {
            partition_index: *number,
            leader_id: 1,
            replica_nodes: vec![1, 2],
            ..MetadataResponsePartition::default()
        };
        MetadataResponseTopic {
            error_code,
            name: Some(name.to_owned()),
            is_internal: name.starts_with("__"),
            partitions: numbers.iter().map(partition).collect(),
            ..MetadataResponseTopic::default()
        }
    }

    fn answer(topics: Vec<MetadataResponseTopic>) -> MetadataResponse {
        let broker = |node_id, rack: Option<&str>| MetadataResponseBroker {
            node_id,
            host: "kafka".to_owned(),
            port: 9092,
            rack: rack.map(str::to_owned),
        };
        MetadataResponse {
            brokers: vec![broker(1, Some("x")), broker(2, None)],
            topics,
            ..Default::default()
        }
    }

    #[test]
    fn a_topic_stays_while_no_broker_can_tell_and_goes_when_one_says_so() {
        let mut topology = Topology::default();
        topology.learn(answer(vec![topic("t", 0, &[1, 0, 3])]), false);
        let facts = topology.facts(&["t".to_owned(), "u".to_owned()].into());
        assert_eq!(facts.len(), 1);
        assert_eq!(
            (facts["t"].partitions, facts["t"].racks[0].len()),
            (2, 1),
            "cut where a number is missing"
        );
        topology.learn(answer(vec![topic("t", 5, &[])]), false);
        assert!(topology.leader(&TopicPartition::try_from(("t", 1)).unwrap()).is_some());
        topology.learn(answer(vec![topic("t", 3, &[])]), false);
        assert_eq!(topology.leader(&TopicPartition::try_from(("t", 1)).unwrap()), None);
    }

    #[test]
    fn topics_that_nobody_asks_for_are_forgotten() {
        let mut topology = Topology::default();
        topology.learn(answer(vec![topic("t", 0, &[0]), topic("u", 0, &[0])]), false);
        topology.retain(&["t".to_owned()].into());
        assert!(
            topology.knows(&TopicName::new("t").unwrap()) && !topology.knows(&TopicName::new("u").unwrap())
        );
        assert!(topology.has_broker(1) && !topology.has_broker(3));
    }

    #[test]
    fn a_pattern_finds_all_topics_but_kafkas_own() {
        let mut topology = Topology::default();
        topology.learn(answer(vec![topic("a1", 0, &[0]), topic("b1", 0, &[0]), topic("__a", 0, &[0])]), true);
        let found = |topology: &Topology| topology.matching(|name| name.contains('a')).len();
        assert_eq!(found(&topology), 1);
        topology.learn(answer(vec![topic("b1", 0, &[0])]), true);
        assert_eq!(found(&topology), 0, "what an answer to all leaves out is gone");
    }
}
