//! Requests about offsets, and what their answers say of each partition; pure.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_group_member::{KafkaError, Membership, OffsetSource};
use kafka_assigner_kafka::messages::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic, OffsetCommitRequest,
    OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse, OffsetFetchRequest,
    OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
};
use kafka_assigner_kafka::records::Isolation;
use kafka_assigner_kafka::wire::Uuid;
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::name::TopicName;

/// By partition its offset, `None` where there is none, or an error.
pub(crate) type FoundOffsets = BTreeMap<TopicPartition, Result<Option<Offset>, KafkaError>>;

/// The ids of topics by name; zero where a topic has none.
pub(crate) type TopicIds = BTreeMap<TopicName, Uuid>;

/// The time that stands for the end of a log.
const AT_END: i64 = -1;

/// The time that stands for the beginning of a log.
const AT_BEGINNING: i64 = -2;

fn by_topic<T>(
    partitions: impl IntoIterator<Item = (TopicPartition, T)>,
) -> BTreeMap<TopicName, Vec<(i32, T)>> {
    let mut topics: BTreeMap<TopicName, Vec<(i32, T)>> = BTreeMap::new();
    for (partition, value) in partitions {
        let number = partition.kafka_number();
        topics.entry(partition.topic).or_default().push((number, value));
    }
    topics
}

/// Names of topics in an answer: newer versions have the id alone.
fn name_of<'a>(name: &'a str, id: Uuid, ids: &'a TopicIds) -> Option<&'a str> {
    if !name.is_empty() {
        return Some(name);
    }
    ids.iter().find(|(_, known)| **known == id && id != Uuid::ZERO).map(|(name, _)| name.as_str())
}

/// Asks for the committed offsets of `partitions`.
pub(crate) fn fetch_committed(
    group: &str,
    partitions: &BTreeSet<TopicPartition>,
    ids: &TopicIds,
    version: i16,
) -> OffsetFetchRequest {
    let topics = by_topic(partitions.iter().map(|partition| (partition.clone(), ())));
    let topic = |(name, numbers): (TopicName, Vec<(i32, ())>)| OffsetFetchRequestTopics {
        topic_id: ids.get(&name).copied().unwrap_or(Uuid::ZERO),
        name: name.as_str().to_owned(),
        partition_indexes: numbers.into_iter().map(|(number, ())| number).collect(),
    };
    let topics = Some(topics.into_iter().map(topic).collect());
    let group = OffsetFetchRequestGroup { group_id: group.to_owned(), topics, ..Default::default() };
    OffsetFetchRequest::of_group(group, version)
}

/// The committed offsets in an answer, or the error of all of it.
pub(crate) fn committed_in(answer: OffsetFetchResponse, ids: &TopicIds) -> Result<FoundOffsets, KafkaError> {
    let group = answer.into_group();
    if group.error_code != 0 {
        return Err(KafkaError(group.error_code));
    }
    let mut found = FoundOffsets::new();
    for topic in &group.topics {
        let Some(name) = name_of(&topic.name, topic.topic_id, ids) else { continue };
        for partition in &topic.partitions {
            let word = word(partition.error_code, partition.committed_offset);
            found.extend(
                TopicPartition::from_kafka(name, partition.partition_index).ok().map(|at| (at, word)),
            );
        }
    }
    Ok(found)
}

/// An offset or an error. A negative number is no offset: it says that there is none.
fn word(error: i16, offset: i64) -> Result<Option<Offset>, KafkaError> {
    if error == 0 { Ok(Offset::new(offset).ok()) } else { Err(KafkaError(error)) }
}

/// Asks for the beginnings or the ends of partitions, with the epochs of their leaders.
pub(crate) fn list_offsets(
    partitions: &BTreeMap<TopicPartition, i32>,
    source: OffsetSource,
    isolation: Isolation,
    patience_ms: i32,
) -> ListOffsetsRequest {
    let timestamp = if source == OffsetSource::Latest { AT_END } else { AT_BEGINNING };
    let topics = by_topic(partitions.iter().map(|(partition, epoch)| (partition.clone(), *epoch)));
    let partition = |(partition_index, current_leader_epoch): (i32, i32)| ListOffsetsPartition {
        partition_index,
        current_leader_epoch,
        timestamp,
    };
    let topic = |(name, numbers): (TopicName, Vec<(i32, i32)>)| ListOffsetsTopic {
        name: name.as_str().to_owned(),
        partitions: numbers.into_iter().map(partition).collect(),
    };
    ListOffsetsRequest {
        replica_id: -1,
        isolation_level: isolation.number(),
        topics: topics.into_iter().map(topic).collect(),
        timeout_ms: patience_ms,
    }
}

/// The offsets in an answer.
pub(crate) fn listed_in(answer: &ListOffsetsResponse) -> FoundOffsets {
    let mut found = FoundOffsets::new();
    for topic in &answer.topics {
        for partition in &topic.partitions {
            let word = word(partition.error_code, partition.offset);
            let at = TopicPartition::from_kafka(&topic.name, partition.partition_index).ok();
            found.extend(at.map(|at| (at, word)));
        }
    }
    found
}

/// The first version in which commits name topics by their ids alone.
const COMMITS_BY_ID: i16 = 10;

