//! The members of a Kafka group, as they join a rebalance: [`Group`].

use std::sync::Arc;

use super::racks::Racks;
use super::{GroupAssignment, GroupBuilder, java};
use crate::{MemberIndex, TopicIndex, UnitIndex};

/// A topic of a [`Group`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupTopic {
    /// The name; unique within a group.
    pub name: Arc<str>,
    /// The number of its partitions, numbered from zero. Zero stands for a topic that members subscribe to and that the
    /// cluster does not have (yet, or any more).
    pub partitions: u32,
}

/// A member of a [`Group`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The member id; unique within a group.
    pub id: Arc<str>,
    /// `group.instance.id` of a static member.
    pub instance: Option<Arc<str>>,
    /// `client.rack`; never empty.
    pub rack: Option<Arc<str>>,
    /// The generation in which it got what it claims to own, if it says so; never negative.
    pub generation: Option<i32>,
    pub(super) class: usize,
}

/// Members with one subscription.
#[derive(Clone, Debug)]
pub(super) struct SubscriptionClass {
    /// Ascending; a topic that is listed twice is here twice, as Kafka counts it twice.
    pub(super) topics: Vec<TopicIndex>,
    /// By topic, a bit each; empty where `topics` is so short that it takes less memory, and is searched instead.
    wants: Vec<u64>,
    /// Ascending.
    pub(super) members: Vec<MemberIndex>,
}

impl SubscriptionClass {
    /// The class of those who list `topics`, ascending, `of` all there are.
    pub(super) fn new(topics: Vec<TopicIndex>, of: usize) -> Self {
        let words = of.div_ceil(64);
        let mut wants = Vec::new();
        if words * size_of::<u64>() <= size_of_val(&*topics) {
            wants.resize(words, 0);
            topics.iter().for_each(|topic| wants[topic.index() / 64] |= 1 << (topic.index() % 64));
        }
        Self { topics, wants, members: Vec::new() }
    }

    pub(super) fn wants(&self, topic: TopicIndex) -> bool {
        match self.wants.get(topic.index() / 64) {
            Some(word) => word >> (topic.index() % 64) & 1 == 1,
            None => self.topics.binary_search(&topic).is_ok(),
        }
    }
}

/// The subscribers of a topic. Topics that the same classes subscribe to share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Audience {
    /// Distinct.
    pub(super) classes: Vec<usize>,
    /// Ascending.
    pub(super) members: Vec<MemberIndex>,
    /// The number of members, those that list a topic twice counted twice.
    pub(super) listings: usize,
}

/// Everything that Kafka's assignors look at: topics, members in the order in which the group
/// lists them, and what each claims to own. Immutable; made by a [`GroupBuilder`].
///
/// Topics and members are sorted by name as Java compares strings, and numbered so. Units are
/// partitions, numbered topic after topic. What members claim may contradict itself; partitions
/// that do not exist are gone already.
#[derive(Clone, Debug)]
pub struct Group {
    pub(super) topics: Vec<GroupTopic>,
    /// The first unit of each topic, and at the end the number of units.
    pub(super) first_unit: Vec<usize>,
    /// By unit.
    pub(super) topic_of: Vec<TopicIndex>,
    pub(super) members: Vec<GroupMember>,
    /// As a Java map iterates over them that they were put into in the order of the group's list.
    pub(super) map_order: Vec<MemberIndex>,
    /// The topics that members list, in the order in which the members in that order do so first.
    pub(super) named: Vec<TopicIndex>,
    pub(super) classes: Vec<SubscriptionClass>,
    pub(super) audiences: Vec<Audience>,
    /// By topic, the place in `audiences`.
    pub(super) audience_of: Vec<usize>,
    /// Member after member, each in the order of its list.
    pub(super) claims: Vec<UnitIndex>,
    /// The first of each member's claims, and at the end their number.
    pub(super) first_claim: Vec<usize>,
    pub(super) racks: Racks,
}

impl Group {
    /// Starts a group without topics or members.
    pub fn builder() -> GroupBuilder {
        GroupBuilder::default()
    }

    /// The topics, sorted by name; a [`TopicIndex`] is a position in it.
    pub fn topics(&self) -> &[GroupTopic] {
        &self.topics
    }

    /// The members, sorted by id; a [`MemberIndex`] is a position in it.
    pub fn members(&self) -> &[GroupMember] {
        &self.members
    }

    /// The number of units: the sum of the topics' partitions.
    pub fn units(&self) -> usize {
        self.topic_of.len()
    }

