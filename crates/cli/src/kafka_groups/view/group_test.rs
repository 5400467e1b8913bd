//! Groups as brokers describe them.

use kafka_assigner_kafka::messages::{
    DescribedConsumerTopic, StreamsSubtopology, StreamsTaskAssignment, StreamsTaskIds, StreamsTopicInfo,
};
use kafka_assigner_kafka::wire::Blob;
use kafka_assigner_strategies::kafka::wire::{ConsumerAssignment, TopicPartitions};

use super::*;

pub(in crate::kafka_groups) fn place() -> GroupPlace {
    GroupPlace { node: 1, address: "kafka-1:9092".parse().unwrap() }
}

/// A member of a consumer group that has some partitions of the topic `t`, and is to have others.
pub(in crate::kafka_groups) fn consumer_member(
    id: &str,
    has: &[i32],
    target: &[i32],
) -> DescribedConsumerMember {
    let assignment = |numbers: &[i32]| {
        let topic = DescribedConsumerTopic {
            topic_name: "t".to_owned(),
            partitions: numbers.to_vec(),
            ..DescribedConsumerTopic::default()
        };
        DescribedConsumerAssignment { topic_partitions: vec![topic] }
    };
    DescribedConsumerMember {
        member_id: id.to_owned(),
        client_id: format!("client-{id}"),
        client_host: "/127.0.0.1".to_owned(),
        member_epoch: 4,
        member_type: 1,
        assignment: assignment(has),
        target_assignment: assignment(target),
        ..DescribedConsumerMember::default()
    }
}

pub(in crate::kafka_groups) fn consumer_group(members: Vec<DescribedConsumerMember>) -> KafkaGroupView {
    let answer = DescribedConsumerGroup {
        group_id: "billing".to_owned(),
        group_state: "Reconciling".to_owned(),
        group_epoch: 5,
        assignment_epoch: 5,
        assignor_name: "uniform".to_owned(),
        members,
        ..DescribedConsumerGroup::default()
    };
    KafkaGroupView::of_consumer(answer, &place())
}

/// A group of the classic protocol, whose member has partitions 0 and 1 of the topic `t`.
pub(in crate::kafka_groups) fn classic_group(state: &str) -> KafkaGroupView {
    let partitions = vec![TopicPartitions { topic: "t", partitions: vec![0, 1] }];
    let plan = ConsumerAssignment { partitions, ..ConsumerAssignment::default() }.write();
    let member = |id: &str, plan: Vec<u8>| DescribedClassicMember {
        member_id: id.to_owned(),
        client_id: "client".to_owned(),
        client_host: "/127.0.0.1".to_owned(),
        group_instance_id: (id == "a").then(|| "one".to_owned()),
        member_assignment: Blob(plan.into()),
        ..DescribedClassicMember::default()
    };
    let answer = DescribedClassicGroup {
        group_id: "orders".to_owned(),
        group_state: state.to_owned(),
        protocol_type: "consumer".to_owned(),
        protocol_data: "range".to_owned(),
        members: if state == "Empty" {
            Vec::new()
        } else {
            vec![member("a", plan), member("b", vec![0, 1, 0])]
        },
        ..DescribedClassicGroup::default()
    };
    KafkaGroupView::of_classic(answer, &place())
}

/// A streams group with one member, which has the active tasks 0 and 1 of the subtopology `0`.
pub(in crate::kafka_groups) fn streams_group() -> KafkaGroupView {
    let active = StreamsTaskIds { subtopology_id: "0".to_owned(), partitions: vec![0, 1] };
    let tasks = StreamsTaskAssignment { active_tasks: vec![active], ..StreamsTaskAssignment::default() };
    let member = DescribedStreamsMember {
        member_id: "m".to_owned(),
        client_id: "app-client".to_owned(),
        process_id: "p-1".to_owned(),
        member_epoch: 3,
        assignment: tasks.clone(),
        target_assignment: tasks,
        ..DescribedStreamsMember::default()
    };
    let made = StreamsTopicInfo { name: "app-repartition".to_owned(), ..StreamsTopicInfo::default() };
    let subtopology = StreamsSubtopology {
        subtopology_id: "0".to_owned(),
        source_topics: vec!["in".to_owned()],
        repartition_source_topics: vec![made],
        ..StreamsSubtopology::default()
    };
    let answer = DescribedStreamsGroup {
        group_id: "app".to_owned(),
        group_state: "Stable".to_owned(),
        group_epoch: 3,
        assignment_epoch: 3,
        topology: Some(StreamsTopology { epoch: 1, subtopologies: Some(vec![subtopology]) }),
        members: vec![member],
        ..DescribedStreamsGroup::default()
    };
    KafkaGroupView::of_streams(answer, &place())
}

#[test]
fn a_member_whose_plan_is_broken_is_told_and_hides_no_other() {
    let group = classic_group("Stable");
    assert_eq!(group.members[0].partitions().to_string(), "t:0,1");
    assert!(group.members[1].unreadable.is_some() && group.members[1].partitions().is_empty());
    assert_eq!((group.strategy.as_deref(), group.group_epoch), (Some("range"), None));
}

#[test]
fn members_of_other_kinds_of_groups_have_no_partitions() {
    let member =
        DescribedClassicMember { member_assignment: Blob(vec![1, 2, 3].into()), ..Default::default() };
    let answer = DescribedClassicGroup {
        protocol_type: "connect".to_owned(),
        members: vec![member],
        ..DescribedClassicGroup::default()
    };
    let group = KafkaGroupView::of_classic(answer, &place());
    assert_eq!(group.members[0].unreadable, None);
}

#[test]
fn clients_that_speak_the_classic_protocol_are_told_where_the_broker_plans() {
    let old = DescribedConsumerMember { member_type: 0, ..consumer_member("old", &[0], &[0]) };
    let group = consumer_group(vec![consumer_member("new", &[1], &[1]), old]);
    assert_eq!(group.classic_speakers().map(|member| member.id.as_str()).collect::<Vec<_>>(), ["old"]);
    assert_eq!(classic_group("Stable").classic_speakers().count(), 0, "all of them do");
}

#[test]
fn tasks_read_the_topics_of_their_subtopology() {
    let group = streams_group();
    let read = group.members[0].read(&group.sources);
    let names: Vec<_> = read.iter().map(|(topic, number)| format!("{topic}-{number}")).collect();
    assert_eq!(names, ["in-0", "app-repartition-0", "in-1", "app-repartition-1"]);
}
