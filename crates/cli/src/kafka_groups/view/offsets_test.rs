//! Offsets of groups of each type.

use kafka_assigner_kafka::messages::{
    MetadataResponse, MetadataResponseTopic, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
    ShareOffsetsPartition, ShareOffsetsTopic,
};
use kafka_assigner_kafka::wire::Uuid;

use super::super::group::group_test::{consumer_group, consumer_member, streams_group};
use super::*;

/// An answer with the offsets of a topic by partition; the topic is named by its id.
fn answer(id: u8, offsets: &[(i32, i64)]) -> OffsetFetchResponseGroup {
    let partition = |(partition_index, committed_offset): &(i32, i64)| OffsetFetchResponsePartitions {
        partition_index: *partition_index,
        committed_offset: *committed_offset,
        committed_leader_epoch: 0,
        ..OffsetFetchResponsePartitions::default()
    };
    let topic = OffsetFetchResponseTopics {
        topic_id: Uuid([id; 16]),
        partitions: offsets.iter().map(partition).collect(),
        ..OffsetFetchResponseTopics::default()
    };
    OffsetFetchResponseGroup { topics: vec![topic], ..OffsetFetchResponseGroup::default() }
}

fn topics(name: &str) -> TopicsView {
    let topic = MetadataResponseTopic {
        name: Some(name.to_owned()),
        topic_id: Uuid([7; 16]),
        ..MetadataResponseTopic::default()
    };
    let mut topics = TopicsView::default();
    topics.learn(MetadataResponse { topics: vec![topic], ..MetadataResponse::default() });
    topics
}

fn at(topic: &str, ends: &[(i32, i64)]) -> BTreeMap<PartitionKey, i64> {
    ends.iter().map(|(number, end)| ((topic.to_owned(), *number), *end)).collect()
}

#[test]
fn partitions_of_members_come_first_and_then_what_is_committed_and_has_none() {
    let group =
        consumer_group(vec![consumer_member("b", &[3], &[3]), consumer_member("a", &[0, 1], &[0, 1])]);
    let answer = answer(7, &[(0, 5), (2, 9), (3, -1)]);
    let committed = CommittedOffsets::new(&answer, &topics("t"));
    assert_eq!(topics_of(&group, &answer), [TopicKey::Name("t".to_owned()), TopicKey::Id(Uuid([7; 16]))]);
    assert_eq!(partitions_of(&group, &committed).len(), 4);
    let rows = consumer_rows(&group, &committed, &at("t", &[(0, 8), (1, 4), (3, 6)]));
    let told: Vec<_> = rows
        .iter()
        .map(|row| {
            let member = row.member.as_ref().map(|member| member.id.as_str());
            (row.partition, row.offset, row.end, row.lag, member)
        })
        .collect();
    assert_eq!(
        told,
        [
            (0, Some(5), Some(8), Some(3), Some("a")),
            (1, None, Some(4), None, Some("a")),
            (3, None, Some(6), None, Some("b")),
            (2, Some(9), None, None, None),
        ]
    );
    assert_eq!(sum(&rows), LagSum { records: 3, unknown: 3 });
}

#[test]
fn what_is_committed_for_a_topic_that_is_gone_is_left_out() {
    let committed = CommittedOffsets::new(&answer(8, &[(0, 5)]), &topics("t"));
    assert_eq!(consumer_rows(&consumer_group(Vec::new()), &committed, &BTreeMap::new()), []);
}

#[test]
fn a_streams_group_is_behind_by_all_that_is_there_where_nothing_is_committed() {
    let group = streams_group();
    let committed = CommittedOffsets::new(&answer(7, &[(0, 4)]), &topics("in"));
    let (ends, beginnings) = (at("in", &[(0, 10), (1, 10)]), at("in", &[(0, 1), (1, 1)]));
    let rows = streams_rows(&group, &committed, &ends, &beginnings);
    let lags: Vec<_> =
        rows.iter().map(|row| (row.topic.as_str(), row.partition, row.offset, row.lag)).collect();
    assert_eq!(
        lags,
        [
            ("app-repartition", 0, None, None),
            ("app-repartition", 1, None, None),
            ("in", 0, Some(4), Some(6)),
            ("in", 1, None, Some(9)),
        ]
    );
}

#[test]
fn a_streams_group_that_is_stopped_is_behind_by_what_is_not_committed() {
    let group = KafkaGroupView { members: Vec::new(), ..streams_group() };
    let committed = CommittedOffsets::new(&answer(7, &[(0, 4)]), &topics("in"));
    let rows = streams_rows(&group, &committed, &at("in", &[(0, 10)]), &BTreeMap::new());
    assert_eq!(sum(&rows), LagSum { records: 6, unknown: 0 });
    assert_eq!(partitions_of(&group, &committed).len(), 1, "its end is asked for");
}

#[test]
fn a_share_group_has_what_its_coordinator_tells() {
    let partition = |partition_index, start_offset, lag| ShareOffsetsPartition {
        partition_index,
        start_offset,
        lag,
        ..ShareOffsetsPartition::default()
    };
    let topic = ShareOffsetsTopic {
        topic_name: "t".to_owned(),
        partitions: vec![partition(1, 3, 2), partition(0, -1, -1)],
        ..ShareOffsetsTopic::default()
    };
    let rows = share_rows(ShareOffsetsGroup { topics: vec![topic], ..ShareOffsetsGroup::default() });
    let told: Vec<_> =
        rows.iter().map(|row| (row.partition, row.offset, row.leader_epoch, row.lag)).collect();
    assert_eq!(told, [(0, None, None, None), (1, Some(3), Some(0), Some(2))]);
}
