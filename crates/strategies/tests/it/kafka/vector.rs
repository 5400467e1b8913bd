//! Inputs and outputs of Kafka's own classes, one JSON object a line.

use std::collections::BTreeMap;

use kafka_assigner_strategies::kafka::{
    Assignment, Group, GroupBuilder, GroupMemberSpec, cooperative_sticky, range, roundrobin, sticky,
};
use serde::Deserialize;

/// A topic with partitions of it.
pub(crate) type OfTopic = (String, Vec<i32>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Topic {
    Plain(String, u32),
    WithRacks(String, u32, Vec<String>),
}

#[derive(Debug, Deserialize)]
pub(crate) struct Member {
    id: String,
    instance: Option<String>,
    rack: Option<String>,
    topics: Vec<String>,
    #[serde(default)]
    owned: Vec<OfTopic>,
    #[serde(rename = "gen")]
    generation: Option<i32>,
}

/// One line.
#[derive(Debug, Deserialize)]
pub(crate) struct Vector {
    /// Its number, by which to find it again.
    pub(crate) n: u32,
    pub(crate) assignor: String,
    topics: Vec<Topic>,
    members: Vec<Member>,
    pub(crate) expect: BTreeMap<String, Vec<OfTopic>>,
}

impl Vector {
    pub(crate) fn group(&self) -> Group {
        let mut builder = Group::builder();
        self.topics.iter().for_each(|topic| topic.tell(&mut builder));
        self.members.iter().for_each(|member| member.tell(&mut builder));
        builder.build().unwrap()
    }

    /// What ours gives, in the form of `expect`.
    pub(crate) fn outcome(&self) -> BTreeMap<String, Vec<OfTopic>> {
        let group = self.group();
        by_name(&group, &self.assign(&group))
    }

    fn assign(&self, group: &Group) -> Assignment {
        match self.assignor.as_str() {
            "range" => range(group),
            "rr" => roundrobin(group),
            "sticky" => sticky(group),
            "coop" => cooperative_sticky(group),
            other => panic!("no assignor is called {other}"),
        }
    }
}

impl Topic {
    fn tell(&self, builder: &mut GroupBuilder) {
        match self {
            Self::Plain(name, partitions) => {
                builder.topic(name.as_str(), *partitions);
            }
            Self::WithRacks(name, partitions, racks) => {
                let topic = builder.topic(name.as_str(), *partitions);
                for (racks, partition) in racks.iter().zip(0..) {
                    let letters = (0..racks.len()).map(|at| &racks[at..=at]);
                    builder.replicas(topic, partition, letters);
                }
            }
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

/// What each member gets, by topic in the order in which each comes first.
pub(crate) fn by_name(group: &Group, assignment: &Assignment) -> BTreeMap<String, Vec<OfTopic>> {
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
