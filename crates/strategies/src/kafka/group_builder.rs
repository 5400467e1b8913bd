//! The builder of a group: [`GroupBuilder`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::group::{Audience, SubscriptionClass};
use super::racks::{RackRegistry, RackSet, Racks};
use super::{Group, GroupMember, GroupTopic, java};
use crate::problem::{Directory, Named};
use crate::{InvalidProblem, MemberHandle, MemberIndex, Problem, TopicHandle, TopicIndex, UnitIndex};

/// A list of topics as a [`GroupBuilder`] knows it; equal lists have equal handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionHandle(usize);

/// A member as a [`GroupBuilder`] is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMemberSpec {
    /// The member id.
    pub id: Arc<str>,
    /// `group.instance.id`; `None` for a dynamic member.
    pub instance: Option<Arc<str>>,
    /// `client.rack`; some clients send an empty one and mean none, which is understood.
    pub rack: Option<Arc<str>>,
    /// The topics it is subscribed to.
    pub subscription: SubscriptionHandle,
    /// The generation in which it got what it claims to own; a negative one means none.
    pub generation: Option<i32>,
}

impl Named for GroupMemberSpec {
    fn name(&self) -> &Arc<str> {
        &self.id
    }
}

impl GroupMemberSpec {
    /// A dynamic member without a rack and without a generation.
    pub fn new(id: impl Into<Arc<str>>, subscription: SubscriptionHandle) -> Self {
        Self { id: id.into(), instance: None, rack: None, subscription, generation: None }
    }
}

/// Collects topics and members and makes a [`Group`] of them. Topics come in any order, members in
/// that of the group's list. Names are looked at once, and hashed only where they do not come sorted; everything after
/// that goes by handle.
///
/// The first mistake is kept and returned by [`build`](Self::build).
///
/// ```
/// use kafka_assigner_strategies::kafka::{Group, GroupMemberSpec, roundrobin};
///
/// let mut builder = Group::builder();
/// let clicks = builder.topic("clicks", 3);
/// let subscription = builder.subscription([clicks]);
/// builder.member(GroupMemberSpec::new("a", subscription));
/// builder.member(GroupMemberSpec::new("b", subscription));
/// let group = builder.build()?;
///
/// let assignment = roundrobin(&group);
/// let a = group.member_named("a").expect("it was told");
/// let partitions = assignment.of(a).iter().map(|unit| group.topic_of(*unit).1);
/// assert_eq!(partitions.collect::<Vec<_>>(), [0, 2]);
/// # Ok::<(), kafka_assigner_strategies::InvalidProblem>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GroupBuilder {
    topics: Vec<GroupTopic>,
    topic_directory: Directory,
    units: usize,
    subscriptions: Vec<Vec<TopicHandle>>,
    subscription_by_topics: FxHashMap<Vec<TopicHandle>, SubscriptionHandle>,
    members: Vec<GroupMemberSpec>,
    member_directory: Directory,
    /// By member.
    claims: Vec<Vec<(TopicHandle, u32)>>,
    rack_names: RackRegistry,
    /// By topic, then by partition as far as told.
    replicas: Vec<Vec<RackSet>>,
    mistake: Option<InvalidProblem>,
}

impl Named for GroupTopic {
    fn name(&self) -> &Arc<str> {
        &self.name
    }
}

impl GroupBuilder {
    /// Adds a topic; with zero partitions if the cluster does not have it.
    pub fn topic(&mut self, name: impl Into<Arc<str>>, partitions: u32) -> TopicHandle {
        let name = name.into();
        if let Err(known) = self.topic_directory.admit(&self.topics, &name) {
            self.mistake.get_or_insert(InvalidProblem::DuplicateTopic(name));
            return TopicHandle::new(known);
        }
        let partitions = self.within_bounds(&name, partitions);
        let handle = TopicHandle::new(self.topics.len());
        self.units += partitions as usize;
        self.topics.push(GroupTopic { name, partitions });
        self.replicas.push(Vec::new());
        handle
    }

    /// `partitions` if there is room for them, otherwise none.
    fn within_bounds(&mut self, name: &Arc<str>, partitions: u32) -> u32 {
        if partitions as usize <= Problem::MAX_UNITS - self.units {
            return partitions;
        }
        self.mistake.get_or_insert(InvalidProblem::TooManyUnits { topic: name.clone(), partitions });
        0
    }

    /// The topic of that name, if it has been added.
    pub fn topic_handle(&self, name: &str) -> Option<TopicHandle> {
        self.topic_directory.find(&self.topics, name).map(TopicHandle::new)
    }

