//! The input of strategies, in names: as for Kafka's assignors, whose objects refer to strings.

use std::collections::BTreeMap;
use std::slice::Chunks;
use std::sync::Arc;

use kafka_assigner_strategies::ReplicaRacks;

use crate::holdings::Holdings;
use crate::output::{Partition, Shares};
use crate::shape::{RACKS, REPLICAS, Shape, member_id, topic_name};

/// A group. Equal names are the same allocation, as references to one string are in Java.
#[derive(Debug)]
pub(crate) struct Input {
    /// In the order of their names.
    pub(crate) topics: Vec<Topic>,
    /// The number of topics that follow each other and are a co-partitioned set; 1 if none are.
    pub(crate) set_size: usize,
    /// The number of standbys that each partition is to have.
    pub(crate) standbys: u32,
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
    /// The same as racks, which the broker's class gets ready-made too.
    pub(crate) replica_racks: Option<ReplicaRacks>,
    /// By partition how much work it is; empty if all are the same.
    pub(crate) weights: Vec<f64>,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: Arc<str>,
    pub(crate) rack: Option<Arc<str>>,
    /// The names of the topics it subscribes to. Members with the same interest share the list.
    pub(crate) topics: Arc<[Arc<str>]>,
    /// The partitions that it owns.
    pub(crate) owned: Holdings,
    /// The partitions that it holds as standby, up to date.
    pub(crate) standby_for: Holdings,
    /// The partitions that it owns, in the user data of `sticky`; empty if no strategy reads it.
    pub(crate) user_data: Vec<u8>,
}

impl Input {
    /// The group of that shape with the members of those numbers, who own nothing yet.
    pub(crate) fn new(shape: &Shape, members: &[usize]) -> Self {
        let mut topics: Vec<_> = (0..shape.topics).map(|topic| Topic::new(shape, topic)).collect();
        locate(&mut topics, shape);
        let names: Vec<_> = topics.iter().map(|topic| topic.name.clone()).collect();
        let racks: Vec<Arc<str>> =
            RACKS.iter().filter(|_| shape.racks).map(|rack| Arc::from(*rack)).collect();
        let mut lists: BTreeMap<_, Arc<[_]>> = BTreeMap::new();
        let members = members.iter().map(|member| {
            let interest = shape.interest(*member);
            let list = lists.entry((interest.start, interest.end));
            Member {
                id: member_id(*member).into(),
                rack: shape.rack(*member).map(|rack| racks[rack].clone()),
                topics: list.or_insert_with(|| Arc::from(&names[interest])).clone(),
                owned: Holdings::default(),
                standby_for: Holdings::default(),
                user_data: Vec::new(),
            }
        });
        let (set_size, standbys) = (shape.set_size(), shape.standbys());
        Self { members: members.collect(), topics, set_size, standbys, racks }
    }

    /// True if units are single partitions and no standbys are wanted.
    pub(crate) fn is_plain(&self) -> bool {
        self.set_size == 1 && self.standbys == 0
    }

    /// The name of the topic at that place.
    pub(crate) fn name(&self, topic: u32) -> &Arc<str> {
        &self.topics[topic as usize].name
    }

    /// The place of the topic of that name, which there is.
    pub(crate) fn place(&self, name: &str) -> usize {
        let place = self.topics.binary_search_by(|topic| (*topic.name).cmp(name));
        place.expect("only known topics are asked for")
    }

    /// All topics by set, in the order of their names, which is that in which strategies number them.
    pub(crate) fn sets(&self) -> Chunks<'_, Topic> {
        debug_assert!(
            self.topics.is_sorted_by_key(|topic| &topic.name),
            "names sort as the numbers of topics do"
        );
        self.topics.chunks(self.set_size)
    }

    /// Members own what `shares` gives them. What it gives to others is nobody's.
    pub(crate) fn own(&mut self, shares: &Shares<'_>) {
        let places: BTreeMap<&str, u32> = self.topics.iter().map(|topic| &*topic.name).zip(0..).collect();
        let shares: BTreeMap<&str, _> = shares.iter().map(|share| (&**share.member, share)).collect();
        for member in &mut self.members {
            let Some(share) = shares.get(&*member.id) else { continue };
            let placed = |(topic, partition): &Partition<'_>| (places[&***topic], *partition);
            member.owned = share.partitions.iter().map(placed).collect();
            member.standby_for = share.standbys.iter().map(placed).collect();
        }
    }
}

impl Topic {
    fn new(shape: &Shape, topic: usize) -> Self {
        let partitions = shape.partitions_per_topic();
        let known = (0..partitions).filter(|_| shape.racks);
        let first_of_set = topic - topic % shape.set_size();
        Self {
            name: topic_name(topic).into(),
            partitions: u32::try_from(partitions).expect("a shape has some millions of partitions at most"),
            replicas: known.map(|partition| Shape::replicas(first_of_set, partition)).collect(),
            replica_racks: None,
            weights: (0..partitions).filter_map(|partition| shape.weight(topic, partition)).collect(),
        }
    }
}

/// Says of all topics in which racks their replicas are, if that is known.
fn locate(topics: &mut [Topic], shape: &Shape) {
    let names = |replicas: &[usize; REPLICAS]| replicas.map(|broker| RACKS[broker]);
    let racks = ReplicaRacks::of_topics(topics.iter().map(|topic| topic.replicas.iter().map(names)));
    for (topic, racks) in topics.iter_mut().zip(racks).filter(|_| shape.racks) {
        topic.replica_racks = Some(racks);
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
        let owned: Vec<_> = stayed.owned.iter().collect();
        assert_eq!(owned, [(0, 5), (1, 0)]);
        assert!(idle.owned.is_empty());
    }

    #[test]
    fn where_everything_is_asked_pairs_of_topics_are_in_the_same_racks() {
        let shape = Shape { subscriptions: Subscriptions::Everything, ..shape() };
        let input = Input::new(&shape, &[0, 1, 2]);
        let [set] = input.sets().collect::<Vec<_>>()[..] else { panic!("two topics are one pair") };
        assert_eq!(set[0].replicas, set[1].replicas);
        assert_ne!(set[0].weights, set[1].weights);
        assert_eq!((input.standbys, input.members[0].topics.len()), (1, 2));
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
