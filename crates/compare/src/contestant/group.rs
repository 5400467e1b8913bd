//! Strategies that are asked what a Kafka group says of itself.

use std::sync::Arc;

use kafka_assigner_strategies::kafka::{Assignment, Group, GroupBuilder, GroupMemberSpec};
use kafka_assigner_strategies::{MemberHandle, MemberIndex, TopicHandle};

use super::Rule;
use crate::input::{Input, Member, Topic};
use crate::output::Shares;

/// The generation of everything that is owned.
const GENERATION: i32 = 1;

pub(super) fn solve(rule: Rule, input: &Input) -> Shares<'_> {
    let group = group(input);
    named(input, &group, &rule(&group))
}

/// What `input` says, as a group.
fn group(input: &Input) -> Group {
    let mut builder = Group::builder();
    for topic in &input.topics {
        let handle = builder.topic(topic.name.clone(), topic.partitions);
        tell_replicas(&mut builder, input, topic, handle);
    }
    for member in &input.members {
        let handle = tell_member(&mut builder, member);
        tell_owned(&mut builder, member, handle);
    }
    builder.build().expect("names are distinct and partitions exist")
}

fn tell_replicas(builder: &mut GroupBuilder, input: &Input, topic: &Topic, handle: TopicHandle) {
    for (replicas, partition) in topic.replicas.iter().zip(0..) {
        builder.replicas(handle, partition, replicas.iter().map(|broker| &*input.racks[*broker]));
    }
}

/// Looks up every name of every list, as Kafka's classes do.
fn tell_member(builder: &mut GroupBuilder, member: &Member) -> MemberHandle {
    let topics = member.topics.iter();
    let topics: Vec<_> = topics.map(|name| builder.topic_handle(name).expect("topics are known")).collect();
    let subscription = builder.subscription(topics);
    let generation = (!member.owned.is_empty()).then_some(GENERATION);
    let rack = member.rack.clone();
    builder.member(GroupMemberSpec {
        generation,
        rack,
        ..GroupMemberSpec::new(member.id.clone(), subscription)
    })
}

/// Looks up a topic once for each run of its partitions.
fn tell_owned(builder: &mut GroupBuilder, member: &Member, handle: MemberHandle) {
    for run in member.owned.chunk_by(|(a, _), (b, _)| Arc::ptr_eq(a, b)) {
        let topic = builder.topic_handle(&run[0].0).expect("only known topics are owned");
        builder.claims(handle, topic, run.iter().map(|(_, partition)| partition.cast_signed()));
    }
}

/// What `assignment` says, in the names of `input`.
fn named<'a>(input: &'a Input, group: &Group, assignment: &Assignment) -> Shares<'a> {
    let members = || (0..group.members().len()).map(MemberIndex::new);
    let topics = input.topic_names();
    let name = |unit| {
        let (topic, partition) = group.topic_of(unit);
        (topics[topic.index()], partition)
    };
    let mut shares = Shares::with_sizes(input, members().map(|member| assignment.of(member).len()));
    for member in members() {
        shares.of(member).partitions.extend(assignment.of(member).iter().map(|unit| name(*unit)));
    }
    for (unit, member) in assignment.withheld() {
        shares.of(*member).later.push(name(*unit));
    }
    shares
}
