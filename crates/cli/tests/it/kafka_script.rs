//! The groups that the scripted broker shows: one of each type, and one that the user may not see.

use kafka_assigner_kafka::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribeGroupsResponse,
    DescribeShareGroupOffsetsResponse, DescribedClassicGroup, DescribedClassicMember,
    DescribedConsumerAssignment, DescribedConsumerGroup, DescribedConsumerMember, DescribedConsumerTopic,
    DescribedShareAssignment, DescribedShareGroup, DescribedShareMember, DescribedShareTopic,
    DescribedStreamsGroup, DescribedStreamsMember, FindCoordinatorRequest, FindCoordinatorResponse,
    FoundCoordinator, GroupListResponse, ListOffsetsRequest, ListOffsetsResponse, ListedGroup,
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
    ShareGroupDescribeResponse, ShareOffsetsGroup, ShareOffsetsPartition, ShareOffsetsTopic,
    StreamsGroupDescribeResponse, StreamsSubtopology, StreamsTaskAssignment, StreamsTaskIds, StreamsTopology,
};
use kafka_assigner_kafka::testing::offsets_of_logs;
use kafka_assigner_kafka::wire::{Blob, Uuid};
use kafka_assigner_strategies::kafka::wire::{ConsumerAssignment, TopicPartitions};

/// The topic that all groups read; it has four partitions.
const TOPIC: &str = "clicks";

const TOPIC_ID: Uuid = Uuid([7; 16]);

const HOST: &str = "/10.0.0.7";

const NODE: i32 = 1;

/// The group that the user may not see.
const HIDDEN: &str = "hidden";

pub(crate) fn metadata(port: u16) -> MetadataResponse {
    let broker =
        MetadataResponseBroker { node_id: NODE, host: "127.0.0.1".to_owned(), port: port.into(), rack: None };
    let partition = |partition_index| MetadataResponsePartition {
        partition_index,
        leader_id: NODE,
        ..MetadataResponsePartition::default()
    };
    let topic = MetadataResponseTopic {
        name: Some(TOPIC.to_owned()),
        topic_id: TOPIC_ID,
        partitions: (0..4).map(partition).collect(),
        ..MetadataResponseTopic::default()
    };
    MetadataResponse { brokers: vec![broker], topics: vec![topic], ..MetadataResponse::default() }
}

pub(crate) fn coordinator(request: &FindCoordinatorRequest, port: u16) -> FindCoordinatorResponse {
    let found = FoundCoordinator {
        key: request.coordinator_keys[0].clone(),
        node_id: NODE,
        host: "127.0.0.1".to_owned(),
        port: port.into(),
        ..FoundCoordinator::default()
    };
    FindCoordinatorResponse { coordinators: vec![found], ..FindCoordinatorResponse::default() }
}

pub(crate) fn list() -> GroupListResponse {
    let group = |group: &str, protocol: &str, state: &str, kind: &str| ListedGroup {
        group_id: group.to_owned(),
        protocol_type: protocol.to_owned(),
        group_state: state.to_owned(),
        group_type: kind.to_owned(),
    };
    let groups = vec![
        group("orders", "consumer", "Stable", "Classic"),
        group("billing", "consumer", "Reconciling", "Consumer"),
        group("jobs", "share", "Stable", "Share"),
        group("totals", "streams", "Stable", "Streams"),
        group(HIDDEN, "consumer", "Stable", "Consumer"),
        group("later", "consumer", "Stable", "Invented"),
    ];
    GroupListResponse { groups, ..GroupListResponse::default() }
}

pub(crate) fn classic() -> DescribeGroupsResponse {
    let member = |id: &str, numbers: &[i32]| {
        let partitions = vec![TopicPartitions { topic: TOPIC, partitions: numbers.to_vec() }];
        let plan = ConsumerAssignment { partitions, ..ConsumerAssignment::default() };
        DescribedClassicMember {
            member_id: format!("{id}-4f1a"),
            group_instance_id: Some(id.to_owned()),
            client_id: "orders-client".to_owned(),
            client_host: HOST.to_owned(),
            member_assignment: Blob(plan.write().into()),
            ..DescribedClassicMember::default()
        }
    };
    let group = DescribedClassicGroup {
        group_id: "orders".to_owned(),
        group_state: "Stable".to_owned(),
        protocol_type: "consumer".to_owned(),
        protocol_data: "cooperative-sticky".to_owned(),
        members: vec![member("cache-a", &[0, 1]), member("cache-b", &[2])],
        ..DescribedClassicGroup::default()
    };
    DescribeGroupsResponse { groups: vec![group], ..DescribeGroupsResponse::default() }
}

