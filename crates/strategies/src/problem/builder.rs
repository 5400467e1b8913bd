//! The builder of a problem: [`ProblemBuilder`].

use std::sync::Arc;

use super::directory::Directory;
use super::rack::{RackNames, ReplicaSetsBuilder};
use super::sorting;
use super::topics::TopicTable;
use crate::{
    Capacity, InvalidProblem, MemberHandle, MemberSpec, Options, Problem, ProblemMember, ProblemTopic,
    RackHandle, RackIndex, ReplicaRacks, Subscription, TopicHandle, Weight,
};

/// A partition and a member that something is said of.
pub(super) type Pair = (TopicHandle, u32, MemberHandle);

/// Collects topics, members and ownership in any order that names a thing before it is used, and makes a [`Problem`] of
/// them. Names are looked at once, and hashed only where they do not come sorted; everything after that goes by handle.
///
/// The first mistake is kept and returned by [`build`](Self::build), so that callers need one
/// check only.
///
/// A clone shares the topics and where their replicas are with what it was cloned from, until either is told more of
/// them. So a member that asks about the same topics again and again tells them once, best in the order of their names
/// and with replicas [made together](ReplicaRacks::of_topics), and tells members to a clone each time.
///
/// ```
/// use kafka_assigner_strategies::{MemberSpec, Problem};
///
/// let mut builder = Problem::builder();
/// let clicks = builder.topic("clicks", 4);
/// let a = builder.member(MemberSpec::new("a"));
/// builder.current(clicks, 3, a);
/// let problem = builder.build()?;
/// assert_eq!(problem.units(), 4);
/// # Ok::<(), kafka_assigner_strategies::InvalidProblem>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ProblemBuilder {
    /// In the order in which they came. Units are called slots here, as they are in that order too.
    pub(super) topics: Arc<TopicTable>,
    /// Subscribed to all topics, of no generation, and with their racks as they were told: sorting makes that right.
    pub(super) members: Vec<ProblemMember>,
    pub(super) member_directory: Directory,
    /// The topics of members that are not simply subscribed to all.
    pub(super) lists: Vec<(MemberHandle, Arc<[TopicHandle]>)>,
    /// The generations of members that say one.
    pub(super) labels: Vec<(MemberHandle, Arc<str>)>,
    /// By slot its owner; empty, or too short, until one of the last is told.
    pub(super) current: Vec<Option<MemberHandle>>,
    /// By slot whom it is on its way to, as `current`.
    pub(super) fixed: Vec<Option<MemberHandle>>,
    /// By slot; empty until the first is told.
    pub(super) weights: Vec<Weight>,
    pub(super) racks: RackNames,
    pub(super) replica_sets: ReplicaSetsBuilder,
    pub(super) standbys: Vec<(Pair, u64)>,
    pub(super) bans: Vec<Pair>,
    pub(super) pins: Vec<Pair>,
    pub(super) cooling: Vec<(TopicHandle, u32)>,
    pub(super) options: Options,
    mistake: Option<InvalidProblem>,
}

impl ProblemBuilder {
    /// Adds a topic whose partitions no member owns yet.
    pub fn topic(&mut self, name: impl Into<Arc<str>>, partitions: u32) -> TopicHandle {
        let name = name.into();
        if let Err(known) = Arc::make_mut(&mut self.topics).admit(&name) {
            self.refuse(InvalidProblem::DuplicateTopic(name));
            return TopicHandle::new(known);
        }
        let partitions = self.within_bounds(&name, partitions);
        let handle = TopicHandle::new(self.topics.len());
        Arc::make_mut(&mut self.topics).push(ProblemTopic { name, partitions, standbys: 0 });
        handle
    }

    /// `partitions` if there is room for them, otherwise none.
    fn within_bounds(&mut self, name: &Arc<str>, partitions: u32) -> u32 {
        if partitions as usize <= Problem::MAX_UNITS - self.topics.units() {
            return partitions;
        }
        self.refuse(InvalidProblem::TooManyUnits { topic: name.clone(), partitions });
        0
    }

    /// Adds a member that owns nothing yet.
    #[inline]
    pub fn member(&mut self, spec: MemberSpec) -> MemberHandle {
        if let Err(known) = self.member_directory.admit(&self.members, &spec.id) {
            self.refuse(InvalidProblem::DuplicateMember(spec.id));
            return MemberHandle::new(known);
        }
        let handle = MemberHandle::new(self.members.len());
        let capacity = self.capacity_of(&spec);
        let MemberSpec { id, subscription, max_partitions, state, rack, generation, .. } = spec;
        if let Subscription::Topics(topics) = subscription {
            self.check_topics(&topics);
            self.lists.push((handle, topics));
        }
        let rack = rack.map(|rack| self.told_rack(rack));
        self.labels.extend(generation.map(|label| (handle, label)));
        let subscription = Subscription::All;
        self.members.push(ProblemMember {
            id,
            subscription,
            max_partitions,
            state,
            capacity,
            rack,
            generation: 0,
        });
        handle
    }

