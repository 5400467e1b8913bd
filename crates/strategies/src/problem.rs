//! The question to a strategy: [`Problem`].

mod builder;
mod directory;
mod generation;
mod index;
mod invalid;
mod measure;
mod member;
mod options;
mod rack;
mod replica_racks;
mod restrictions;
mod sorting;
mod standby;
mod topic;
mod topics;

use std::ops::Range;
use std::sync::Arc;

pub use builder::ProblemBuilder;
pub(crate) use directory::{Directory, Named};
pub use index::{MemberHandle, MemberIndex, RackHandle, RackIndex, TopicHandle, TopicIndex, UnitIndex};
pub use invalid::InvalidProblem;
pub use measure::{Capacity, Weight};
pub use member::{MemberSpec, MemberState, ProblemMember, Subscription};
pub use options::{Options, TopicSpread};
pub(crate) use rack::RackReader;
use rack::ReplicaSets;
pub use replica_racks::ReplicaRacks;
pub(crate) use restrictions::Place;
pub use standby::Standby;
use standby::StandbyList;
pub use topic::ProblemTopic;
use topics::TopicTable;

/// Everything a strategy may look at: topics, members, who owns what today, and what must not
/// change. Immutable and valid by construction; made by a [`ProblemBuilder`].
///
/// Topics and members are sorted by name, so that two problems that differ only in the order in
/// which they were told are equal. Units are numbered topic after topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    topics: Arc<TopicTable>,
    members: Vec<ProblemMember>,
    racks: Vec<Arc<str>>,
    /// By unit its owner today; empty if there are none at all.
    current: Vec<Option<MemberIndex>>,
    /// By unit whom it is on its way to; empty if none is.
    fixed: Vec<Option<MemberIndex>>,
    /// By unit; empty if all are one.
    weights: Vec<Weight>,
    replica_sets: ReplicaSets,
    standbys: StandbyList,
    /// Sorted and distinct.
    bans: Vec<(UnitIndex, MemberIndex)>,
    /// Sorted and distinct; only those of units that a member they are pinned to can have.
    pins: Vec<(UnitIndex, MemberIndex)>,
    /// Sorted and distinct.
    cooling: Vec<UnitIndex>,
    options: Options,
}

impl Problem {
    /// The most units a problem may have: 2²⁴. The largest Kafka clusters have a few million
    /// partitions; beyond this a count is a mistake, and would cost gigabytes to find out.
    pub const MAX_UNITS: usize = 1 << 24;

    /// Starts a problem without topics or members.
    pub fn builder() -> ProblemBuilder {
        ProblemBuilder::default()
    }

    /// The topics, sorted by name; a [`TopicIndex`] is a position in it.
    pub fn topics(&self) -> &[ProblemTopic] {
        self.topics.list()
    }

    /// The members, sorted by id; a [`MemberIndex`] is a position in it.
    pub fn members(&self) -> &[ProblemMember] {
        &self.members
    }

    /// The number of units: the sum of the topics' partitions.
    #[inline]
    pub fn units(&self) -> usize {
        self.topics.units()
    }

    /// The topic at `topic`.
    ///
    /// # Panics
    ///
    /// If `topic` is of another problem, and not in this one.
    pub fn topic(&self, topic: TopicIndex) -> &ProblemTopic {
        &self.topics.list()[topic.index()]
    }

    /// The member at `member`.
    ///
    /// # Panics
    ///
    /// If `member` is of another problem, and not in this one.
    pub fn member(&self, member: MemberIndex) -> &ProblemMember {
        &self.members[member.index()]
    }

    /// The topic of that name, if there is one.
    pub fn topic_named(&self, name: &str) -> Option<TopicIndex> {
        self.topics.find(name).map(TopicIndex::new)
    }

    /// The member of that id, if there is one.
    pub fn member_named(&self, id: &str) -> Option<MemberIndex> {
        self.members.binary_search_by(|member| (*member.id).cmp(id)).ok().map(MemberIndex::new)
    }

    /// The unit of `partition` of `topic`.
    ///
    /// # Panics
    ///
    /// If there is no such topic, or it has no such partition.
    pub fn unit(&self, topic: TopicIndex, partition: u32) -> UnitIndex {
        let partitions = self.topic(topic).partitions;
        assert!(partition < partitions, "a topic of {partitions} partitions has no {partition}");
        UnitIndex::new(self.first_unit(topic) + partition as usize)
    }

    /// All indices of topics, ascending.
    pub fn topic_indices(&self) -> impl DoubleEndedIterator<Item = TopicIndex> + use<> {
        (0..self.topics.len()).map(TopicIndex::new)
    }

    /// All indices of members, ascending.
    pub fn member_indices(&self) -> impl DoubleEndedIterator<Item = MemberIndex> + use<> {
        (0..self.members.len()).map(MemberIndex::new)
    }

    /// All indices of units, ascending.
    pub fn unit_indices(&self) -> impl DoubleEndedIterator<Item = UnitIndex> + use<> {
        (0..self.units()).map(UnitIndex::new)
    }

    /// The units of `topic`, by partition.
    ///
    /// # Panics
    ///
    /// If there is no such topic.
    pub fn units_of(&self, topic: TopicIndex) -> impl DoubleEndedIterator<Item = UnitIndex> + use<> {
        self.positions_of(topic).map(UnitIndex::new)
    }

    /// The position of the first unit of `topic`.
    pub(crate) fn first_unit(&self, topic: TopicIndex) -> usize {
        self.positions_of(topic).start
    }