/// Commits `offsets` as `membership`. Topics whose id is not known are left out where they would have no other name.
pub(crate) fn commit(
    group: &str,
    membership: &Membership,
    offsets: &BTreeMap<TopicPartition, Offset>,
    ids: &TopicIds,
    version: i16,
) -> OffsetCommitRequest {
    let partition = |(partition_index, offset): (i32, Offset)| OffsetCommitRequestPartition {
        partition_index,
        committed_offset: offset.get(),
        committed_metadata: Some(String::new()),
        ..OffsetCommitRequestPartition::default()
    };
    let topic = |(name, numbers): (TopicName, Vec<(i32, Offset)>)| OffsetCommitRequestTopic {
        topic_id: ids.get(&name).copied().unwrap_or(Uuid::ZERO),
        name: name.as_str().to_owned(),
        partitions: numbers.into_iter().map(partition).collect(),
    };
    let has_id = |topic: &TopicName| ids.get(topic).is_some_and(|id| *id != Uuid::ZERO);
    let named = offsets.iter().filter(|(partition, _)| version < COMMITS_BY_ID || has_id(&partition.topic));
    let topics = by_topic(named.map(|(partition, offset)| (partition.clone(), *offset)));
    OffsetCommitRequest {
        group_id: group.to_owned(),
        generation_id_or_member_epoch: membership.generation,
        member_id: membership.member_id.clone(),
        group_instance_id: membership.instance.clone(),
        topics: topics.into_iter().map(topic).collect(),
        ..OffsetCommitRequest::default()
    }
}

/// The outcome of each partition in an answer to a commit.
pub(crate) fn outcomes(
    answer: &OffsetCommitResponse,
    ids: &TopicIds,
) -> BTreeMap<TopicPartition, KafkaError> {
    let mut outcomes = BTreeMap::new();
    for topic in &answer.topics {
        let Some(name) = name_of(&topic.name, topic.topic_id, ids) else { continue };
        for partition in &topic.partitions {
            let at = TopicPartition::from_kafka(name, partition.partition_index).ok();
            outcomes.extend(at.map(|at| (at, KafkaError(partition.error_code))));
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use kafka_assigner_kafka::messages::{
        OffsetCommitResponsePartition, OffsetCommitResponseTopic, OffsetFetchResponseGroup,
        OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
    };

    use super::*;

    fn at(number: u32) -> TopicPartition {
        TopicPartition::try_from(("t", number)).unwrap()
    }

    fn ids() -> TopicIds {
        [(TopicName::new("t").unwrap(), Uuid([7; 16]))].into()
    }

    #[test]
    fn a_commit_names_its_membership_and_both_names_of_a_topic() {
        let membership =
            Membership { member_id: "m".to_owned(), generation: 3, instance: Some("i".to_owned()) };
        let offsets = [(at(1), Offset::new(9).unwrap()), (at(0), Offset::ZERO)].into();
        let request = commit("g", &membership, &offsets, &ids(), 10);
        assert_eq!((request.generation_id_or_member_epoch, request.member_id.as_str()), (3, "m"));
        assert_eq!(request.group_instance_id.as_deref(), Some("i"));
        assert_eq!((request.topics[0].name.as_str(), request.topics[0].topic_id), ("t", Uuid([7; 16])));
        let sent: Vec<_> = request.topics[0].partitions.iter().map(|at| at.committed_offset).collect();
        assert_eq!(sent, [0, 9]);
        let unknown = TopicIds::new();
        assert!(commit("g", &membership, &offsets, &unknown, 10).topics.is_empty(), "it would have no name");
        assert_eq!(commit("g", &membership, &offsets, &unknown, 9).topics.len(), 1);
    }

    #[test]
    fn answers_with_ids_alone_are_understood_and_those_of_other_topics_left_out() {
        let topic = |id: u8| OffsetCommitResponseTopic {
            topic_id: Uuid([id; 16]),
            partitions: vec![OffsetCommitResponsePartition { partition_index: 1, error_code: 25 }],
            ..OffsetCommitResponseTopic::default()
        };
        let answer =
            OffsetCommitResponse { topics: vec![topic(7), topic(8), topic(0)], ..Default::default() };
        assert_eq!(outcomes(&answer, &ids()), [(at(1), KafkaError::UNKNOWN_MEMBER)].into());
    }

    #[test]
    fn an_offset_that_is_negative_is_none_and_an_error_of_the_group_is_one_of_all() {
        let partition = |number, committed_offset, error_code| OffsetFetchResponsePartitions {
            partition_index: number,
            committed_offset,
            error_code,
            ..OffsetFetchResponsePartitions::default()
        };
        let topic = OffsetFetchResponseTopics {
            name: "t".to_owned(),
            partitions: vec![partition(0, 5, 0), partition(1, -1, 0), partition(2, -1, 88)],
            ..OffsetFetchResponseTopics::default()
        };
        let of_group = |error_code| OffsetFetchResponse {
            groups: vec![OffsetFetchResponseGroup {
                topics: vec![topic.clone()],
                error_code,
                ..Default::default()
            }],
            ..OffsetFetchResponse::default()
        };
        let found = committed_in(of_group(0), &ids()).unwrap();
        let expected =
            [(at(0), Ok(Some(Offset::new(5).unwrap()))), (at(1), Ok(None)), (at(2), Err(KafkaError(88)))];
        assert_eq!(found, expected.into());
        assert_eq!(committed_in(of_group(16), &ids()), Err(KafkaError::NOT_COORDINATOR));
    }
}
