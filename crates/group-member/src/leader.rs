//! The plan of a generation, for the member that leads.

mod own_rules;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use kafka_assigner_kafka::messages::JoinGroupResponseMember;
use kafka_assigner_strategies::kafka::wire::{ConsumerSubscription, TopicPartitions};
use kafka_assigner_strategies::kafka::{
    Group, GroupAssignment, GroupBuilder, GroupMemberSpec, cooperative_sticky, range, roundrobin, sticky,
};
use kafka_assigner_strategies::{Balanced, CopartitionedSticky, InvalidProblem, MemberIndex, Strategy};
use kafka_assigner_types::id::TopicPartition;

use crate::subscription::assignment_bytes;

/// A member of the generation, as the coordinator tells the leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedMember {
    /// Its id.
    pub id: String,
    /// Its instance id.
    pub instance: Option<String>,
    /// Its subscription, in its own bytes.
    pub subscription: Bytes,
}

impl JoinedMember {
    pub(crate) fn of_answer(members: Vec<JoinGroupResponseMember>) -> Vec<Self> {
        let member = |member: JoinGroupResponseMember| Self {
            id: member.member_id,
            instance: member.group_instance_id,
            subscription: member.metadata.0,
        };
        members.into_iter().map(member).collect()
    }
}

/// The facts of a topic that a plan depends on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TopicFacts {
    /// The number of its partitions.
    pub partitions: u32,
    /// By partition the racks of its replicas, as far as known.
    pub racks: Vec<BTreeSet<String>>,
}

/// The rule by which a plan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanRule {
    /// Kafka's `range`.
    Range,
    /// Kafka's `roundrobin`.
    RoundRobin,
    /// Kafka's `sticky`.
    Sticky,
    /// Kafka's `cooperative-sticky`.
    CooperativeSticky,
    /// The strategy `balanced` of this project.
    Balanced,
    /// The strategy `copartitioned-sticky` of this project.
    CopartitionedSticky,
}

/// A strategy that has no rule here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no strategy that this member can plan by")]
pub struct UnknownRule(pub String);

impl PlanRule {
    /// The rule of a strategy.
    ///
    /// # Errors
    /// [`UnknownRule`] where there is none of that name.
    pub fn of_name(name: &str) -> Result<Self, UnknownRule> {
        match name {
            "range" => Ok(Self::Range),
            "roundrobin" => Ok(Self::RoundRobin),
            "sticky" => Ok(Self::Sticky),
            "cooperative-sticky" => Ok(Self::CooperativeSticky),
            "balanced" => Ok(Self::Balanced),
            "copartitioned-sticky" => Ok(Self::CopartitionedSticky),
            other => Err(UnknownRule(other.to_owned())),
        }
    }

    /// The function over what a group says of itself, or the strategy over a problem.
    fn method(self) -> PlanMethod {
        match self {
            Self::Range => PlanMethod::OfKafka(range),
            Self::RoundRobin => PlanMethod::OfKafka(roundrobin),
            Self::Sticky => PlanMethod::OfKafka(sticky),
            Self::CooperativeSticky => PlanMethod::OfKafka(cooperative_sticky),
            Self::Balanced => PlanMethod::Own(&Balanced),
            Self::CopartitionedSticky => PlanMethod::Own(&CopartitionedSticky),
        }
    }
}

/// The way in which a rule plans.
#[derive(Debug, Clone, Copy)]
enum PlanMethod {
    /// As one of Kafka's classes.
    OfKafka(fn(&Group) -> GroupAssignment),
    /// As a strategy of this project.
    Own(&'static dyn Strategy),
}

/// A plan in the making, and what it was made of: the leader plans again where that changes.
///
/// A member whose subscription can't be read gets nothing, and costs the others nothing.
#[derive(Debug, Clone)]
pub struct GroupPlan {
    rule: PlanRule,
    members: Vec<JoinedMember>,
    /// The metadata that the plan was made of.
    seen: BTreeMap<String, TopicFacts>,
}

impl GroupPlan {
    /// A plan for `members`, of whom each id counts once.
    #[must_use]
    pub fn new(rule: PlanRule, mut members: Vec<JoinedMember>) -> Self {
        let mut known = BTreeSet::new();
        members.retain(|member| known.insert(member.id.clone()));
        Self { rule, members, seen: BTreeMap::new() }
    }

    /// The topics of all members: those whose metadata is needed, and watched.
    #[must_use]
    pub fn topics(&self) -> BTreeSet<String> {
        let subscriptions = self.members.iter().filter_map(subscription);
        subscriptions.flat_map(|subscription| subscription.topics).map(str::to_owned).collect()
    }