    fn positions_of(&self, topic: TopicIndex) -> Range<usize> {
        self.topics.units_of(topic.index())
    }

    /// The topic and the partition that `unit` stands for. Takes the logarithm of the number of
    /// topics; who walks all units does better with [`units_of`](Self::units_of).
    ///
    /// # Panics
    ///
    /// If there is no such unit.
    pub fn topic_of(&self, unit: UnitIndex) -> (TopicIndex, u32) {
        assert!(unit.index() < self.units(), "{unit:?} is not one of {} units", self.units());
        let topic = TopicIndex::new(self.topics.topic_at(unit.index()));
        let partition = unit.index() - self.first_unit(topic);
        (topic, u32::try_from(partition).expect("a topic counts partitions in u32"))
    }

    /// The member that owns `unit` today; `None` if no member does, or some member that is no member.
    ///
    /// # Panics
    ///
    /// If there is no such unit.
    #[inline]
    pub fn current(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.holder(&self.current, unit)
    }

    /// The member that `unit` is on its way to and must stay with, if it is.
    ///
    /// # Panics
    ///
    /// If there is no such unit.
    #[inline]
    pub fn fixed(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.holder(&self.fixed, unit)
    }

    #[inline]
    fn holder(&self, list: &[Option<MemberIndex>], unit: UnitIndex) -> Option<MemberIndex> {
        if list.is_empty() {
            assert!(unit.index() < self.units(), "{unit:?} is not one of {} units", self.units());
            return None;
        }
        list[unit.index()]
    }

    /// The problem in which `member` should own `most` units at most; `None` for any number. All else is as it was.
    #[must_use]
    pub(crate) fn limited(mut self, member: MemberIndex, most: Option<u32>) -> Self {
        self.members[member.index()].max_partitions = most;
        self
    }

    /// True if the units at `positions` are owned by `owners` today.
    #[inline]
    pub(crate) fn is_owned_by(&self, positions: Range<usize>, owners: &[Option<MemberIndex>]) -> bool {
        if self.current.is_empty() {
            return owners.iter().all(Option::is_none);
        }
        // Looks at all of them, as that can be done for many at once.
        let pairs = self.current[positions].iter().zip(owners);
        pairs.fold(0, |all, (a, b)| all | (MemberIndex::bits(*a) ^ MemberIndex::bits(*b))) == 0
    }

    /// The owners today of the units at `positions`; empty if no member owns anything.
    pub(crate) fn owners_at(&self, positions: Range<usize>) -> &[Option<MemberIndex>] {
        if self.current.is_empty() { &[] } else { &self.current[positions] }
    }

    /// By unit its owner today.
    pub(crate) fn owners(&self) -> Vec<Option<MemberIndex>> {
        if self.current.is_empty() { vec![None; self.units()] } else { self.current.clone() }
    }

    /// True if any unit is on its way to a member.
    pub(crate) fn has_fixed(&self) -> bool {
        !self.fixed.is_empty()
    }

    /// By member the weight in thousandths of the units that `owner` says are its.
    pub(crate) fn loads(&self, owner: impl Fn(UnitIndex) -> Option<MemberIndex>) -> Vec<u64> {
        let mut loads = vec![0; self.members.len()];
        for unit in self.unit_indices() {
            if let Some(owner) = owner(unit) {
                loads[owner.index()] += self.weight(unit).thousandths();
            }
        }
        loads
    }

    /// True if `member` is subscribed to `topic`.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    pub fn is_subscribed(&self, topic: TopicIndex, member: MemberIndex) -> bool {
        match &self.member(member).subscription {
            Subscription::All => true,
            Subscription::Topics(topics) => topics.binary_search(&topic).is_ok(),
        }
    }

    /// The work that `unit` takes.
    #[inline]
    pub fn weight(&self, unit: UnitIndex) -> Weight {
        self.weights.get(unit.index()).copied().unwrap_or(Weight::ONE)
    }

    /// True if any unit is more or less work than another.
    pub fn has_weights(&self) -> bool {
        self.weights.windows(2).any(|pair| pair[0] != pair[1])
    }

    /// The racks, sorted by name; a [`RackIndex`] is a position in it.
    pub fn racks(&self) -> &[Arc<str>] {
        &self.racks
    }

    /// The members that hold `unit` as standby today, the least behind first.
    ///
    /// # Panics
    ///
    /// If there is no such unit.
    pub fn standbys(&self, unit: UnitIndex) -> &[Standby] {
        self.standbys.of(unit.index())
    }

    /// True if any member holds a standby of anything.
    pub(crate) fn has_standbys(&self) -> bool {
        !self.standbys.is_empty()
    }

    /// The trade-offs that the strategy may make.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// True if `member` is subscribed to the topic of `unit` and not banned from it. States and limits do not enter
    /// into it.
    ///
    /// # Panics
    ///
    /// If there is no such unit or member.
    pub fn may_own(&self, unit: UnitIndex, member: MemberIndex) -> bool {
        let to_all = self.member(member).subscription == Subscription::All;
        let subscribed = to_all || self.is_subscribed(self.topic_of(unit).0, member);
        subscribed && !self.is_banned(unit, member)
    }

    /// The active members, ascending.
    pub(crate) fn active(&self) -> impl Iterator<Item = MemberIndex> {
        self.member_indices().filter(|member| self.member(*member).state == MemberState::Active)
    }

    /// The active members that are subscribed to `topic`, ascending.
    pub(crate) fn takers_of(&self, topic: TopicIndex) -> impl Iterator<Item = MemberIndex> {
        self.active().filter(move |member| self.is_subscribed(topic, *member))
    }
}
