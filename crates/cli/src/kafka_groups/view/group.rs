//! A group with its members.

use kafka_assigner_kafka::messages::{
    DescribedClassicGroup, DescribedClassicMember, DescribedConsumerAssignment, DescribedConsumerGroup,
    DescribedConsumerMember, DescribedShareAssignment, DescribedShareGroup, DescribedShareMember,
    DescribedStreamsGroup, DescribedStreamsMember, StreamsTopology,
};
use serde::Serialize;

use super::partitions::{PartitionKey, PartitionsByTopic};
use super::tasks::StreamsTasks;
use crate::kafka_groups::asker::GroupPlace;
use crate::kafka_groups::kind::KafkaGroupKind;

/// A group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::kafka_groups) struct KafkaGroupView {
    pub(in crate::kafka_groups) group: String,
    #[serde(rename = "type")]
    pub(in crate::kafka_groups) kind: KafkaGroupKind,
    /// As Kafka names it.
    pub(in crate::kafka_groups) state: String,
    /// The broker that coordinates it.
    pub(in crate::kafka_groups) coordinator: CoordinatorView,
    /// The strategy in use; `null` where there is none, or brokers don't tell it.
    pub(in crate::kafka_groups) strategy: Option<String>,
    /// `null` in the classic protocol.
    pub(in crate::kafka_groups) group_epoch: Option<i32>,
    /// The epoch of the plan; `null` in the classic protocol.
    pub(in crate::kafka_groups) target_epoch: Option<i32>,
    /// `null` but for streams groups.
    pub(in crate::kafka_groups) topology_epoch: Option<i32>,
    pub(in crate::kafka_groups) members: Vec<KafkaMemberView>,
    /// The topics that each subtopology of a streams group reads.
    #[serde(skip)]
    pub(in crate::kafka_groups) sources: Vec<(String, Vec<String>)>,
}

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::kafka_groups) struct CoordinatorView {
    pub(in crate::kafka_groups) id: i32,
    pub(in crate::kafka_groups) address: String,
}

/// A member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::kafka_groups) struct KafkaMemberView {
    pub(in crate::kafka_groups) id: String,
    /// `null` = a dynamic member.
    pub(in crate::kafka_groups) instance_id: Option<String>,
    pub(in crate::kafka_groups) host: String,
    pub(in crate::kafka_groups) client_id: String,
    pub(in crate::kafka_groups) protocol: SpokenProtocol,
    /// `null` in the classic protocol.
    pub(in crate::kafka_groups) epoch: Option<i32>,
    /// The process of a streams member; `null` for others.
    pub(in crate::kafka_groups) process: Option<String>,
    #[serde(flatten)]
    pub(in crate::kafka_groups) work: MemberWork,
    /// The reason for which its assignment can't be read.
    pub(in crate::kafka_groups) unreadable: Option<String>,
}

/// The protocol that a member speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::kafka_groups) enum SpokenProtocol {
    Classic,
    Consumer,
    Share,
    Streams,
    /// The broker does not tell.
    Unknown,
}

/// The work of a member, and the work that it is to have where the broker plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(in crate::kafka_groups) enum MemberWork {
    /// Partitions; `target_assignment` is `null` where no broker plans.
    Partitions { assignment: PartitionsByTopic, target_assignment: Option<PartitionsByTopic> },
    /// Tasks.
    Tasks { assignment: StreamsTasks, target_assignment: StreamsTasks },
}

impl CoordinatorView {
    fn new(place: &GroupPlace) -> Self {
        Self { id: place.node, address: place.address.to_string() }
    }
}

impl KafkaGroupView {
    /// A group of the classic protocol.
    pub(in crate::kafka_groups) fn of_classic(answer: DescribedClassicGroup, place: &GroupPlace) -> Self {
        let is_of_consumers = answer.protocol_type == "consumer";
        let member = |member| classic_member(member, is_of_consumers);
        Self {
            members: answer.members.into_iter().map(member).collect(),
            strategy: some(answer.protocol_data),
            ..Self::bare(answer.group_id, KafkaGroupKind::Classic, answer.group_state, place)
        }
    }

    /// A consumer group.
    pub(in crate::kafka_groups) fn of_consumer(answer: DescribedConsumerGroup, place: &GroupPlace) -> Self {
        Self {
            members: answer.members.into_iter().map(consumer_member).collect(),
            strategy: some(answer.assignor_name),
            group_epoch: Some(answer.group_epoch),
            target_epoch: Some(answer.assignment_epoch),
            ..Self::bare(answer.group_id, KafkaGroupKind::Consumer, answer.group_state, place)
        }
    }

    /// A share group.
    pub(in crate::kafka_groups) fn of_share(answer: DescribedShareGroup, place: &GroupPlace) -> Self {
        Self {
            members: answer.members.into_iter().map(share_member).collect(),
            strategy: some(answer.assignor_name),
            group_epoch: Some(answer.group_epoch),
            target_epoch: Some(answer.assignment_epoch),
            ..Self::bare(answer.group_id, KafkaGroupKind::Share, answer.group_state, place)
        }
    }

    /// A streams group.
    pub(in crate::kafka_groups) fn of_streams(answer: DescribedStreamsGroup, place: &GroupPlace) -> Self {
        let topology_epoch = answer.topology.as_ref().map(|topology| topology.epoch);
        Self {
            members: answer.members.into_iter().map(streams_member).collect(),
            strategy: answer.assignor_name.and_then(some),
            group_epoch: Some(answer.group_epoch),
            target_epoch: Some(answer.assignment_epoch),
            topology_epoch,
            sources: answer.topology.map(sources).unwrap_or_default(),
            ..Self::bare(answer.group_id, KafkaGroupKind::Streams, answer.group_state, place)
        }
    }