    #[inline]
    fn capacity_of(&mut self, spec: &MemberSpec) -> Capacity {
        Capacity::new(spec.capacity).unwrap_or_else(|| {
            self.refuse(InvalidProblem::Capacity { member: spec.id.clone(), capacity: spec.capacity });
            Capacity::ONE
        })
    }

    /// The rack as it was told, which sorting makes right.
    #[inline]
    fn told_rack(&mut self, rack: RackHandle) -> RackIndex {
        if rack.index() >= self.racks.names.len() {
            self.refuse(InvalidProblem::ForeignHandle);
        }
        RackIndex::new(rack.index())
    }

    fn check_topics(&mut self, topics: &[TopicHandle]) {
        if topics.iter().any(|topic| topic.index() >= self.topics.len()) {
            self.refuse(InvalidProblem::ForeignHandle);
        }
    }

    /// The rack, zone or other failure domain of that name, added if it is new. By reference, since thousands of
    /// members may share the name of one: that is then known without a look at it, for the first few.
    #[inline]
    pub fn rack(&mut self, name: &Arc<str>) -> RackHandle {
        self.racks.handle(name)
    }

    /// Sets what may be traded for what; [`Options::default`] otherwise.
    pub fn options(&mut self, options: Options) {
        if options.tolerance > Options::MAX_TOLERANCE {
            self.refuse(InvalidProblem::Tolerance(options.tolerance));
        }
        self.options = options;
    }

    /// Sets how many standbys each unit of the topic should have; none otherwise.
    pub fn want_standbys(&mut self, topic: TopicHandle, standbys: u32) {
        let Some(told) = self.topics.get(topic.index()) else {
            return self.refuse(InvalidProblem::ForeignHandle);
        };
        if told.standbys == standbys {
            return;
        }
        let name = told.name.clone();
        let wanted = Arc::make_mut(&mut self.topics).want_standbys(topic.index(), standbys);
        if wanted > Problem::MAX_UNITS as u64 {
            self.refuse(InvalidProblem::TooManyStandbys { topic: name, standbys });
        }
    }

    /// Sets how much work the partition is; [`Weight::ONE`] otherwise.
    pub fn weight(&mut self, topic: TopicHandle, partition: u32, weight: f64) {
        let slot = match self.slot(topic, partition) {
            Ok(slot) => slot,
            Err(mistake) => return self.refuse(mistake),
        };
        let Some(weight_of_slot) = Weight::new(weight) else {
            let topic = self.topics.list()[topic.index()].name.clone();
            return self.refuse(InvalidProblem::Weight { topic, partition, weight });
        };
        if self.weights.len() < self.topics.units() {
            self.weights.resize(self.topics.units(), Weight::ONE);
        }
        self.weights[slot] = weight_of_slot;
    }

    /// Says in which racks the partitions of the topic have replicas, so that their owners can read nearby; what was
    /// said of it before does not count any more. Of partitions that `racks` does not reach it is unknown.
    pub fn replica_racks(&mut self, topic: TopicHandle, racks: &ReplicaRacks) {
        let Some(told) = self.topics.get(topic.index()) else {
            return self.refuse(InvalidProblem::ForeignHandle);
        };
        let partitions = told.partitions;
        if racks.partitions() > partitions as usize {
            let topic = told.name.clone();
            return self.refuse(InvalidProblem::NoSuchPartition { topic, partition: partitions, partitions });
        }
        self.replica_sets.tell(topic.index(), racks, &mut self.racks);
    }

    /// Says that `member` holds a copy of the partition's state, `lag` records behind its owner.
    pub fn standby(&mut self, topic: TopicHandle, partition: u32, member: MemberHandle, lag: u64) {
        match self.slot_with(topic, partition, member) {
            Ok(_) => self.standbys.push(((topic, partition, member), lag)),
            Err(mistake) => self.refuse(mistake),
        }
    }

    /// The topic of that name, if it has been added.
    pub fn topic_handle(&self, name: &str) -> Option<TopicHandle> {
        self.topics.find(name).map(TopicHandle::new)
    }

    /// The member of that id, if it has been added.
    pub fn member_handle(&self, id: &str) -> Option<MemberHandle> {
        self.member_directory.find(&self.members, id).map(MemberHandle::new)
    }

    /// The subscription to the topics of these names that have been added; other names are left
    /// out, as there is nothing of them to place.
    pub fn subscription<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Subscription<TopicHandle> {
        let handles = names.into_iter().filter_map(|name| self.topic_handle(name.as_ref()));
        handles.collect()
    }

    /// Says that `member` owns the partition today. An owner that is no member is not told: its
    /// partitions have no owner.
    pub fn current(&mut self, topic: TopicHandle, partition: u32, member: MemberHandle) {
        self.hold(topic, partition, member, |builder| &mut builder.current);
    }

