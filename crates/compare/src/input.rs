//! What strategies are asked, in names: as Kafka's assignors are, whose objects refer to strings.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::output::Shares;
use crate::shape::{RACKS, REPLICAS, Shape, member_id, topic_name};

/// A group. Equal names are the same allocation, as references to one string are in Java.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) topics: Vec<Topic>,
    /// By broker where it runs; empty if that is unknown.
    pub(crate) racks: Vec<Arc<str>>,
    pub(crate) members: Vec<Member>,
}

#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: Arc<str>,
    pub(crate) partitions: u32,
    /// By partition the numbers of the brokers that have it; empty if nobody knows where these run.
    pub(crate) replicas: Vec<[usize; REPLICAS]>,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: Arc<str>,
    pub(crate) rack: Option<Arc<str>>,
    /// The names of the topics it subscribes to. Members with the same interest share the list.
    pub(crate) topics: Arc<[Arc<str>]>,
    /// What it owns.
    pub(crate) owned: Vec<(Arc<str>, u32)>,
}

impl Input {
    /// The group of that shape with the members of those numbers, who own nothing yet.
    pub(crate) fn new(shape: &Shape, members: &[usize]) -> Self {
        let topics: Vec<_> = (0..shape.topics).map(|topic| Topic::new(shape, topic)).collect();
        let names: Vec<_> = topics.iter().map(|topic| topic.name.clone()).collect();
        let racks = RACKS.iter().filter(|_| shape.racks).map(|rack| Arc::from(*rack)).collect::<Vec<_>>();
        let mut lists: BTreeMap<_, Arc<[_]>> = BTreeMap::new();
        let members = members.iter().map(|member| {
            let interest = shape.interest(*member);
            let list = lists.entry((interest.start, interest.end));
            Member {
                id: member_id(*member).into(),
                rack: shape.rack(*member).map(Arc::from),
                topics: list.or_insert_with(|| Arc::from(&names[interest])).clone(),
                owned: Vec::new(),
            }
        });
        Self { members: members.collect(), topics, racks }
    }

    /// The names of all topics, in the order in which strategies number them.
    pub(crate) fn topic_names(&self) -> Vec<&Arc<str>> {
        let mut names: Vec<_> = self.topics.iter().map(|topic| &topic.name).collect();
        names.sort_unstable();
        names
    }

    /// Members own what `shares` gives them. What it gives to others is nobody's.
    pub(crate) fn own(&mut self, shares: &Shares<'_>) {
        let names: BTreeMap<Arc<str>, Arc<str>> =
            self.topics.iter().map(|topic| (topic.name.clone(), topic.name.clone())).collect();
        let shares: BTreeMap<&str, _> = shares.iter().map(|share| (&**share.member, share)).collect();
        for member in &mut self.members {
            let Some(share) = shares.get(&*member.id) else { continue };
            let named = share.partitions.iter().map(|(topic, partition)| (names[*topic].clone(), *partition));
            member.owned = named.collect();
        }
    }
}

impl Topic {
    fn new(shape: &Shape, topic: usize) -> Self {
        let partitions = shape.partitions_per_topic();
        let known = (0..partitions).filter(|_| shape.racks);
        Self {
            name: topic_name(topic).into(),
            partitions: u32::try_from(partitions).expect("a shape has some millions of partitions at most"),
            replicas: known.map(|partition| Shape::replicas(topic, partition)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Subscriptions;

    fn shape() -> Shape {
        let subscriptions = Subscriptions::MixedA;
        Shape { members: 3, partitions: 20, topics: 2, subscriptions, racks: true }
    }

    #[test]
    fn members_with_the_same_interest_share_their_list() {
        let input = Input::new(&shape(), &[0, 1, 2]);
        let lists: Vec<_> = input.members.iter().map(|member| &member.topics).collect();
        assert_eq!(lists.iter().map(|list| list.len()).collect::<Vec<_>>(), [1, 2, 2]);
        assert!(Arc::ptr_eq(lists[1], lists[2]));
    }

    #[test]
    fn what_the_gone_had_is_nobodys() {
        let before = Input::new(&shape(), &[0, 1, 2]);
        let mut shares = Shares::with_sizes(&before, [1, 2, 0]);
        let [first, second] = [0, 1].map(kafka_assigner_strategies::MemberIndex::new);
        shares.of(first).partitions.push((&before.topics[0].name, 4));
        shares.of(second).partitions.extend([(&before.topics[0].name, 5), (&before.topics[1].name, 0)]);
        let mut after = Input::new(&shape(), &[1, 2]);
        after.own(&shares);
        let [stayed, idle] = &after.members[..] else { panic!("two are left") };
        assert_eq!(stayed.owned, [(after.topics[0].name.clone(), 5), (after.topics[1].name.clone(), 0)]);
        assert!(idle.owned.is_empty());
    }

    #[test]
    fn replicas_are_known_only_with_racks() {
        let with = Input::new(&shape(), &[0]);
        assert_eq!((with.racks.len(), with.topics[1].replicas[0]), (3, [1, 2]));
        assert_eq!(with.members[0].rack.as_deref(), Some("rack-a"));
        let without = Input::new(&Shape { racks: false, ..shape() }, &[0]);
        assert!(without.racks.is_empty() && without.topics[1].replicas.is_empty());
        assert_eq!(without.members[0].rack, None);
    }
}
