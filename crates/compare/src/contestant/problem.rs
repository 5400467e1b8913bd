//! Strategies that are asked a [`Problem`].

use std::sync::Arc;

use kafka_assigner_strategies::{
    MemberHandle, MemberSpec, Placement, Problem, ProblemBuilder, RackHandle, Strategy, Subscription,
    TopicHandle,
};
use rustc_hash::FxHashMap;

use crate::input::{Input, Topic};
use crate::output::Shares;

pub(super) fn solve<'a>(strategy: &dyn Strategy, input: &'a Input) -> Shares<'a> {
    let problem = problem(input);
    named(input, &problem, &strategy.assign(&problem))
}

/// By the name of each topic what stands for it in a problem, which for those of one set is the same.
type Handles<'a> = FxHashMap<&'a str, TopicHandle>;

/// What `input` says, as a problem.
pub(super) fn problem(input: &Input) -> Problem {
    let mut builder = Problem::builder();
    let topics = tell_topics(&mut builder, input);
    let members = tell_members(&mut builder, input, &topics);
    for (member, handle) in input.members.iter().zip(members) {
        each(&member.owned, &topics, |topic, partition| builder.current(topic, partition, handle));
        each(&member.standby_for, &topics, |topic, partition| builder.standby(topic, partition, handle, 0));
    }
    builder.build().expect("names are distinct and partitions exist")
}

fn tell_topics<'a>(builder: &mut ProblemBuilder, input: &'a Input) -> Handles<'a> {
    let racks: Vec<_> = input.racks.iter().map(|rack| builder.rack(rack.clone())).collect();
    let mut handles = Handles::default();
    for set in input.topics.chunks(input.set_size) {
        let handle = builder.topic(name(set), set[0].partitions);
        builder.want_standbys(handle, input.standbys);
        tell_replicas(builder, &set[0], handle, &racks);
        tell_weights(builder, set, handle);
        handles.extend(set.iter().map(|topic| (&*topic.name, handle)));
    }
    handles
}

/// A set is called after all its topics, a topic by itself by its own name.
fn name(set: &[Topic]) -> Arc<str> {
    match set {
        [topic] => topic.name.clone(),
        _ => set.iter().map(|topic| &*topic.name).collect::<Vec<_>>().join("+").into(),
    }
}

fn tell_replicas(builder: &mut ProblemBuilder, topic: &Topic, handle: TopicHandle, racks: &[RackHandle]) {
    for (replicas, partition) in topic.replicas.iter().zip(0..) {
        builder.replica_racks(handle, partition, &replicas.map(|broker| racks[broker]));
    }
}

/// What moves as one weighs as much as all of it.
fn tell_weights(builder: &mut ProblemBuilder, set: &[Topic], handle: TopicHandle) {
    for (at, partition) in (0..set[0].weights.len()).zip(0..) {
        builder.weight(handle, partition, set.iter().map(|topic| topic.weights[at]).sum());
    }
}

/// Looks up each list of topics once, as members with the same interest share it.
fn tell_members(builder: &mut ProblemBuilder, input: &Input, topics: &Handles<'_>) -> Vec<MemberHandle> {
    let mut lists: FxHashMap<*const Arc<str>, Subscription<TopicHandle>> = FxHashMap::default();
    let members = input.members.iter().map(|member| {
        let list = lists.entry(member.topics.as_ptr());
        let looked_up = || Subscription::Topics(member.topics.iter().map(|name| topics[&**name]).collect());
        let subscription = list.or_insert_with(looked_up).clone();
        let rack = member.rack.as_ref().map(|rack| builder.rack(rack.clone()));
        builder.member(MemberSpec { subscription, rack, ..MemberSpec::new(member.id.clone()) })
    });
    members.collect()
}

/// Looks up a topic once for each run of its partitions.
fn each(partitions: &[(Arc<str>, u32)], topics: &Handles<'_>, mut tell: impl FnMut(TopicHandle, u32)) {
    for run in partitions.chunk_by(|(a, _), (b, _)| Arc::ptr_eq(a, b)) {
        let topic = topics[&*run[0].0];
        run.iter().for_each(|(_, partition)| tell(topic, *partition));
    }
}

/// What `placement` says, in the names of `input`.
fn named<'a>(input: &'a Input, problem: &Problem, placement: &Placement) -> Shares<'a> {
    let mut sizes = vec![0; problem.members().len()];
    placement.owner.iter().flatten().for_each(|owner| sizes[owner.index()] += input.set_size);
    let mut shares = Shares::with_sizes(input, sizes);
    for (topic, set) in problem.topic_indices().zip(input.sets()) {
        for (unit, partition) in problem.units_of(topic).zip(0..) {
            let owner = placement.owner[unit.index()];
            for topic in set {
                if let Some(owner) = owner {
                    shares.of(owner).partitions.push((&topic.name, partition));
                }
                for standby in placement.standbys.of(unit) {
                    shares.of(*standby).standbys.push((&topic.name, partition));
                }
            }
        }
    }
    shares
}
