//! Inputs and outputs of Kafka's own classes, one JSON object a line.

use std::collections::BTreeMap;

use kafka_assigner_strategies::kafka::{
    Group, GroupAssignment, GroupBuilder, GroupMemberSpec, cooperative_sticky, range, roundrobin, sticky,
};
use serde::Deserialize;

/// A topic with partitions of it.
pub(crate) type OfTopic = (String, Vec<i32>);

/// Name, partitions, and by partition the racks of its replicas, a letter each.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Topic(pub(crate) String, pub(crate) u32, #[serde(default)] pub(crate) Vec<String>);

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) instance: Option<String>,
    pub(crate) rack: Option<String>,
    pub(crate) topics: Vec<String>,
    #[serde(default)]
    pub(crate) owned: Vec<OfTopic>,
    #[serde(rename = "gen")]
    pub(crate) generation: Option<i32>,
}

/// The partitions that each member gets.
pub(crate) type Outcome = BTreeMap<String, Vec<OfTopic>>;

/// One line.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Vector {
    /// Its number, by which to find it again.
    pub(crate) n: u32,
    pub(crate) assignor: String,
    pub(crate) topics: Vec<Topic>,
    pub(crate) members: Vec<Member>,
    #[serde(default)]
    pub(crate) expect: Outcome,
}

impl Vector {
    pub(crate) fn group(&self) -> Group {
        let mut builder = Group::builder();
        self.topics.iter().for_each(|topic| topic.tell(&mut builder));
        self.members.iter().for_each(|member| member.tell(&mut builder));
        builder.build().unwrap()
    }

    /// The assignment that ours gives, in the form of `expect`.
    pub(crate) fn outcome(&self) -> Outcome {
        let group = self.group();
        by_name(&group, &self.assign(&group))
    }

    pub(crate) fn assign(&self, group: &Group) -> GroupAssignment {
        match self.assignor.as_str() {
            "range" => range(group),
            "rr" => roundrobin(group),
            "sticky" => sticky(group),
            "coop" => cooperative_sticky(group),
            other => panic!("no assignor is called {other}"),
        }
    }
}

impl Vector {
    /// The same group after `outcome` has come true, in the next generation, with claims of nothing
    /// else.
    pub(crate) fn after(&self, outcome: &Outcome) -> Self {
        let mut after = self.clone();
        let next = self.members.iter().filter_map(|member| member.generation).max().unwrap_or(0) + 1;
        for member in &mut after.members {
            member.owned = outcome[&member.id].clone();
            member.generation = Some(next);
        }
        after
    }

    pub(crate) fn is_mixed(&self) -> bool {
        self.members.windows(2).any(|pair| pair[0].topics != pair[1].topics)
    }
}

impl Topic {
    fn tell(&self, builder: &mut GroupBuilder) {
        let Self(name, partitions, racks) = self;
        let topic = builder.topic(name.as_str(), *partitions);
        for (racks, partition) in racks.iter().zip(0..) {
            builder.replicas(topic, partition, (0..racks.len()).map(|at| &racks[at..=at]));
        }
    }
}

impl Member {
    fn tell(&self, builder: &mut GroupBuilder) {
        let names = self.topics.iter().chain(self.owned.iter().map(|(topic, _)| topic));
        for name in names {
            if builder.topic_handle(name).is_none() {
                builder.topic(name.as_str(), 0);
            }
        }
        let topics: Vec<_> = self.topics.iter().map(|name| builder.topic_handle(name).unwrap()).collect();
        let subscription = builder.subscription(topics);
        let member = builder.member(GroupMemberSpec {
            instance: self.instance.as_deref().map(Into::into),
            rack: self.rack.as_deref().map(Into::into),
            generation: self.generation,
            ..GroupMemberSpec::new(self.id.as_str(), subscription)
        });
        for (name, partitions) in &self.owned {
            let topic = builder.topic_handle(name).unwrap();
            builder.claims(member, topic, partitions.iter().copied());
        }
    }
}

/// The partitions that each member gets, by topic in the order in which each comes first.
pub(crate) fn by_name(group: &Group, assignment: &GroupAssignment) -> Outcome {
    let members = group.members().iter().map(|member| {
        let index = group.member_named(&member.id).unwrap();
        let mut lists: Vec<OfTopic> = Vec::new();
        for unit in assignment.of(index) {
            let (topic, partition) = group.topic_of(*unit);
            let (name, partition) = (&group.topics()[topic.index()].name, i32::try_from(partition).unwrap());
            match lists.iter_mut().find(|(known, _)| **known == **name) {
                Some((_, partitions)) => partitions.push(partition),
                None => lists.push((name.to_string(), vec![partition])),
            }
        }
        (member.id.to_string(), lists)
    });
    members.collect()
}
