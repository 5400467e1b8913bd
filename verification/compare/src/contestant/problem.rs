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

/// A group, and what a caller keeps of its topics from one event to the next.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    input: &'a Input,
    topics: ProblemBuilder,
    /// By the place of each topic what stands for it in a problem; for those of one set that is the same.
    handles: Vec<TopicHandle>,
}

impl<'a> Asked<'a> {
    pub(super) fn of(input: &'a Input) -> Self {
        let (mut topics, mut handles) = (Problem::builder(), Vec::new());
        for set in input.sets() {
            let handle = topics.topic(name(set), set[0].partitions);
            topics.want_standbys(handle, input.standbys);
            set[0].replica_racks.iter().for_each(|racks| topics.replica_racks(handle, racks));
            handles.extend(set.iter().map(|_| handle));
        }
        Self { input, topics, handles }
    }

    /// Tells the members, and asks `strategy`.
    pub(super) fn answer(&self, strategy: &dyn Strategy) -> Told<'a> {
        let problem = self.problem();
        let placement = strategy.assign(&problem);
        match self.input.is_plain() {
            true => Told::Lots(Lots::of(self.input, &problem, &placement)),
            false => Told::Shares(named(self.input, &problem, &placement)),
        }
    }

    /// All of it as a problem.
    pub(super) fn problem(&self) -> Problem {
        let mut builder = self.topics.clone();
        let sets = self.input.sets().zip(self.handles.chunks(self.input.set_size));
        for (set, handles) in sets.filter(|(set, _)| !set[0].weights.is_empty()) {
            tell_weights(&mut builder, set, handles[0]);
        }
        let mut lists = Lists::default();
        for member in &self.input.members {
            let subscription = lists.of(&member.topics, || self.subscription(&member.topics));
            let rack = member.rack.as_ref().map(|rack| builder.rack(rack));
            let spec = MemberSpec { subscription, rack, ..MemberSpec::new(member.id.clone()) };
            let handle = builder.member(spec);
            for (topic, partitions) in member.owned.by_topic() {
                let topic = self.handles[topic as usize];
                partitions.iter().for_each(|partition| builder.current(topic, *partition, handle));
            }
            self.tell_standbys(&mut builder, &member.standby_for, handle);
        }
        builder.build().expect("names are distinct and partitions exist")
    }

    /// Looks up a list of topics.
    fn subscription(&self, list: &[Arc<str>]) -> Subscription<TopicHandle> {
        match list.len() == self.input.topics.len() {
            true => Subscription::All,
            false => list.iter().map(|name| self.handles[self.input.place(name)]).collect(),
        }
    }

    fn tell_standbys(&self, builder: &mut ProblemBuilder, held: &Holdings, member: MemberHandle) {
        for (topic, partitions) in held.by_topic() {
            let topic = self.handles[topic as usize];
            partitions.iter().for_each(|partition| builder.standby(topic, *partition, member, 0));
        }
    }
}

/// By where it is what a list of topics is as a subscription. Members with the same interest share it.
#[derive(Default)]
struct Lists {
    by_place: FxHashMap<*const Arc<str>, Subscription<TopicHandle>>,
    /// The last look-up, which often is asked for again.
    last: Option<(*const Arc<str>, Subscription<TopicHandle>)>,
}

impl Lists {
    /// The value of `list`; calls `look_up` for all of it if that is not known.
    fn of(
        &mut self,
        list: &Arc<[Arc<str>]>,
        look_up: impl FnOnce() -> Subscription<TopicHandle>,
    ) -> Subscription<TopicHandle> {
        match &self.last {
            Some((last, known)) if *last == list.as_ptr() => known.clone(),
            _ => {
                let known = self.by_place.entry(list.as_ptr()).or_insert_with(look_up).clone();
                self.last = Some((list.as_ptr(), known.clone()));
                known
            }
        }
    }
}

/// A set is called after all its topics, a topic by itself by its own name.
fn name(set: &[Topic]) -> Arc<str> {
    match set {
        [topic] => topic.name.clone(),
        _ => set.iter().map(|topic| &*topic.name).collect::<Vec<_>>().join("+").into(),
    }
}

/// Units weigh as much as all that moves with them.
fn tell_weights(builder: &mut ProblemBuilder, set: &[Topic], handle: TopicHandle) {
    for (at, partition) in (0..set[0].weights.len()).zip(0..) {
        builder.weight(handle, partition, set.iter().map(|topic| topic.weights[at]).sum());
    }
}

/// The contents of `placement`, in the names of `input`.
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

#[cfg(test)]
mod tests {
    use kafka_assigner_strategies::Balanced;

    use super::*;
    use crate::count::Moves;
    use crate::digest::Digest;
    use crate::event::Event;
    use crate::shape::{Shape, Subscriptions};

    #[test]
    fn changes_come_to_what_each_partition_by_itself_comes_to() {
        for subscriptions in [Subscriptions::All, Subscriptions::MixedA, Subscriptions::MixedC] {
            let shape = Shape { members: 7, partitions: 60, topics: 6, subscriptions, racks: true };
            for event in Event::ALL {
                let mut input = Input::new(&shape, &event.after(7));
                if event != Event::Fresh {
                    let before = Input::new(&shape, &event.before(7));
                    input.own(&Asked::of(&before).answer(&Balanced).shares(&before));
                }
                let problem = Asked::of(&input).problem();
                let placement = Balanced.assign(&problem);
                let (told, each) = (
                    Lots::of(&input, &problem, &placement).shares(&input),
                    named(&input, &problem, &placement),
                );
                assert_eq!(Digest::of(&told), Digest::of(&each), "{subscriptions}, {event}");
                assert_eq!(Moves::between(&input, &told), Moves::between(&input, &each));
            }
        }
    }
}
