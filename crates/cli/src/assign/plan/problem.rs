//! A line as a [`Problem`] of its partitions: [`of`].

use kafka_assigner_strategies::{
    InvalidProblem, MemberHandle, MemberSpec, Problem, ProblemBuilder, ReplicaRacks, Subscription,
    TopicHandle,
};

use crate::assign::read::checked::Checked;
use crate::assign::read::claims::Owners;
use crate::assign::read::input::InputTopic;

/// The problem of placing the partitions of the line, with owners as `owners` says.
///
/// # Errors
/// None for a checked line, but where too many standbys are wanted.
pub(in crate::assign) fn of(line: &Checked<'_>, owners: &Owners) -> Result<Problem, InvalidProblem> {
    let mut assembly =
        ProblemAssembly { line, builder: Problem::builder(), topics: Vec::new(), members: Vec::new() };
    assembly.builder.options(line.options);
    let racks = ReplicaRacks::of_topics(line.input.topics.iter().map(replicas));
    (0..line.input.topics.len()).zip(&racks).for_each(|(topic, racks)| assembly.topic(topic, racks));
    (0..line.input.members.len()).for_each(|member| assembly.member(member));
    (0..line.input.topics.len()).for_each(|topic| assembly.owners(topic, owners));
    assembly.pairs();
    assembly.standbys();
    assembly.builder.build()
}

/// By partition the racks of a topic's replicas; nothing if they are not told.
fn replicas(topic: &InputTopic) -> impl Iterator<Item = Vec<&str>> {
    topic.2.iter().flatten().map(|racks| racks.0.iter().map(String::as_str).collect())
}

struct ProblemAssembly<'a> {
    line: &'a Checked<'a>,
    builder: ProblemBuilder,
    /// In the order of the line.
    topics: Vec<TopicHandle>,
    /// In the order of the line.
    members: Vec<MemberHandle>,
}

impl ProblemAssembly<'_> {
    fn topic(&mut self, at: usize, racks: &ReplicaRacks) {
        let topic = &self.line.input.topics[at];
        let handle = self.builder.topic(topic.0.as_str(), topic.1);
        self.builder.want_standbys(handle, self.line.standbys[at]);
        self.topics.push(handle);
        for (partition, weight) in (0..).zip(topic.3.iter().flatten()) {
            self.builder.weight(handle, partition, *weight);
        }
        if topic.2.is_some() {
            self.builder.replica_racks(handle, racks);
        }
    }

    fn member(&mut self, at: usize) {
        let member = &self.line.input.members[at];
        let rack = member.rack.as_deref().filter(|rack| !rack.is_empty());
        let spec = MemberSpec {
            subscription: self.subscription(at),
            max_partitions: member.max_partitions,
            state: member.state.into(),
            capacity: member.capacity.unwrap_or(1.0),
            rack: rack.map(|rack| self.builder.rack(&rack.into())),
            generation: member.generation.as_deref().map(Into::into),
            ..MemberSpec::new(member.id.as_str())
        };
        self.members.push(self.builder.member(spec));
    }

    fn subscription(&self, member: usize) -> Subscription<TopicHandle> {
        self.line.subscribed[member].iter().map(|topic| self.topics[*topic]).collect()
    }

    fn owners(&mut self, topic: usize, owners: &Owners) {
        if !owners.has_any(topic) {
            return;
        }
        for partition in 0..self.line.partitions(topic) {
            if let Some(owner) = owners.owner(topic, partition) {
                self.builder.current(self.topics[topic], partition, self.members[owner]);
            }
        }
    }

    fn pairs(&mut self) {
        for (topic, partition, member) in &self.line.pins {
            self.builder.pin(self.topics[*topic], *partition, self.members[*member]);
        }
        for (topic, partition, member) in &self.line.bans {
            self.builder.ban(self.topics[*topic], *partition, self.members[*member]);
        }
    }

    /// As with claims, what does not exist or is not subscribed to does not count.
    fn standbys(&mut self) {
        for (at, member) in self.line.input.members.iter().enumerate() {
            for (name, partitions) in &member.standby_for {
                let Some(topic) = self.line.topic_of(at, name) else { continue };
                for copy in partitions {
                    if let Some(partition) = self.line.partition(topic, copy.partition) {
                        self.builder.standby(self.topics[topic], partition, self.members[at], copy.lag);
                    }
                }
            }
        }
    }
}
