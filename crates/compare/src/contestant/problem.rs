//! Strategies that are asked a [`Problem`].

use std::sync::Arc;

use kafka_assigner_strategies::{
    MemberHandle, MemberIndex, MemberSpec, Problem, ProblemBuilder, RackHandle, Strategy, Subscription,
    TopicHandle,
};
use rustc_hash::FxHashMap;

use crate::input::{Input, Member, Topic};
use crate::output::Shares;

pub(super) fn solve<'a>(strategy: &dyn Strategy, input: &'a Input) -> Shares<'a> {
    let problem = problem(input);
    named(input, &problem, &strategy.assign(&problem).owner)
}

/// What `input` says, as a problem.
fn problem(input: &Input) -> Problem {
    let mut builder = Problem::builder();
    tell_topics(&mut builder, input);
    let members = tell_members(&mut builder, input);
    for (member, handle) in input.members.iter().zip(members) {
        tell_owned(&mut builder, member, handle);
    }
    builder.build().expect("names are distinct and partitions exist")
}

fn tell_topics(builder: &mut ProblemBuilder, input: &Input) {
    let racks: Vec<_> = input.racks.iter().map(|rack| builder.rack(rack.clone())).collect();
    for topic in &input.topics {
        let handle = builder.topic(topic.name.clone(), topic.partitions);
        tell_replicas(builder, topic, handle, &racks);
    }
}

fn tell_replicas(builder: &mut ProblemBuilder, topic: &Topic, handle: TopicHandle, racks: &[RackHandle]) {
    for (replicas, partition) in topic.replicas.iter().zip(0..) {
        builder.replica_racks(handle, partition, &replicas.map(|broker| racks[broker]));
    }
}

/// Looks up each list of topics once, as members with the same interest share it.
fn tell_members(builder: &mut ProblemBuilder, input: &Input) -> Vec<MemberHandle> {
    let mut lists: FxHashMap<*const Arc<str>, Subscription<TopicHandle>> = FxHashMap::default();
    let members = input.members.iter().map(|member| {
        let list = lists.entry(member.topics.as_ptr());
        let subscription = list.or_insert_with(|| builder.subscription(&*member.topics)).clone();
        let rack = member.rack.as_ref().map(|rack| builder.rack(rack.clone()));
        builder.member(MemberSpec { subscription, rack, ..MemberSpec::new(member.id.clone()) })
    });
    members.collect()
}

/// Looks up a topic once for each run of its partitions.
fn tell_owned(builder: &mut ProblemBuilder, member: &Member, handle: MemberHandle) {
    for run in member.owned.chunk_by(|(a, _), (b, _)| Arc::ptr_eq(a, b)) {
        let topic = builder.topic_handle(&run[0].0).expect("only known topics are owned");
        run.iter().for_each(|(_, partition)| builder.current(topic, *partition, handle));
    }
}

/// What `owner` says by unit, in the names of `input`.
fn named<'a>(input: &'a Input, problem: &Problem, owner: &[Option<MemberIndex>]) -> Shares<'a> {
    let mut sizes = vec![0; problem.members().len()];
    owner.iter().flatten().for_each(|owner| sizes[owner.index()] += 1);
    let mut shares = Shares::with_sizes(input, sizes);
    for (topic, name) in problem.topic_indices().zip(input.topic_names()) {
        for (unit, partition) in problem.units_of(topic).zip(0..) {
            if let Some(owner) = owner[unit.index()] {
                shares.of(owner).partitions.push((name, partition));
            }
        }
    }
    shares
}