    /// Says in which racks the replicas of a partition are, all of them, whether or not in sync.
    /// Replicas without a rack are not told. A partition that the topic does not have is ignored.
    pub fn replicas<'a>(
        &mut self,
        topic: TopicHandle,
        partition: u32,
        racks: impl IntoIterator<Item = &'a str>,
    ) {
        let Some(GroupTopic { partitions, .. }) = self.topics.get(topic.index()) else {
            self.mistake.get_or_insert(InvalidProblem::ForeignHandle);
            return;
        };
        if partition < *partitions {
            let sets = &mut self.replicas[topic.index()];
            sets.resize(*partitions as usize, RackSet::EMPTY);
            sets[partition as usize] = self.rack_names.set(racks);
        }
    }

    /// Knows a list of topics from here on. Their order matters only for the order of what
    /// [`range`](super::range()) gives; a topic that is listed twice counts twice where Kafka counts
    /// it so.
    pub fn subscription(&mut self, topics: impl IntoIterator<Item = TopicHandle>) -> SubscriptionHandle {
        let mut topics: Vec<_> = topics.into_iter().collect();
        if topics.iter().any(|topic| topic.index() >= self.topics.len()) {
            self.mistake.get_or_insert(InvalidProblem::ForeignHandle);
            topics.clear();
        }
        let subscriptions = &mut self.subscriptions;
        *self.subscription_by_topics.entry(topics).or_insert_with_key(|topics| {
            subscriptions.push(topics.clone());
            SubscriptionHandle(subscriptions.len() - 1)
        })
    }

    /// Adds a member that claims nothing yet. One whose id is known already takes the other's
    /// place, as in the map that Kafka keeps members in.
    pub fn member(&mut self, spec: GroupMemberSpec) -> MemberHandle {
        if spec.subscription.0 >= self.subscriptions.len() {
            self.mistake.get_or_insert(InvalidProblem::ForeignHandle);
        }
        if let Err(known) = self.member_directory.admit(&self.members, &spec.id) {
            self.members[known] = spec;
            self.claims[known].clear();
            return MemberHandle::new(known);
        }
        let handle = MemberHandle::new(self.members.len());
        self.members.push(spec);
        self.claims.push(Vec::new());
        handle
    }

    /// Appends partitions of a topic to what `member` claims to own, as it says so itself: with
    /// partitions that do not exist (any more), which are ignored, and with what others claim.
    pub fn claims(
        &mut self,
        member: MemberHandle,
        topic: TopicHandle,
        partitions: impl IntoIterator<Item = i32>,
    ) {
        let Some((claims, of)) = self.claims.get_mut(member.index()).zip(self.topics.get(topic.index()))
        else {
            self.mistake.get_or_insert(InvalidProblem::ForeignHandle);
            return;
        };
        let exist =
            |partition: i32| u32::try_from(partition).ok().filter(|partition| *partition < of.partitions);
        claims.extend(partitions.into_iter().filter_map(exist).map(|partition| (topic, partition)));
    }

    /// Sorts everything by name and makes the group.
    ///
    /// # Errors
    ///
    /// The first mistake that was made in telling it: [`InvalidProblem::DuplicateTopic`],
    /// [`InvalidProblem::TooManyUnits`] or [`InvalidProblem::ForeignHandle`].
    pub fn build(mut self) -> Result<Group, InvalidProblem> {
        match self.mistake.take() {
            Some(mistake) => Err(mistake),
            None => Ok(self.sorted()),
        }
    }

    fn sorted(mut self) -> Group {
        let topics = ListOrder::by_name(&self.topics, |topic| &topic.name);
        let members = ListOrder::by_name(&self.members, |member| &member.id);
        let (first_unit, topic_of) = self.units(&topics);
        let (mut classes, class_of) = self.classes(&topics);
        let map_order = java::map_order(self.members.iter().map(|member| java::hash(&member.id)));
        let named = self.named(&topics, &map_order);
        let known = |at: &usize| known(&self.members[*at], &class_of);
        let sorted_members: Vec<_> = members.order.iter().map(known).collect();
        for (member, rank) in sorted_members.iter().zip(0..) {
            classes[member.class].members.push(MemberIndex::new(rank));
        }
        let (audiences, audience_of) = audiences(&classes, self.topics.len());
        let (claims, first_claim) = self.sorted_claims(&topics, &members, &first_unit);
        Group {
            racks: self.racks(&topics, &members),
            topics: topics.order.iter().map(|at| self.topics[*at].clone()).collect(),
            members: sorted_members,
            first_unit,
            topic_of,
            map_order: map_order.iter().map(|at| MemberIndex::new(members.rank[*at])).collect(),
            named,
            classes,
            audiences,
            audience_of,
            claims,
            first_claim,
        }
    }

    fn units(&self, topics: &ListOrder) -> (Vec<usize>, Vec<TopicIndex>) {
        let mut first_unit = vec![0];
        let mut topic_of = Vec::with_capacity(self.units);
        for (rank, at) in topics.order.iter().enumerate() {
            let units = topic_of.len() + self.topics[*at].partitions as usize;
            topic_of.resize(units, TopicIndex::new(rank));
            first_unit.push(units);
        }
        (first_unit, topic_of)
    }

    /// The distinct sets of topics that members list, and by subscription which it is.
    fn classes(&self, topics: &ListOrder) -> (Vec<SubscriptionClass>, Vec<usize>) {
        let mut known = FxHashMap::default();
        let mut classes = Vec::new();
        let class_of = self.subscriptions.iter().map(|handles| {
            let mut listed: Vec<_> = handles.iter().map(|topic| topics.index(*topic)).collect();
            listed.sort_unstable();
            *known.entry(listed).or_insert_with_key(|listed| {
                classes.push(SubscriptionClass::new(listed.clone(), self.topics.len()));
                classes.len() - 1
            })
        });
        let class_of = class_of.collect();
        (classes, class_of)
    }

    /// The topics that members list, in the order in which that happens first.
    fn named(&self, topics: &ListOrder, map_order: &[usize]) -> Vec<TopicIndex> {
        let mut named = Vec::new();
        let mut is_named = vec![false; self.topics.len()];
        let mut is_seen = vec![false; self.subscriptions.len()];
        for member in map_order {
            let subscription = self.members[*member].subscription.0;
            if !std::mem::replace(&mut is_seen[subscription], true) {
                let new = |topic: &&TopicHandle| !std::mem::replace(&mut is_named[topic.index()], true);
                let new = self.subscriptions[subscription].iter().filter(new);
                named.extend(new.map(|topic| topics.index(*topic)));
            }
        }
        named
    }

    fn sorted_claims(
        &self,
        topics: &ListOrder,
        members: &ListOrder,
        first_unit: &[usize],
    ) -> (Vec<UnitIndex>, Vec<usize>) {
        let mut claims = Vec::with_capacity(self.claims.iter().map(Vec::len).sum());
        let mut first_claim = vec![0];
        for at in &members.order {
            let units = self.claims[*at].iter().map(|(topic, partition)| {
                UnitIndex::new(first_unit[topics.rank[topic.index()]] + *partition as usize)
            });
            claims.extend(units);
            first_claim.push(claims.len());
        }
        (claims, first_claim)
    }

    fn racks(&mut self, topics: &ListOrder, members: &ListOrder) -> Racks {
        let mut names = std::mem::take(&mut self.rack_names);
        let known = |at: &usize| self.members[*at].rack.as_deref().filter(|rack| !rack.is_empty());
        let of_member = members.order.iter().map(|at| known(at).map(|rack| names.rack(rack))).collect();
        let mut of_unit = Vec::new();
        if self.replicas.iter().any(|sets| !sets.is_empty()) {
            for at in &topics.order {
                self.replicas[*at].resize(self.topics[*at].partitions as usize, RackSet::EMPTY);
                of_unit.append(&mut self.replicas[*at]);
            }
        }
        Racks::new(names, of_member, of_unit)
    }
}