pub(crate) fn consumer(request: &ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse {
    let member = |id: &str, member_type, has: &[i32], target: &[i32]| DescribedConsumerMember {
        member_id: id.to_owned(),
        client_id: format!("billing-{id}"),
        client_host: HOST.to_owned(),
        member_epoch: 7,
        member_type,
        assignment: consumer_part(has),
        target_assignment: consumer_part(target),
        ..DescribedConsumerMember::default()
    };
    let group = DescribedConsumerGroup {
        error_code: if request.group_ids[0] == HIDDEN { 30 } else { 0 },
        group_id: "billing".to_owned(),
        group_state: "Reconciling".to_owned(),
        group_epoch: 8,
        assignment_epoch: 8,
        assignor_name: "uniform".to_owned(),
        members: vec![
            member("a", 1, &[0, 1, 2], &[0, 1]),
            member("b", 1, &[], &[2]),
            member("c", 0, &[3], &[3]),
        ],
        ..DescribedConsumerGroup::default()
    };
    ConsumerGroupDescribeResponse { groups: vec![group], ..ConsumerGroupDescribeResponse::default() }
}

fn consumer_part(numbers: &[i32]) -> DescribedConsumerAssignment {
    let topic = DescribedConsumerTopic {
        topic_id: TOPIC_ID,
        topic_name: TOPIC.to_owned(),
        partitions: numbers.to_vec(),
    };
    DescribedConsumerAssignment { topic_partitions: vec![topic] }
}

pub(crate) fn share() -> ShareGroupDescribeResponse {
    let topic =
        DescribedShareTopic { topic_id: TOPIC_ID, topic_name: TOPIC.to_owned(), partitions: vec![0, 1] };
    let member = DescribedShareMember {
        member_id: "worker-1".to_owned(),
        client_id: "jobs-client".to_owned(),
        client_host: HOST.to_owned(),
        member_epoch: 2,
        assignment: DescribedShareAssignment { topic_partitions: vec![topic] },
        ..DescribedShareMember::default()
    };
    let group = DescribedShareGroup {
        group_id: "jobs".to_owned(),
        group_state: "Stable".to_owned(),
        group_epoch: 2,
        assignment_epoch: 2,
        assignor_name: "simple".to_owned(),
        members: vec![member],
        ..DescribedShareGroup::default()
    };
    ShareGroupDescribeResponse { groups: vec![group], ..ShareGroupDescribeResponse::default() }
}

pub(crate) fn streams() -> StreamsGroupDescribeResponse {
    let active = StreamsTaskIds { subtopology_id: "0".to_owned(), partitions: vec![0, 1] };
    let tasks = StreamsTaskAssignment { active_tasks: vec![active], ..StreamsTaskAssignment::default() };
    let member = DescribedStreamsMember {
        member_id: "stream-1".to_owned(),
        member_epoch: 3,
        client_id: "totals-client".to_owned(),
        client_host: HOST.to_owned(),
        topology_epoch: 0,
        process_id: "process-1".to_owned(),
        assignment: tasks.clone(),
        target_assignment: tasks,
        ..DescribedStreamsMember::default()
    };
    let subtopology = StreamsSubtopology {
        subtopology_id: "0".to_owned(),
        source_topics: vec![TOPIC.to_owned()],
        ..StreamsSubtopology::default()
    };
    let group = DescribedStreamsGroup {
        group_id: "totals".to_owned(),
        group_state: "Stable".to_owned(),
        group_epoch: 3,
        assignment_epoch: 3,
        topology: Some(StreamsTopology { epoch: 0, subtopologies: Some(vec![subtopology]) }),
        members: vec![member],
        assignor_name: Some("sticky".to_owned()),
        ..DescribedStreamsGroup::default()
    };
    StreamsGroupDescribeResponse { groups: vec![group], ..StreamsGroupDescribeResponse::default() }
}

/// Offsets of partitions 0, 1 and 3; nothing is committed for 2.
pub(crate) fn committed() -> OffsetFetchResponse {
    let partition = |(partition_index, committed_offset)| OffsetFetchResponsePartitions {
        partition_index,
        committed_offset,
        committed_leader_epoch: 0,
        metadata: Some(String::new()),
        error_code: 0,
    };
    let topic = OffsetFetchResponseTopics {
        topic_id: TOPIC_ID,
        partitions: [(0, 40), (1, 42), (3, 12)].map(partition).into(),
        ..OffsetFetchResponseTopics::default()
    };
    let group = OffsetFetchResponseGroup {
        group_id: String::new(),
        topics: vec![topic],
        ..OffsetFetchResponseGroup::default()
    };
    OffsetFetchResponse { groups: vec![group], ..OffsetFetchResponse::default() }
}

pub(crate) fn shared_offsets() -> DescribeShareGroupOffsetsResponse {
    let partition = |partition_index, start_offset, lag| ShareOffsetsPartition {
        partition_index,
        start_offset,
        leader_epoch: 0,
        lag,
        ..ShareOffsetsPartition::default()
    };
    let topic = ShareOffsetsTopic {
        topic_name: TOPIC.to_owned(),
        topic_id: TOPIC_ID,
        partitions: vec![partition(0, 40, 2), partition(1, 42, 0)],
    };
    let group = ShareOffsetsGroup {
        group_id: "jobs".to_owned(),
        topics: vec![topic],
        ..ShareOffsetsGroup::default()
    };
    DescribeShareGroupOffsetsResponse { groups: vec![group], ..Default::default() }
}

/// Each log begins at 2 and ends at 42.
pub(crate) fn ends(request: &ListOffsetsRequest) -> ListOffsetsResponse {
    offsets_of_logs(request, |timestamp| if timestamp == -1 { 42 } else { 2 })
}