    /// Makes the plan: the bytes for each member. Topics that are not in `metadata` do not exist.
    ///
    /// # Errors
    /// [`InvalidProblem::TooManyUnits`] where the topics have more partitions than can be planned.
    pub fn make(
        &mut self,
        metadata: BTreeMap<String, TopicFacts>,
    ) -> Result<Vec<(String, Vec<u8>)>, InvalidProblem> {
        let parts = match self.rule.method() {
            PlanMethod::OfKafka(assign) => self.as_kafka(assign, &metadata)?,
            PlanMethod::Own(strategy) => own_rules::parts(strategy, &self.members, &metadata)?,
        };
        let ids = self.members.iter().map(|member| member.id.clone());
        let plan = ids.zip(parts.iter().map(assignment_bytes)).collect();
        self.seen = metadata;
        Ok(plan)
    }

    /// The part of each member, in their order, as one of Kafka's classes gives it.
    fn as_kafka(
        &self,
        assign: fn(&Group) -> GroupAssignment,
        metadata: &BTreeMap<String, TopicFacts>,
    ) -> Result<Vec<BTreeSet<TopicPartition>>, InvalidProblem> {
        let group = self.group(metadata)?;
        let assignment = assign(&group);
        let part = |member: &JoinedMember| {
            let part = group.member_named(&member.id).map(|index| part_of(&group, &assignment, index));
            part.unwrap_or_default()
        };
        Ok(self.members.iter().map(part).collect())
    }

    /// True where `metadata` calls for another plan: a topic has come, gone or grown, or a replica is in another rack. A
    /// rack that is not known now has not changed: a broker that restarts would otherwise cost two rebalances.
    #[must_use]
    pub fn is_outdated(&self, metadata: &BTreeMap<String, TopicFacts>) -> bool {
        self.topics().iter().any(|topic| match (self.seen.get(topic), metadata.get(topic)) {
            (None, None) => false,
            (Some(seen), Some(now)) => seen.partitions != now.partitions || has_new_rack(seen, now),
            _ => true,
        })
    }

    fn group(&self, metadata: &BTreeMap<String, TopicFacts>) -> Result<Group, InvalidProblem> {
        let mut builder = Group::builder();
        for topic in self.topics() {
            let facts = metadata.get(&topic).cloned().unwrap_or_default();
            let handle = builder.topic(topic, facts.partitions);
            for (partition, racks) in (0..).zip(&facts.racks) {
                builder.replicas(handle, partition, racks.iter().map(String::as_str));
            }
        }
        for member in &self.members {
            self.add(member, &mut builder);
        }
        builder.build()
    }

    fn add(&self, member: &JoinedMember, builder: &mut GroupBuilder) {
        let read = subscription(member).unwrap_or_default();
        let topics: Vec<_> = read.topics.iter().filter_map(|topic| builder.topic_handle(topic)).collect();
        let (claims, generation) = self.claims(&read);
        let known = builder.subscription(topics);
        let spec = GroupMemberSpec {
            instance: member.instance.as_deref().map(Into::into),
            rack: read.rack.map(Into::into),
            generation,
            ..GroupMemberSpec::new(member.id.as_str(), known)
        };
        let handle = builder.member(spec);
        for TopicPartitions { topic, partitions } in claims {
            if let Some(topic) = builder.topic_handle(topic) {
                builder.claims(handle, topic, partitions);
            }
        }
    }

    /// The claims of a member, as the rule reads them.
    fn claims<'a>(&self, read: &ConsumerSubscription<'a>) -> (Vec<TopicPartitions<'a>>, Option<i32>) {
        match self.rule {
            PlanRule::Range | PlanRule::RoundRobin => (Vec::new(), None),
            PlanRule::Sticky => {
                let claims = read.sticky_claims();
                (claims.partitions, claims.generation)
            }
            PlanRule::CooperativeSticky | PlanRule::Balanced | PlanRule::CopartitionedSticky => {
                (read.owned.clone(), read.cooperative_generation())
            }
        }
    }
}

fn subscription(member: &JoinedMember) -> Option<ConsumerSubscription<'_>> {
    ConsumerSubscription::read(&member.subscription).ok()
}

fn part_of(group: &Group, assignment: &GroupAssignment, member: MemberIndex) -> BTreeSet<TopicPartition> {
    let partition = |unit: &_| {
        let (topic, partition) = group.topic_of(*unit);
        TopicPartition::try_from((&*group.topics()[topic.index()].name, partition)).ok()
    };
    assignment.of(member).iter().filter_map(partition).collect()
}

fn has_new_rack(seen: &TopicFacts, now: &TopicFacts) -> bool {
    let nothing = BTreeSet::new();
    let seen = seen.racks.iter().chain(std::iter::repeat(&nothing));
    now.racks.iter().zip(seen).any(|(now, seen)| !now.is_subset(seen))
}

#[cfg(test)]
#[path = "leader_test.rs"]
mod leader_test;
