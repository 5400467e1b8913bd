//! The lag of a group.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_kafka::messages::{OffsetFetchResponseGroup, ShareOffsetsGroup};
use serde::Serialize;

use super::group::{KafkaGroupView, KafkaMemberView};
use super::partitions::PartitionKey;
use super::topics::{TopicKey, TopicsView};

/// The offsets of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(in crate::kafka_groups) struct OffsetsRow {
    pub(in crate::kafka_groups) topic: String,
    pub(in crate::kafka_groups) partition: i32,
    /// The first offset that is not done; `null` = none is committed.
    pub(in crate::kafka_groups) offset: Option<i64>,
    /// The epoch of the leader that wrote the record before it.
    pub(in crate::kafka_groups) leader_epoch: Option<i32>,
    /// The offset of the next record; `null` = no leader tells it.
    pub(in crate::kafka_groups) end: Option<i64>,
    /// The number of records that are not done.
    pub(in crate::kafka_groups) lag: Option<i64>,
    /// The member that reads it.
    pub(in crate::kafka_groups) member: Option<RowMember>,
}

/// The member of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::kafka_groups) struct RowMember {
    pub(in crate::kafka_groups) id: String,
    pub(in crate::kafka_groups) host: String,
    pub(in crate::kafka_groups) client_id: String,
}

/// The sum of a group's lag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(in crate::kafka_groups) struct LagSum {
    /// The records that are not done, of all partitions whose lag is known.
    pub(in crate::kafka_groups) records: i64,
    /// The partitions whose lag is not known.
    pub(in crate::kafka_groups) unknown: usize,
}

/// A committed offset with the epoch of the leader.
type CommittedOffset = (i64, Option<i32>);

/// The offsets that a group has committed.
#[derive(Debug, Default)]
pub(in crate::kafka_groups) struct CommittedOffsets(BTreeMap<PartitionKey, CommittedOffset>);

impl CommittedOffsets {
    /// Those of an answer. Topics without a name are gone, and with them what was committed.
    pub(in crate::kafka_groups) fn new(answer: &OffsetFetchResponseGroup, topics: &TopicsView) -> Self {
        let mut all = BTreeMap::new();
        for topic in &answer.topics {
            let Some(name) = topics.name(&topic.name, topic.topic_id) else { continue };
            for partition in topic.partitions.iter().filter(|partition| partition.committed_offset >= 0) {
                let epoch = Some(partition.committed_leader_epoch).filter(|epoch| *epoch >= 0);
                let key = (name.to_owned(), partition.partition_index);
                all.insert(key, (partition.committed_offset, epoch));
            }
        }
        Self(all)
    }
}

/// The topics of which names or leaders have to be known: those that members read, and those of committed offsets.
pub(in crate::kafka_groups) fn topics_of(
    group: &KafkaGroupView,
    answer: &OffsetFetchResponseGroup,
) -> Vec<TopicKey> {
    let read = group.members.iter().flat_map(|member| member.read(&group.sources));
    let mut keys: BTreeSet<TopicKey> = read.map(|(topic, _)| TopicKey::Name(topic)).collect();
    keys.extend(answer.topics.iter().map(|topic| match topic.name.as_str() {
        "" => TopicKey::Id(topic.topic_id),
        name => TopicKey::Name(name.to_owned()),
    }));
    keys.into_iter().collect()
}

/// The partitions whose ends have to be known.
pub(in crate::kafka_groups) fn partitions_of(
    group: &KafkaGroupView,
    committed: &CommittedOffsets,
) -> BTreeSet<PartitionKey> {
    let read = group.members.iter().flat_map(|member| member.read(&group.sources));
    read.chain(committed.0.keys().cloned()).collect()
}

