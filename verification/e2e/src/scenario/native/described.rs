//! The group as its coordinator describes it, next to what its members have and what Kafka plans for them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_kafka::messages::{
    ConsumerGroupDescribeRequest, DescribeGroupsRequest, DescribedClassicGroup, DescribedConsumerAssignment,
};
use kafka_assigner_kafka::{BrokerAddress, BrokerLane, BrokerPool, Connector, Options};
use kafka_assigner_strategies::kafka::wire::ConsumerAssignment;

use super::judge::owned;
use super::members::GroupMembers;
use super::planned::planned;
use crate::scenario::settings::Settings;

const PATIENCE: Duration = Duration::from_secs(20);

/// Partitions of one member.
pub(super) type Part = BTreeSet<(String, u32)>;

/// The comparison of a group whose members stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartsCompared {
    /// True if the parts are those that Kafka's own assignor gives for the members as they joined: its class, run beside
    /// the group, or the broker that plans. `None`: Kafka has no assignor of the strategy.
    pub(super) equal: Option<bool>,
    /// True if members have what the coordinator describes, and none has two partitions more than another.
    pub(super) sound: bool,
}

/// Compares the parts that the coordinator describes with those that the members have, and with Kafka's plan.
pub(super) async fn compared(
    settings: &Settings,
    kafka: &str,
    group: &str,
    members: &GroupMembers,
) -> Result<PartsCompared> {
    let pool = BrokerPool::new(Connector::new(&Options::new(Vec::new()))?);
    let broker: BrokerAddress = kafka.parse()?;
    let described = classic(&pool, &broker, group).await?;
    let (parts, planned) = match described.protocol_type.as_str() {
        "consumer" if !described.protocol_data.is_empty() => {
            let jars = settings.kafka_jars.as_deref().context("--kafka-jars is needed")?;
            (parts(&described), planned(jars, &settings.folder, &described).await?)
        }
        _ => broker_planned(&pool, &broker, group).await.map(|(has, aims)| (has, Some(aims)))?,
    };
    let had: Vec<Part> = members.live_peers().map(|peer| owned(&peer.events())).collect();
    let compared = compare(&parts, planned.as_ref(), had);
    if compared.equal == Some(false) || !compared.sound {
        eprintln!("{group}: described {parts:?}, Kafka plans {planned:?}; {}", members.shown());
    }
    Ok(compared)
}

fn compare(
    described: &BTreeMap<String, Part>,
    planned: Option<&BTreeMap<String, Part>>,
    mut had: Vec<Part>,
) -> PartsCompared {
    let mut parts: Vec<Part> = described.values().cloned().collect();
    had.sort();
    parts.sort();
    let sizes = || parts.iter().map(BTreeSet::len);
    let is_even = sizes().max().unwrap_or(0) <= sizes().min().unwrap_or(0) + 1;
    PartsCompared {
        equal: planned.map(|planned| planned == described),
        sound: is_even && !parts.is_empty() && had == parts,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn part(numbers: &[u32]) -> Part {
        numbers.iter().map(|number| ("t".to_owned(), *number)).collect()
    }

    fn parts(a: &[u32], b: &[u32]) -> BTreeMap<String, Part> {
        [("a".to_owned(), part(a)), ("b".to_owned(), part(b))].into()
    }

    #[test]
    fn a_plan_is_equal_member_by_member_and_without_one_of_kafka_nothing_is_said() {
        let (described, had) = (parts(&[0, 1], &[2]), || vec![part(&[2]), part(&[0, 1])]);
        let judged = |equal| PartsCompared { equal, sound: true };
        assert_eq!(compare(&described, Some(&described), had()), judged(Some(true)));
        assert_eq!(compare(&described, Some(&parts(&[2], &[0, 1])), had()), judged(Some(false)));
        assert_eq!(compare(&described, None, had()), judged(None));
    }

    #[test]
    fn parts_that_are_uneven_or_that_members_do_not_have_are_not_sound() {
        let uneven = parts(&[0, 1, 2], &[3]);
        assert!(!compare(&uneven, None, vec![part(&[0, 1, 2]), part(&[3])]).sound);
        assert!(!compare(&parts(&[0], &[1]), None, vec![part(&[0]), part(&[2])]).sound);
        assert!(!compare(&BTreeMap::new(), None, Vec::new()).sound);
    }
}