    /// The topic and the partition that `unit` stands for.
    ///
    /// # Panics
    ///
    /// If there is no such unit.
    pub fn topic_of(&self, unit: UnitIndex) -> (TopicIndex, u32) {
        let topic = self.topic_of[unit.index()];
        let partition = unit.index() - self.first_unit[topic.index()];
        (topic, u32::try_from(partition).expect("a topic counts partitions in u32"))
    }

    /// The topic of that name, if there is one.
    pub fn topic_named(&self, name: &str) -> Option<TopicIndex> {
        self.topics.binary_search_by(|topic| java::compare(&topic.name, name)).ok().map(TopicIndex::new)
    }

    /// The member of that id, if there is one.
    pub fn member_named(&self, id: &str) -> Option<MemberIndex> {
        self.members.binary_search_by(|member| java::compare(&member.id, id)).ok().map(MemberIndex::new)
    }

    /// The units of `topic`, by partition.
    ///
    /// # Panics
    ///
    /// If there is no such topic.
    pub fn units_of(&self, topic: TopicIndex) -> impl DoubleEndedIterator<Item = UnitIndex> + use<> {
        (self.first_unit[topic.index()]..self.first_unit[topic.index() + 1]).map(UnitIndex::new)
    }

    /// The units that `member` claims to own, in the order of its list. Partitions may be listed twice, or claimed by
    /// others as well.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    pub fn claims_of(&self, member: MemberIndex) -> &[UnitIndex] {
        &self.claims[self.first_claim[member.index()]..self.first_claim[member.index() + 1]]
    }

    pub(super) fn member_indices(&self) -> impl Iterator<Item = MemberIndex> + use<> {
        (0..self.members.len()).map(MemberIndex::new)
    }

    /// The topics that have partitions and subscribers, ascending.
    pub(super) fn served_topics(&self) -> impl Iterator<Item = TopicIndex> {
        (0..self.topics.len()).map(TopicIndex::new).filter(|topic| self.is_served(*topic))
    }

    pub(super) fn is_served(&self, topic: TopicIndex) -> bool {
        self.partitions(topic) > 0 && !self.audience(topic).members.is_empty()
    }

    pub(super) fn served_units(&self) -> impl Iterator<Item = UnitIndex> {
        self.served_topics().flat_map(|topic| self.units_of(topic))
    }

    pub(super) fn partitions(&self, topic: TopicIndex) -> u32 {
        self.topics[topic.index()].partitions
    }

    pub(super) fn audience(&self, topic: TopicIndex) -> &Audience {
        &self.audiences[self.audience_of[topic.index()]]
    }

    pub(super) fn class_of(&self, member: MemberIndex) -> &SubscriptionClass {
        &self.classes[self.members[member.index()].class]
    }

    /// The generation of what `member` claims; −1 if it says none.
    pub(super) fn generation(&self, member: MemberIndex) -> i32 {
        self.members[member.index()].generation.unwrap_or(-1)
    }

    /// True if all members are subscribed to the same topics. A member that lists a topic twice differs from all before
    /// it, as Kafka compares the length of its list.
    pub(super) fn all_subscribe_alike(&self) -> bool {
        let Some((first, rest)) = self.map_order.split_first() else { return true };
        let model = self.class_of(*first);
        let mut distinct = model.topics.clone();
        distinct.dedup();
        let alike = |class: &SubscriptionClass| class.topics == distinct;
        let alike_by_class: Vec<bool> = self.classes.iter().map(alike).collect();
        rest.iter().all(|member| alike_by_class[self.members[member.index()].class])
    }

    /// The same group in which members claim what `assignment` gave them, in one generation.
    pub(super) fn after(&self, assignment: &GroupAssignment) -> Self {
        let mut after =
            Self { claims: Vec::with_capacity(self.units()), first_claim: vec![0], ..self.clone() };
        for member in self.member_indices() {
            after.claims.extend(assignment.of(member));
            after.first_claim.push(after.claims.len());
        }
        after.members.iter_mut().for_each(|member| member.generation = Some(0));
        after
    }

    /// True if racks make a difference in the group as a whole.
    pub(super) fn racks_matter(&self) -> bool {
        self.racks.matter(self.member_indices(), self.served_units())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_takes_memory_for_its_own_topics_and_not_for_all() {
        let topics = [3, 64, 64, 100, 130, 131, 132, 200].map(TopicIndex::new).to_vec();
        for (of, is_searched) in [(201, false), (100_000, true)] {
            let class = SubscriptionClass::new(topics.clone(), of);
            assert_eq!(class.wants.is_empty(), is_searched);
            let wanted: Vec<_> = (0..201).filter(|topic| class.wants(TopicIndex::new(*topic))).collect();
            assert_eq!(wanted, [3, 64, 100, 130, 131, 132, 200], "of {of}");
        }
    }
}