/// The rows of a classic or a consumer group in the order of Kafka's tool: the members with the most partitions first, then
/// what is committed and has no member.
pub(in crate::kafka_groups) fn consumer_rows(
    group: &KafkaGroupView,
    committed: &CommittedOffsets,
    ends: &BTreeMap<PartitionKey, i64>,
) -> Vec<OffsetsRow> {
    let mut members: Vec<&KafkaMemberView> = group.members.iter().collect();
    members.sort_by_key(|member| (Reverse(member.partitions().count()), &member.id));
    let mut rows = Vec::new();
    let mut read = BTreeSet::new();
    for member in members {
        let keys = member.read(&group.sources);
        rows.extend(keys.iter().map(|key| row(key, committed, ends, Some(member))));
        read.extend(keys);
    }
    let rest = committed.0.keys().filter(|key| !read.contains(*key));
    rows.extend(rest.map(|key| row(key, committed, ends, None)));
    rows
}

fn row(
    key: &PartitionKey,
    committed: &CommittedOffsets,
    ends: &BTreeMap<PartitionKey, i64>,
    member: Option<&KafkaMemberView>,
) -> OffsetsRow {
    let (offset, epoch) = committed.0.get(key).copied().unzip();
    let end = ends.get(key).copied();
    OffsetsRow {
        topic: key.0.clone(),
        partition: key.1,
        offset,
        leader_epoch: epoch.flatten(),
        end,
        lag: end.zip(offset).map(|(end, offset)| end.saturating_sub(offset)),
        member: member.map(RowMember::new),
    }
}

impl RowMember {
    fn new(member: &KafkaMemberView) -> Self {
        Self { id: member.id.clone(), host: member.host.clone(), client_id: member.client_id.clone() }
    }
}

/// The rows of a streams group: what its active tasks read, then what is committed and has no task, as in an application that
/// is stopped. Where nothing is committed, all that is there is to be done.
pub(in crate::kafka_groups) fn streams_rows(
    group: &KafkaGroupView,
    committed: &CommittedOffsets,
    ends: &BTreeMap<PartitionKey, i64>,
    beginnings: &BTreeMap<PartitionKey, i64>,
) -> Vec<OffsetsRow> {
    let keys: BTreeMap<PartitionKey, &KafkaMemberView> = group
        .members
        .iter()
        .flat_map(|member| member.read(&group.sources).into_iter().map(move |key| (key, member)))
        .collect();
    let row = |(key, member): (PartitionKey, &KafkaMemberView)| {
        let row = row(&key, committed, ends, Some(member));
        let from = row.offset.or_else(|| beginnings.get(&key).copied());
        let lag = row.end.zip(from).map(|(end, from)| end.saturating_sub(from));
        OffsetsRow { lag, ..row }
    };
    let rest: Vec<PartitionKey> =
        committed.0.keys().filter(|key| !keys.contains_key(*key)).cloned().collect();
    let idle = rest.iter().map(|key| self::row(key, committed, ends, None));
    keys.into_iter().map(row).chain(idle).collect()
}

/// The rows of a share group, as its coordinator tells them.
pub(in crate::kafka_groups) fn share_rows(answer: ShareOffsetsGroup) -> Vec<OffsetsRow> {
    let mut rows = Vec::new();
    for topic in answer.topics {
        let known = |number: i64| Some(number).filter(|number| *number >= 0);
        rows.extend(topic.partitions.iter().filter(|partition| partition.error_code == 0).map(|partition| {
            let offset = known(partition.start_offset);
            OffsetsRow {
                topic: topic.topic_name.clone(),
                partition: partition.partition_index,
                offset,
                leader_epoch: offset.and(Some(partition.leader_epoch)).filter(|epoch| *epoch >= 0),
                lag: offset.and(known(partition.lag)),
                ..OffsetsRow::default()
            }
        }));
    }
    rows.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
    rows
}

/// The sum of the lags of `rows`.
pub(in crate::kafka_groups) fn sum(rows: &[OffsetsRow]) -> LagSum {
    let records = rows.iter().filter_map(|row| row.lag).fold(0, i64::saturating_add);
    LagSum { records, unknown: rows.iter().filter(|row| row.lag.is_none()).count() }
}

#[cfg(test)]
#[path = "offsets_test.rs"]
mod offsets_test;
