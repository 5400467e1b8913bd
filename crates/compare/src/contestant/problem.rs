//! Strategies that are asked a [`Problem`].

use std::sync::Arc;

use kafka_assigner_strategies::{
    MemberHandle, MemberSpec, Placement, Problem, ProblemBuilder, Strategy, Subscription, TopicHandle,
};
use rustc_hash::FxHashMap;

use super::Told;
use super::lots::Lots;
use crate::holdings::Holdings;
use crate::input::{Input, Topic};
use crate::output::Shares;

pub(super) fn solve<'a>(strategy: &dyn Strategy, input: &'a Input) -> Told<'a> {
    let problem = problem(input);
    let placement = strategy.assign(&problem);
    match input.is_plain() {
        true => Told::Lots(Lots::of(input, &problem, &placement)),
        false => Told::Shares(named(input, &problem, &placement)),
    }
}

/// By where something is what stands for it in a problem.
struct Known<K, V> {
    by_place: FxHashMap<*const K, V>,
    /// What was asked for last, which often is asked for again.
    last: Option<(*const K, V)>,
}

impl<K, V: Clone> Known<K, V> {
    fn new() -> Self {
        Self { by_place: FxHashMap::default(), last: None }
    }

    /// Says what stands for what is at `place`.
    fn add(&mut self, place: *const K, known: V) {
        self.by_place.insert(place, known);
    }

    /// What stands for what is at `place`; asks to `tell` it first if nothing does.
    fn of(&mut self, place: *const K, tell: impl FnOnce() -> V) -> V {
        match &self.last {
            Some((last, known)) if *last == place => known.clone(),
            _ => {
                let known = self.by_place.entry(place).or_insert_with(tell).clone();
                self.last = Some((place, known.clone()));
                known
            }
        }
    }
}

/// By where the name of each topic is; for those of one set it is the same.
type Handles = Known<u8, TopicHandle>;

impl Handles {
    fn named(&mut self, name: &Arc<str>) -> TopicHandle {
        self.of(name.as_ptr(), || panic!("{name} is a topic"))
    }
}

/// What `input` says, as a problem.
pub(super) fn problem(input: &Input) -> Problem {
    let mut builder = Problem::builder();
    let mut topics = tell_topics(&mut builder, input);
    let mut lists = Known::new();
    for member in &input.members {
        let subscription =
            lists.of(member.topics.as_ptr(), || subscription(input, &mut topics, &member.topics));
        let rack = member.rack.as_ref().map(|rack| builder.rack(rack));
        let spec = MemberSpec { subscription, rack, ..MemberSpec::new(member.id.clone()) };
        let handle = builder.member(spec);
        for (topic, partitions) in member.owned.by_topic() {
            builder.currents(topics.named(topic), partitions.iter().copied(), handle);
        }
        tell_standbys(&mut builder, &member.standby_for, &mut topics, handle);
    }
    builder.build().expect("names are distinct and partitions exist")
}

/// Looks up a list of topics. Members with the same interest share it.
fn subscription(input: &Input, topics: &mut Handles, list: &[Arc<str>]) -> Subscription<TopicHandle> {
    match list.len() == input.topics.len() {
        true => Subscription::All,
        false => list.iter().map(|name| topics.named(name)).collect(),
    }
}

fn tell_topics(builder: &mut ProblemBuilder, input: &Input) -> Handles {
    let mut handles = Handles::new();
    for set in input.topics.chunks(input.set_size) {
        let handle = builder.topic(name(set), set[0].partitions);
        builder.want_standbys(handle, input.standbys);
        set[0].replica_racks.iter().for_each(|racks| builder.replica_racks(handle, racks));
        tell_weights(builder, set, handle);
        set.iter().for_each(|topic| handles.add(topic.name.as_ptr(), handle));
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

/// What moves as one weighs as much as all of it.
fn tell_weights(builder: &mut ProblemBuilder, set: &[Topic], handle: TopicHandle) {
    for (at, partition) in (0..set[0].weights.len()).zip(0..) {
        builder.weight(handle, partition, set.iter().map(|topic| topic.weights[at]).sum());
    }
}

fn tell_standbys(builder: &mut ProblemBuilder, held: &Holdings, topics: &mut Handles, member: MemberHandle) {
    for (topic, partitions) in held.by_topic() {
        let topic = topics.named(topic);
        partitions.iter().for_each(|partition| builder.standby(topic, *partition, member, 0));
    }
}

/// What `placement` says, in the names of `input`.
pub(super) fn named<'a>(input: &'a Input, problem: &Problem, placement: &Placement) -> Shares<'a> {
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
