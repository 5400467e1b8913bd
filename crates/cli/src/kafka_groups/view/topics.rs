//! Names and leaders of topics.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_kafka::BrokerAddress;
use kafka_assigner_kafka::messages::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic, MetadataRequestTopic,
    MetadataResponse,
};
use kafka_assigner_kafka::wire::Uuid;

use super::partitions::PartitionKey;

/// A topic that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::kafka_groups) enum TopicKey {
    /// By its name.
    Name(String),
    /// By its id: newer answers have no name.
    Id(Uuid),
}

impl TopicKey {
    pub(in crate::kafka_groups) fn asked(&self) -> MetadataRequestTopic {
        match self {
            Self::Name(name) => MetadataRequestTopic { name: Some(name.clone()), topic_id: Uuid::ZERO },
            Self::Id(topic_id) => MetadataRequestTopic { name: None, topic_id: *topic_id },
        }
    }
}

/// An end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kafka_groups) enum LogEnd {
    /// The first record that is there.
    First,
    /// The offset of the next record.
    Last,
}

impl LogEnd {
    /// The time that stands for it.
    const fn time(self) -> i64 {
        match self {
            Self::First => -2,
            Self::Last => -1,
        }
    }
}

/// Topics as one broker knows them.
#[derive(Debug, Default)]
pub(in crate::kafka_groups) struct TopicsView {
    brokers: BTreeMap<i32, BrokerAddress>,
    names: BTreeMap<Uuid, String>,
    /// The number of the leader of each partition.
    leaders: BTreeMap<PartitionKey, i32>,
}

impl TopicsView {
    pub(in crate::kafka_groups) fn learn(&mut self, answer: MetadataResponse) {
        for broker in answer.brokers {
            let address = BrokerAddress::new(&broker.host, broker.port);
            self.brokers.extend(address.map(|address| (broker.node_id, address)));
        }
        for topic in answer.topics {
            let Some(name) = topic.name.filter(|_| topic.error_code == 0) else { continue };
            for partition in &topic.partitions {
                self.leaders.insert((name.clone(), partition.partition_index), partition.leader_id);
            }
            self.names.insert(topic.topic_id, name);
        }
    }

    /// The name of a topic of an answer that has its name or its id.
    pub(super) fn name<'a>(&'a self, name: &'a str, id: Uuid) -> Option<&'a str> {
        if name.is_empty() { self.names.get(&id).map(String::as_str) } else { Some(name) }
    }

    /// By leader the request for an end of `partitions`; those without a leader are left out.
    pub(in crate::kafka_groups) fn requests(
        &self,
        partitions: &BTreeSet<PartitionKey>,
        end: LogEnd,
    ) -> BTreeMap<BrokerAddress, ListOffsetsRequest> {
        let mut leaders: BTreeMap<&BrokerAddress, BTreeMap<&str, Vec<i32>>> = BTreeMap::new();
        for key in partitions {
            let Some(leader) = self.leaders.get(key).and_then(|node| self.brokers.get(node)) else {
                continue;
            };
            leaders.entry(leader).or_default().entry(&key.0).or_default().push(key.1);
        }
        leaders.into_iter().map(|(leader, topics)| (leader.clone(), request(topics, end))).collect()
    }
}

fn request(topics: BTreeMap<&str, Vec<i32>>, end: LogEnd) -> ListOffsetsRequest {
    let partition = |partition_index| ListOffsetsPartition {
        partition_index,
        timestamp: end.time(),
        ..ListOffsetsPartition::default()
    };
    let topic = |(name, numbers): (&str, Vec<i32>)| ListOffsetsTopic {
        name: name.to_owned(),
        partitions: numbers.into_iter().map(partition).collect(),
    };
    let topics = topics.into_iter().map(topic).collect();
    ListOffsetsRequest { replica_id: -1, topics, ..ListOffsetsRequest::default() }
}

/// The offsets in answers; partitions with an error are missing.
pub(in crate::kafka_groups) fn ends_in(answers: &[ListOffsetsResponse]) -> BTreeMap<PartitionKey, i64> {
    let mut ends = BTreeMap::new();
    for topic in answers.iter().flat_map(|answer| &answer.topics) {
        let known =
            topic.partitions.iter().filter(|partition| partition.error_code == 0 && partition.offset >= 0);
        ends.extend(known.map(|known| ((topic.name.clone(), known.partition_index), known.offset)));
    }
    ends
}

#[cfg(test)]
mod tests {
    use kafka_assigner_kafka::messages::{
        ListOffsetsPartitionResponse, ListOffsetsTopicResponse, MetadataResponseBroker,
        MetadataResponsePartition, MetadataResponseTopic,
    };

    use super::*;

    fn topics() -> TopicsView {
        let broker = |node_id: i32| MetadataResponseBroker {
            node_id,
            host: format!("kafka-{node_id}"),
            port: 9092,
            rack: None,
        };
        let partition = |partition_index, leader_id| MetadataResponsePartition {
            partition_index,
            leader_id,
            ..MetadataResponsePartition::default()
        };
        let topic = MetadataResponseTopic {
            name: Some("t".to_owned()),
            topic_id: Uuid([7; 16]),
            partitions: vec![partition(0, 1), partition(1, 2), partition(2, -1)],
            ..MetadataResponseTopic::default()
        };
        let gone = MetadataResponseTopic { error_code: 100, topic_id: Uuid([8; 16]), ..Default::default() };
        let mut topics = TopicsView::default();
        topics.learn(MetadataResponse {
            brokers: vec![broker(1), broker(2)],
            topics: vec![topic, gone],
            ..MetadataResponse::default()
        });
        topics
    }

    #[test]
    fn each_leader_is_asked_for_its_partitions() {
        let wanted = (0..4).map(|number| ("t".to_owned(), number)).collect();
        let requests = topics().requests(&wanted, LogEnd::Last);
        let asked: Vec<_> = requests
            .iter()
            .map(|(leader, request)| (leader.host.as_str(), request.topics[0].partitions[0].partition_index))
            .collect();
        assert_eq!(asked, [("kafka-1", 0), ("kafka-2", 1)], "one has no leader, and one does not exist");
        assert_eq!(requests.values().next().unwrap().topics[0].partitions[0].timestamp, -1);
    }

    #[test]
    fn a_topic_has_its_name_from_the_answer_or_by_its_id() {
        let topics = topics();
        assert_eq!(topics.name("", Uuid([7; 16])), Some("t"));
        assert_eq!(topics.name("other", Uuid::ZERO), Some("other"));
        assert_eq!(topics.name("", Uuid([8; 16])), None, "it is gone");
    }

    #[test]
    fn an_end_that_is_not_known_is_missing() {
        let partition = |partition_index, error_code, offset| ListOffsetsPartitionResponse {
            partition_index,
            error_code,
            offset,
            ..ListOffsetsPartitionResponse::default()
        };
        let topic = ListOffsetsTopicResponse {
            name: "t".to_owned(),
            partitions: vec![partition(0, 0, 5), partition(1, 6, -1), partition(2, 0, -1)],
        };
        let answer = ListOffsetsResponse { topics: vec![topic], ..ListOffsetsResponse::default() };
        assert_eq!(ends_in(&[answer]), [(("t".to_owned(), 0), 5)].into());
    }
}