/// The member that `spec` describes; `class_of` by subscription.
fn known(spec: &GroupMemberSpec, class_of: &[usize]) -> GroupMember {
    GroupMember {
        id: spec.id.clone(),
        instance: spec.instance.clone(),
        rack: spec.rack.clone().filter(|rack| !rack.is_empty()),
        generation: spec.generation.filter(|generation| *generation >= 0),
        class: class_of[spec.subscription.0],
    }
}

/// The distinct audiences, and by topic which it has.
fn audiences(classes: &[SubscriptionClass], topics: usize) -> (Vec<Audience>, Vec<usize>) {
    let mut listing = vec![Vec::new(); topics];
    for (at, class) in classes.iter().enumerate().filter(|(_, class)| !class.members.is_empty()) {
        class.topics.iter().for_each(|topic| listing[topic.index()].push(at));
    }
    let mut known = FxHashMap::default();
    let mut audiences = Vec::new();
    let audience_of = listing.into_iter().map(|listing| {
        *known.entry(listing).or_insert_with_key(|listing| {
            audiences.push(audience(classes, listing));
            audiences.len() - 1
        })
    });
    let audience_of = audience_of.collect();
    (audiences, audience_of)
}

fn audience(classes: &[SubscriptionClass], listing: &[usize]) -> Audience {
    let listings = listing.iter().map(|class| classes[*class].members.len()).sum();
    let mut distinct = listing.to_vec();
    distinct.dedup();
    let mut members: Vec<_> =
        distinct.iter().flat_map(|class| classes[*class].members.iter().copied()).collect();
    members.sort_unstable();
    Audience { classes: distinct, members, listings }
}

/// The order of a list: positions in the old order by rank, and ranks by old position.
struct ListOrder {
    order: Vec<usize>,
    rank: Vec<usize>,
}

impl ListOrder {
    fn by_name<T>(items: &[T], name: impl Fn(&T) -> &str) -> Self {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_unstable_by(|a, b| java::compare(name(&items[*a]), name(&items[*b])));
        let mut rank = vec![0; items.len()];
        for (at, item) in order.iter().enumerate() {
            rank[*item] = at;
        }
        Self { order, rank }
    }

    fn index(&self, topic: TopicHandle) -> TopicIndex {
        TopicIndex::new(self.rank[topic.index()])
    }
}

#[cfg(test)]
#[path = "group_builder_test.rs"]
mod tests;