    fn bare(group: String, kind: KafkaGroupKind, state: String, place: &GroupPlace) -> Self {
        Self {
            group,
            kind,
            state,
            coordinator: CoordinatorView::new(place),
            strategy: None,
            group_epoch: None,
            target_epoch: None,
            topology_epoch: None,
            members: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// The members that speak the classic protocol though the broker plans: the clients that are still to be changed.
    pub(in crate::kafka_groups) fn classic_speakers(&self) -> impl Iterator<Item = &KafkaMemberView> {
        let is_turned = self.kind != KafkaGroupKind::Classic;
        self.members.iter().filter(move |member| is_turned && member.protocol == SpokenProtocol::Classic)
    }
}

impl KafkaMemberView {
    /// The partitions that it has; none where it has tasks.
    pub(in crate::kafka_groups) fn partitions(&self) -> PartitionsByTopic {
        match &self.work {
            MemberWork::Partitions { assignment, .. } => assignment.clone(),
            MemberWork::Tasks { .. } => PartitionsByTopic::default(),
        }
    }

    /// The partitions that it reads: of tasks those of all topics that their subtopology reads.
    pub(super) fn read(&self, sources: &[(String, Vec<String>)]) -> Vec<PartitionKey> {
        match &self.work {
            MemberWork::Partitions { assignment, .. } => assignment.keys().collect(),
            MemberWork::Tasks { assignment, .. } => {
                let topics = |subtopology: &str| {
                    let found = sources.iter().find(|(id, _)| id == subtopology);
                    found.map(|(_, topics)| topics.as_slice()).unwrap_or_default()
                };
                let keys = |(subtopology, number): (&str, i32)| {
                    topics(subtopology).iter().map(move |topic| (topic.clone(), number)).collect::<Vec<_>>()
                };
                assignment.active().flat_map(keys).collect()
            }
        }
    }
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Members of other kinds of groups, such as Connect's, have bytes of their own.
fn classic_member(member: DescribedClassicMember, is_of_consumers: bool) -> KafkaMemberView {
    let bytes: &[u8] = if is_of_consumers { &member.member_assignment.0 } else { &[] };
    let (assignment, unreadable) = match PartitionsByTopic::of_plan(bytes) {
        Ok(assignment) => (assignment, None),
        Err(fault) => (PartitionsByTopic::default(), Some(fault)),
    };
    KafkaMemberView {
        id: member.member_id,
        instance_id: member.group_instance_id,
        host: member.client_host,
        client_id: member.client_id,
        protocol: SpokenProtocol::Classic,
        epoch: None,
        process: None,
        work: MemberWork::Partitions { assignment, target_assignment: None },
        unreadable,
    }
}

fn consumer_member(member: DescribedConsumerMember) -> KafkaMemberView {
    let partitions = |of: DescribedConsumerAssignment| {
        of.topic_partitions.into_iter().map(|topic| (topic.topic_name, topic.partitions)).collect()
    };
    KafkaMemberView {
        id: member.member_id,
        instance_id: member.instance_id,
        host: member.client_host,
        client_id: member.client_id,
        protocol: match member.member_type {
            0 => SpokenProtocol::Classic,
            1 => SpokenProtocol::Consumer,
            _ => SpokenProtocol::Unknown,
        },
        epoch: Some(member.member_epoch),
        process: None,
        work: MemberWork::Partitions {
            assignment: partitions(member.assignment),
            target_assignment: Some(partitions(member.target_assignment)),
        },
        unreadable: None,
    }
}

fn share_member(member: DescribedShareMember) -> KafkaMemberView {
    let partitions = |of: DescribedShareAssignment| {
        of.topic_partitions.into_iter().map(|topic| (topic.topic_name, topic.partitions)).collect()
    };
    KafkaMemberView {
        id: member.member_id,
        instance_id: None,
        host: member.client_host,
        client_id: member.client_id,
        protocol: SpokenProtocol::Share,
        epoch: Some(member.member_epoch),
        process: None,
        work: MemberWork::Partitions { assignment: partitions(member.assignment), target_assignment: None },
        unreadable: None,
    }
}

fn streams_member(member: DescribedStreamsMember) -> KafkaMemberView {
    KafkaMemberView {
        id: member.member_id,
        instance_id: member.instance_id,
        host: member.client_host,
        client_id: member.client_id,
        protocol: if member.is_classic { SpokenProtocol::Classic } else { SpokenProtocol::Streams },
        epoch: Some(member.member_epoch),
        process: Some(member.process_id),
        work: MemberWork::Tasks {
            assignment: StreamsTasks::new(member.assignment),
            target_assignment: StreamsTasks::new(member.target_assignment),
        },
        unreadable: None,
    }
}

/// The topics that each subtopology reads: those of the application, and those that it makes for itself.
fn sources(topology: StreamsTopology) -> Vec<(String, Vec<String>)> {
    let subtopologies = topology.subtopologies.unwrap_or_default();
    let one = |mut subtopology: kafka_assigner_kafka::messages::StreamsSubtopology| {
        let own = subtopology.repartition_source_topics.into_iter().map(|topic| topic.name);
        subtopology.source_topics.extend(own);
        (subtopology.subtopology_id, subtopology.source_topics)
    };
    subtopologies.into_iter().map(one).collect()
}

#[cfg(test)]
#[path = "group_test.rs"]
pub(in crate::kafka_groups) mod group_test;
