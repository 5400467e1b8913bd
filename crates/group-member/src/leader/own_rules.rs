//! Plans by the strategies of this project.
//!
//! A strategy gets as today's owners the claims of members, of which the newest generation counts. What a member still
//! owns and is to lose is given to nobody in this generation: its owner gives it up, and joins again.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_strategies::kafka::wire::ConsumerSubscription;
use kafka_assigner_strategies::{
    InvalidProblem, MemberHandle, MemberSpec, Problem, ProblemBuilder, ReplicaRacks, Strategy,
};
use kafka_assigner_types::id::TopicPartition;

use super::{JoinedMember, TopicFacts, subscription};

/// By partition, the claim that counts.
type Claims<'a> = BTreeMap<(&'a str, u32), PartitionClaim>;

/// The claim on a partition that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartitionClaim {
    /// The generation; −1: not known.
    generation: i32,
    /// The member's place in the list; `None` where two claim it in one generation.
    member: Option<usize>,
    /// True where it still has the partition, and does not only remember it.
    is_held: bool,
}

/// The part of each member, in their order.
pub(super) fn parts(
    strategy: &dyn Strategy,
    members: &[JoinedMember],
    metadata: &BTreeMap<String, TopicFacts>,
) -> Result<Vec<BTreeSet<TopicPartition>>, InvalidProblem> {
    let read: Vec<_> = members.iter().map(|member| subscription(member).unwrap_or_default()).collect();
    let claims = claims(&read, metadata);
    let problem = problem(members, &read, &claims, metadata)?;
    Ok(placed(strategy, &problem, members, &claims))
}

fn claims<'a>(
    read: &'a [ConsumerSubscription<'_>],
    metadata: &'a BTreeMap<String, TopicFacts>,
) -> Claims<'a> {
    let mut claims = Claims::new();
    for (member, read) in read.iter().enumerate() {
        for (partition, generation, is_held) in claims_of(read, metadata) {
            let claim = PartitionClaim { generation, member: Some(member), is_held };
            claims.entry(partition).and_modify(|other| *other = newer(*other, claim)).or_insert(claim);
        }
    }
    claims
}

/// The claims of a member: what it owns, or else what it had before it joined. Partitions that do not exist are left out.
fn claims_of<'a>(
    read: &ConsumerSubscription<'_>,
    metadata: &'a BTreeMap<String, TopicFacts>,
) -> Vec<((&'a str, u32), i32, bool)> {
    let is_held = !read.owned.is_empty();
    let had = read.sticky_claims();
    let (partitions, generation) = if is_held {
        (&read.owned, read.cooperative_generation())
    } else {
        (&had.partitions, had.generation)
    };
    let mut claims = Vec::new();
    for of_topic in partitions {
        let Some((topic, facts)) = metadata.get_key_value(of_topic.topic) else { continue };
        let numbers = of_topic.partitions.iter().filter_map(|number| u32::try_from(*number).ok());
        let existing: BTreeSet<u32> = numbers.filter(|number| *number < facts.partitions).collect();
        let claim = |number| ((topic.as_str(), number), generation.unwrap_or(-1), is_held);
        claims.extend(existing.into_iter().map(claim));
    }
    claims
}

/// The newer claim; none of two of one generation.
const fn newer(one: PartitionClaim, other: PartitionClaim) -> PartitionClaim {
    if one.generation > other.generation {
        one
    } else if one.generation < other.generation {
        other
    } else {
        PartitionClaim { member: None, is_held: one.is_held || other.is_held, ..one }
    }
}

fn problem(
    members: &[JoinedMember],
    read: &[ConsumerSubscription<'_>],
    claims: &Claims<'_>,
    metadata: &BTreeMap<String, TopicFacts>,
) -> Result<Problem, InvalidProblem> {
    let mut builder = Problem::builder();
    for (name, facts) in metadata {
        let topic = builder.topic(name.as_str(), facts.partitions);
        builder.replica_racks(topic, &ReplicaRacks::new(&facts.racks));
    }
    let handles: Vec<_> =
        members.iter().zip(read).map(|(member, read)| add(&mut builder, member, read)).collect();
    for ((name, partition), claim) in claims {
        if let (Some(topic), Some(member)) = (builder.topic_handle(name), claim.member) {
            builder.current(topic, *partition, handles[member]);
        }
    }
    builder.build()
}

fn add(builder: &mut ProblemBuilder, member: &JoinedMember, read: &ConsumerSubscription<'_>) -> MemberHandle {
    let subscription = builder.subscription(&read.topics);
    let rack = read.rack.filter(|rack| !rack.is_empty()).map(|rack| builder.rack(&rack.into()));
    builder.member(MemberSpec { subscription, rack, ..MemberSpec::new(member.id.as_str()) })
}

fn placed(
    strategy: &dyn Strategy,
    problem: &Problem,
    members: &[JoinedMember],
    claims: &Claims<'_>,
) -> Vec<BTreeSet<TopicPartition>> {
    let places: BTreeMap<&str, usize> =
        members.iter().enumerate().map(|(place, member)| (member.id.as_str(), place)).collect();
    let mut parts = vec![BTreeSet::new(); members.len()];
    let owners = strategy.assign(problem).owner;
    for (unit, owner) in problem.unit_indices().zip(owners) {
        let (topic, partition) = problem.topic_of(unit);
        let topic = &*problem.topic(topic).name;
        let place = owner.and_then(|owner| places.get(&*problem.member(owner).id).copied());
        let partition_name = TopicPartition::try_from((topic, partition)).ok();
        if let (Some(place), Some(name)) = (place, partition_name)
            && is_free(claims.get(&(topic, partition)), place)
        {
            parts[place].insert(name);
        }
    }
    parts
}

/// True where nobody but the member of `place` still has the partition.
fn is_free(claim: Option<&PartitionClaim>, place: usize) -> bool {
    claim.is_none_or(|claim| !claim.is_held || claim.member == Some(place))
}
