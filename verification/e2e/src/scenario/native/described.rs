//! The group as its coordinator describes it, next to the plan that its members' subscriptions call for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_group_member::{GroupPlan, JoinedMember, PlanRule, TopicFacts};
use kafka_assigner_kafka::messages::{
    ConsumerGroupDescribeRequest, DescribeGroupsRequest, DescribedClassicGroup, DescribedConsumerAssignment,
};
use kafka_assigner_kafka::{BrokerAddress, BrokerLane, BrokerPool, Connector, Options};
use kafka_assigner_strategies::kafka::wire::ConsumerAssignment;

use super::PARTITIONS;
use super::judge::owned;
use super::members::GroupMembers;

const PATIENCE: Duration = Duration::from_secs(20);

/// Partitions of one member.
type Part = BTreeSet<(String, u32)>;

/// True if the coordinator's parts are those that the members have, and those that the rule gives for the members'
/// subscriptions. Where the broker plans, its target has to be what members have.
pub(super) async fn is_as_planned(kafka: &str, group: &str, members: &GroupMembers) -> Result<bool> {
    let pool = BrokerPool::new(Connector::new(&Options::new(Vec::new()))?);
    let broker: BrokerAddress = kafka.parse()?;
    let described = classic(&pool, &broker, group).await?;
    let (parts, planned) = match described.protocol_type.as_str() {
        "consumer" if !described.protocol_data.is_empty() => (parts(&described), planned(&described)?),
        _ => broker_planned(&pool, &broker, group).await?,
    };
    let mut had: Vec<Part> = members.live_peers().map(|peer| owned(&peer.events())).collect();
    let mut described: Vec<Part> = parts.values().cloned().collect();
    had.sort();
    described.sort();
    let is_equal = parts == planned && had == described;
    if !is_equal {
        eprintln!("{group}: described {parts:?}, planned {planned:?}, members have {had:?}");
    }
    Ok(is_equal)
}

async fn classic(pool: &BrokerPool, broker: &BrokerAddress, group: &str) -> Result<DescribedClassicGroup> {
    let ask = |_| DescribeGroupsRequest { groups: vec![group.to_owned()], ..Default::default() };
    let (answer, _) = pool.ask(broker, BrokerLane::Requests, ask, PATIENCE).await?;
    answer.groups.into_iter().next().context("the coordinator does not describe the group")
}

fn parts(group: &DescribedClassicGroup) -> BTreeMap<String, Part> {
    let member = |member: &kafka_assigner_kafka::messages::DescribedClassicMember| {
        (member.member_id.clone(), part(&member.member_assignment.0))
    };
    group.members.iter().map(member).collect()
}

fn part(bytes: &[u8]) -> Part {
    let assignment = ConsumerAssignment::read(bytes).ok();
    let topics = assignment.iter().flat_map(|assignment| &assignment.partitions);
    let of_topic = |of: &kafka_assigner_strategies::kafka::wire::TopicPartitions<'_>| {
        let topic = of.topic.to_owned();
        of.partitions.iter().map(|number| (topic.clone(), number.unsigned_abs())).collect::<Vec<_>>()
    };
    topics.flat_map(of_topic).collect()
}

/// The plan that the rule gives for the members as they joined.
fn planned(group: &DescribedClassicGroup) -> Result<BTreeMap<String, Part>> {
    let joined = |member: &kafka_assigner_kafka::messages::DescribedClassicMember| JoinedMember {
        id: member.member_id.clone(),
        instance: member.group_instance_id.clone(),
        subscription: member.member_metadata.0.clone(),
    };
    let rule = PlanRule::of_name(&group.protocol_data)?;
    let mut plan = GroupPlan::new(rule, group.members.iter().map(joined).collect());
    let facts = TopicFacts { partitions: PARTITIONS, racks: Vec::new() };
    let metadata = plan.topics().into_iter().map(|topic| (topic, facts.clone())).collect();
    Ok(plan.make(metadata)?.into_iter().map(|(id, bytes)| (id, part(&bytes))).collect())
}

/// The parts that the broker has given, and those that it aims at.
async fn broker_planned(
    pool: &BrokerPool,
    broker: &BrokerAddress,
    group: &str,
) -> Result<(BTreeMap<String, Part>, BTreeMap<String, Part>)> {
    let ask = |_| ConsumerGroupDescribeRequest { group_ids: vec![group.to_owned()], ..Default::default() };
    let (answer, _) = pool.ask(broker, BrokerLane::Requests, ask, PATIENCE).await?;
    let group = answer.groups.into_iter().next().context("the coordinator does not describe the group")?;
    let part = |assignment: &DescribedConsumerAssignment| -> Part {
        let topics = assignment.topic_partitions.iter();
        let of_topic = |of: &kafka_assigner_kafka::messages::DescribedConsumerTopic| {
            let topic = of.topic_name.clone();
            of.partitions.iter().map(|number| (topic.clone(), number.unsigned_abs())).collect::<Vec<_>>()
        };
        topics.flat_map(of_topic).collect()
    };
    let has = group.members.iter().map(|member| (member.member_id.clone(), part(&member.assignment)));
    let aims = group.members.iter().map(|member| (member.member_id.clone(), part(&member.target_assignment)));
    Ok((has.collect(), aims.collect()))
}
