//! A line as a [`Problem`].

mod standbys;

use std::collections::BTreeSet;

use kafka_assigner_strategies::{
    InvalidProblem, MemberHandle, MemberSpec, Options, Problem, ProblemBuilder, ReplicaRacks, Subscription,
    TopicHandle,
};

use super::checked::Checked;
use super::claims::Owners;
use super::layout::{Layout, Sizes};
use super::rules::Rules;

/// The problem of placing what the line has, with units as `layout` says and owners as `owners` says. The rules are
/// those of the layout.
///
/// # Errors
/// None for a checked line.
pub(super) fn problem(
    line: &Checked<'_>,
    owners: &Owners,
    layout: &Layout,
    rules: &Rules,
) -> Result<Problem, InvalidProblem> {
    let mut telling = Telling {
        line,
        layout,
        rules,
        weights_differ: weights_differ(line, layout),
        builder: Problem::builder(),
        topics: Vec::new(),
        members: Vec::new(),
    };
    telling.builder.options(Options { movement_budget: rules.movement_budget, ..line.options });
    (0..layout.sets.len()).for_each(|set| telling.topic(set));
    (0..line.input.members.len()).for_each(|member| telling.member(member));
    (0..layout.sets.len()).for_each(|set| telling.owners(set, owners));
    telling.pairs();
    telling.standbys();
    telling.builder.build()
}

/// Whether units may weigh more or less than others: partitions have weights, or units differ in partitions. Where
/// neither is so, all may as well weigh one, for which strategies find the best there is.
fn weights_differ(line: &Checked<'_>, layout: &Layout) -> bool {
    let sizes = (0..layout.sets.len()).filter_map(|set| layout.sizes(line, set)).reduce(Sizes::and);
    line.input.topics.iter().any(|topic| topic.3.is_some())
        || sizes.is_some_and(|sizes| sizes.smallest < sizes.largest)
}

struct Telling<'a> {
    line: &'a Checked<'a>,
    layout: &'a Layout,
    rules: &'a Rules,
    weights_differ: bool,
    builder: ProblemBuilder,
    /// By set.
    topics: Vec<TopicHandle>,
    /// In the order of the line.
    members: Vec<MemberHandle>,
}

impl Telling<'_> {
    /// A set has the name of its first topic, and as many standbys as any of its topics wants.
    fn topic(&mut self, set: usize) {
        let topics = &self.layout.sets[set];
        let units = self.layout.units(self.line, set);
        let handle = self.builder.topic(self.line.input.topics[topics[0]].0.as_str(), units);
        let standbys = topics.iter().map(|topic| self.line.standbys[*topic]).max().unwrap_or_default();
        self.builder.want_standbys(handle, standbys);
        self.topics.push(handle);
        let has_any = |told: fn(&super::input::Topic) -> bool| {
            topics.iter().any(|at| told(&self.line.input.topics[*at]))
        };
        if self.weights_differ && (topics.len() > 1 || has_any(|topic| topic.3.is_some())) {
            (0..units).for_each(|partition| self.weight(set, partition));
        }
        if has_any(|topic| topic.2.is_some()) {
            let racks = (0..units).map(|partition| self.racks(set, partition));
            self.builder.replica_racks(handle, &ReplicaRacks::new(racks));
        }
    }

    fn weight(&mut self, set: usize, partition: u32) {
        let of_topic = |topic: usize| {
            self.line.input.topics[topic].3.as_ref().map_or(1.0, |weights| weights[partition as usize])
        };
        let sum: f64 = self.layout.reaching(self.line, set, partition).map(of_topic).sum();
        self.builder.weight(self.topics[set], partition, sum.min(kafka_assigner_strategies::Weight::MAX));
    }

    /// The racks in which every topic has a replica, as far as anything is known of the topic's.
    fn racks(&self, set: usize, partition: u32) -> Vec<&str> {
        let told = |topic: usize| Some(&self.line.input.topics[topic].2.as_ref()?[partition as usize].0);
        let mut known = self
            .layout
            .reaching(self.line, set, partition)
            .filter_map(told)
            .filter(|racks| !racks.is_empty());
        let mut common: Vec<&str> = known.next().into_iter().flatten().map(String::as_str).collect();
        for racks in known {
            let others: BTreeSet<&str> = racks.iter().map(String::as_str).collect();
            common.retain(|rack| others.contains(rack));
        }
        common
    }

    fn member(&mut self, at: usize) {
        let member = &self.line.input.members[at];
        let rack = member
            .rack
            .as_deref()
            .filter(|rack| !rack.is_empty())
            .map(|rack| self.builder.rack(&rack.into()));
        let spec = MemberSpec {
            subscription: self.subscription(at),
            max_partitions: self.rules.limits[at],
            state: member.state.into(),
            capacity: member.capacity.unwrap_or(1.0),
            rack,
            generation: member.generation.as_deref().map(Into::into),
            ..MemberSpec::new(member.id.as_str())
        };
        self.members.push(self.builder.member(spec));
    }

    /// A member takes a set where it subscribes to all of its topics.
    fn subscription(&self, member: usize) -> Subscription<TopicHandle> {
        self.layout.taken_by(self.line, member).map(|set| self.topics[set]).collect()
    }

    /// A unit is owned by whoever owns the first of its partitions that anybody owns.
    fn owners(&mut self, set: usize, owners: &Owners) {
        if !self.layout.sets[set].iter().any(|topic| owners.has_any(*topic)) {
            return;
        }
        for partition in 0..self.layout.units(self.line, set) {
            let mut reaching = self.layout.reaching(self.line, set, partition);
            if let Some(owner) = reaching.find_map(|topic| owners.owner(topic, partition)) {
                self.builder.current(self.topics[set], partition, self.members[owner]);
            }
        }
    }

    fn pairs(&mut self) {
        for (set, partition, member) in &self.rules.pins {
            self.builder.pin(self.topics[*set], *partition, self.members[*member]);
        }
        for (set, partition, member) in &self.rules.bans {
            self.builder.ban(self.topics[*set], *partition, self.members[*member]);
        }
    }
}