    /// Says that a handoff of the partition to `member` is under way, which therefore keeps it
    /// and counts it, whatever its subscription, bans, limit and state. The owner until then may
    /// be told with [`current`](Self::current) and does not matter.
    pub fn fixed(&mut self, topic: TopicHandle, partition: u32, member: MemberHandle) {
        self.hold(topic, partition, member, |builder| &mut builder.fixed);
    }

    /// Says that the partition must not go to `member`, nor stay there.
    pub fn ban(&mut self, topic: TopicHandle, partition: u32, member: MemberHandle) {
        match self.slot_with(topic, partition, member) {
            Ok(_) => self.bans.push((topic, partition, member)),
            Err(mistake) => self.refuse(mistake),
        }
    }

    /// Says that the partition must go to `member`, or to another one it is pinned to. While none of
    /// these can have it, it is as if it were not pinned: better elsewhere than without an owner.
    pub fn pin(&mut self, topic: TopicHandle, partition: u32, member: MemberHandle) {
        match self.slot_with(topic, partition, member) {
            Ok(_) => self.pins.push((topic, partition, member)),
            Err(mistake) => self.refuse(mistake),
        }
    }

    /// Says that the partition moved lately: where the strategy heeds that, it stays with its owner as long as that may
    /// own it and does not drain.
    pub fn cool(&mut self, topic: TopicHandle, partition: u32) {
        match self.slot(topic, partition) {
            Ok(_) => self.cooling.push((topic, partition)),
            Err(mistake) => self.refuse(mistake),
        }
    }

    /// Tells a holder.
    #[inline]
    fn hold(
        &mut self,
        topic: TopicHandle,
        partition: u32,
        member: MemberHandle,
        holders: fn(&mut Self) -> &mut Vec<Option<MemberHandle>>,
    ) {
        let is_known = member.index() < self.members.len();
        let slot = self.topics.unit_of(topic.index(), partition).filter(|_| is_known);
        match slot.and_then(|slot| holders(self).get_mut(slot)) {
            Some(holder) if holder.is_none_or(|other| other == member) => *holder = Some(member),
            _ => self.hold_otherwise(topic, partition, member, holders),
        }
    }

    /// Tells a holder for which there is no room yet, or refuses it.
    #[cold]
    fn hold_otherwise(
        &mut self,
        topic: TopicHandle,
        partition: u32,
        member: MemberHandle,
        holders: fn(&mut Self) -> &mut Vec<Option<MemberHandle>>,
    ) {
        let slot = match self.slot_with(topic, partition, member) {
            Ok(slot) => slot,
            Err(mistake) => return self.refuse(mistake),
        };
        let slots = self.topics.units();
        let holders = holders(self);
        // Most topics are told before the first owner, so that this is done once.
        if holders.len() <= slot {
            holders.resize(slots, None);
        }
        match holders[slot] {
            Some(first) => self.refuse_second(topic, partition, first, member),
            None => holders[slot] = Some(member),
        }
    }

    /// Refuses `second` as the holder of a partition that has a `first`.
    fn refuse_second(
        &mut self,
        topic: TopicHandle,
        partition: u32,
        first: MemberHandle,
        second: MemberHandle,
    ) {
        let topic = self.topics.list()[topic.index()].name.clone();
        let [first, second] = [first, second].map(|member| self.members[member.index()].id.clone());
        self.refuse(InvalidProblem::TwoOwners { topic, partition, first, second });
    }

    /// The position of the partition in `slots`, if it and the member exist.
    fn slot_with(
        &self,
        topic: TopicHandle,
        partition: u32,
        member: MemberHandle,
    ) -> Result<usize, InvalidProblem> {
        if member.index() >= self.members.len() {
            return Err(InvalidProblem::ForeignHandle);
        }
        self.slot(topic, partition)
    }

    /// The position of the partition in `slots`, if it exists.
    fn slot(&self, topic: TopicHandle, partition: u32) -> Result<usize, InvalidProblem> {
        let slot = self.topics.unit_of(topic.index(), partition);
        slot.ok_or_else(|| match self.topics.get(topic.index()) {
            None => InvalidProblem::ForeignHandle,
            Some(ProblemTopic { name, partitions, .. }) => {
                InvalidProblem::NoSuchPartition { topic: name.clone(), partition, partitions: *partitions }
            }
        })
    }

    fn refuse(&mut self, mistake: InvalidProblem) {
        self.mistake.get_or_insert(mistake);
    }

    /// Sorts everything by name and makes the problem.
    ///
    /// # Errors
    ///
    /// The first mistake that was made in telling it, whichever of [`InvalidProblem`] it was.
    pub fn build(self) -> Result<Problem, InvalidProblem> {
        match self.mistake.clone() {
            Some(mistake) => Err(mistake),
            None => Ok(sorting::sorted(self)),
        }
    }
}

#[cfg(test)]
#[path = "builder_test.rs"]
mod tests;
