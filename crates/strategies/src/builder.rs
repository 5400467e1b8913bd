//! How a problem is told: [`ProblemBuilder`].

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::problem::Holders;
use crate::{
    InvalidProblem, Member, MemberHandle, MemberIndex, MemberSpec, Problem, Subscription, Topic, TopicHandle,
    TopicIndex, UnitIndex,
};

/// Collects topics, members and ownership in any order that names a thing before it is used, and
/// makes a [`Problem`] of them. Names are hashed once; everything after that goes by handle.
///
/// The first mistake is kept and returned by [`build`](Self::build), so that callers need one
/// check only.
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
    topics: Vec<Topic>,
    topic_by_name: FxHashMap<Arc<str>, TopicHandle>,
    /// By topic handle: where its partitions begin in `slots`.
    first_slot: Vec<usize>,
    members: Vec<MemberSpec>,
    member_by_id: FxHashMap<Arc<str>, MemberHandle>,
    slots: Vec<Holders<MemberHandle>>,
    bans: Vec<(TopicHandle, u32, MemberHandle)>,
    mistake: Option<InvalidProblem>,
}

impl ProblemBuilder {
    /// Adds a topic whose partitions nobody owns yet.
    pub fn topic(&mut self, name: impl Into<Arc<str>>, partitions: u32) -> TopicHandle {
        let name = name.into();
        if let Some(known) = self.topic_handle(&name) {
            self.refuse(InvalidProblem::DuplicateTopic(name));
            return known;
        }
        let partitions = self.within_bounds(&name, partitions);
        let handle = TopicHandle::new(self.topics.len());
        self.first_slot.push(self.slots.len());
        let slots = self.slots.len() + partitions as usize;
        self.slots.resize(slots, Holders { current: None, fixed: None });
        self.topic_by_name.insert(name.clone(), handle);
        self.topics.push(Topic { name, partitions });
        handle
    }

    /// `partitions` if there is room for them, otherwise none.
    fn within_bounds(&mut self, name: &Arc<str>, partitions: u32) -> u32 {
        if partitions as usize <= Problem::MAX_UNITS - self.slots.len() {
            return partitions;
        }
        self.refuse(InvalidProblem::TooManyUnits { topic: name.clone(), partitions });
        0
    }

    /// Adds a member that owns nothing yet.
    pub fn member(&mut self, spec: MemberSpec) -> MemberHandle {
        if let Some(known) = self.member_handle(&spec.id) {
            self.refuse(InvalidProblem::DuplicateMember(spec.id));
            return known;
        }
        if let Subscription::Topics(topics) = &spec.subscription
            && topics.iter().any(|topic| topic.index() >= self.topics.len())
        {
            self.refuse(InvalidProblem::ForeignHandle);
        }
        let handle = MemberHandle::new(self.members.len());
        self.member_by_id.insert(spec.id.clone(), handle);
        self.members.push(spec);
        handle
    }

    /// The topic of that name, if it has been added.
    pub fn topic_handle(&self, name: &str) -> Option<TopicHandle> {
        self.topic_by_name.get(name).copied()
    }

    /// The member of that id, if it has been added.
    pub fn member_handle(&self, id: &str) -> Option<MemberHandle> {
        self.member_by_id.get(id).copied()
    }

    /// The subscription to the topics of these names that have been added; other names are left
    /// out, as there is nothing of them to place.
    pub fn subscription<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Subscription<TopicHandle> {
        let handles = names.into_iter().filter_map(|name| self.topic_handle(name.as_ref()));
        Subscription::Topics(handles.collect())
    }

    /// Says that `member` owns the partition today. An owner that is no member is not told: its
    /// partitions are nobody's.
    pub fn current(&mut self, topic: TopicHandle, partition: u32, member: MemberHandle) {
        self.hold(topic, partition, member, |slot| &mut slot.current);
    }

    /// Says that a handoff of the partition to `member` is under way, which therefore keeps it
    /// and counts it, whatever its subscription, bans, limit and state. The owner until then may
    /// be told with [`current`](Self::current) and does not matter.
    pub fn fixed(&mut self, topic: TopicHandle, partition: u32, member: MemberHandle) {
        self.hold(topic, partition, member, |slot| &mut slot.fixed);
    }

    /// Says that the partition must not go to `member`, nor stay there.
    pub fn ban(&mut self, topic: TopicHandle, partition: u32, member: MemberHandle) {
        match self.slot(topic, partition, member) {
            Ok(_) => self.bans.push((topic, partition, member)),
            Err(mistake) => self.refuse(mistake),
        }
    }

    fn hold(
        &mut self,
        topic: TopicHandle,
        partition: u32,
        member: MemberHandle,
        holder: impl Fn(&mut Holders<MemberHandle>) -> &mut Option<MemberHandle>,
    ) {
        let taken = match self.slot(topic, partition, member) {
            Ok(slot) => holder(&mut self.slots[slot]).replace(member),
            Err(mistake) => return self.refuse(mistake),
        };
        if let Some(first) = taken.filter(|first| *first != member) {
            self.refuse(InvalidProblem::TwoOwners {
                topic: self.topics[topic.index()].name.clone(),
                partition,
                first: self.members[first.index()].id.clone(),
                second: self.members[member.index()].id.clone(),
            });
        }
    }

    /// Where the partition is in `slots`, if it and the member exist.
    fn slot(
        &self,
        topic: TopicHandle,
        partition: u32,
        member: MemberHandle,
    ) -> Result<usize, InvalidProblem> {
        let Topic { name, partitions } =
            self.topics.get(topic.index()).ok_or(InvalidProblem::ForeignHandle)?;
        if member.index() >= self.members.len() {
            return Err(InvalidProblem::ForeignHandle);
        }
        if partition >= *partitions {
            let (topic, partitions) = (name.clone(), *partitions);
            return Err(InvalidProblem::NoSuchPartition { topic, partition, partitions });
        }
        Ok(self.first_slot[topic.index()] + partition as usize)
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
            None => Ok(self.sorted()),
        }
    }

    fn sorted(mut self) -> Problem {
        let topics = Ranks::by(&self.topics, |a, b| a.name.cmp(&b.name));
        let members = Ranks::by(&self.members, |a, b| a.id.cmp(&b.id));
        let first_unit = self.first_units(&topics);
        let holders = self.holders(&topics, &members);
        let bans = self.sorted_bans(&topics, &members, &first_unit);
        Problem {
            members: members.order.iter().map(|at| ranked(&self.members[*at], &topics)).collect(),
            topics: topics.order.iter().map(|at| self.topics[*at].clone()).collect(),
            first_unit,
            holders,
            bans,
        }
    }

    fn first_units(&self, topics: &Ranks) -> Vec<usize> {
        let mut first_unit = vec![0];
        let mut units = 0;
        first_unit.extend(topics.order.iter().map(|at| {
            units += self.topics[*at].partitions as usize;
            units
        }));
        first_unit
    }

    fn holders(&self, topics: &Ranks, members: &Ranks) -> Vec<Holders<MemberIndex>> {
        let member = |handle: MemberHandle| MemberIndex::new(members.rank[handle.index()]);
        let mut holders = Vec::with_capacity(self.slots.len());
        for topic in &topics.order {
            let first = self.first_slot[*topic];
            let slots = &self.slots[first..first + self.topics[*topic].partitions as usize];
            holders.extend(
                slots
                    .iter()
                    .map(|slot| Holders { current: slot.current.map(member), fixed: slot.fixed.map(member) }),
            );
        }
        holders
    }

    fn sorted_bans(
        &mut self,
        topics: &Ranks,
        members: &Ranks,
        first_unit: &[usize],
    ) -> Vec<(UnitIndex, MemberIndex)> {
        let ranked = |(topic, partition, member): (TopicHandle, u32, MemberHandle)| {
            let unit = first_unit[topics.rank[topic.index()]] + partition as usize;
            (UnitIndex::new(unit), MemberIndex::new(members.rank[member.index()]))
        };
        let mut bans: Vec<_> = self.bans.drain(..).map(ranked).collect();
        bans.sort_unstable();
        bans.dedup();
        bans
    }
}

/// The member that `spec` describes, with its topics by rank.
fn ranked(spec: &MemberSpec, topics: &Ranks) -> Member {
    let mut subscription = match &spec.subscription {
        Subscription::All => Subscription::All,
        Subscription::Topics(handles) => Subscription::Topics(topics.ranks_of(handles)),
    };
    if matches!(&subscription, Subscription::Topics(some) if some.len() == topics.order.len()) {
        subscription = Subscription::All;
    }
    Member { id: spec.id.clone(), subscription, max_partitions: spec.max_partitions, state: spec.state }
}

/// How a list is put in order: positions in the old order by rank, and ranks by old position.
struct Ranks {
    order: Vec<usize>,
    rank: Vec<usize>,
}

impl Ranks {
    fn by<T>(items: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Self {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_unstable_by(|a, b| compare(&items[*a], &items[*b]));
        let mut rank = vec![0; items.len()];
        for (at, item) in order.iter().enumerate() {
            rank[*item] = at;
        }
        Self { order, rank }
    }

    /// Sorted and distinct.
    fn ranks_of(&self, handles: &[TopicHandle]) -> Vec<TopicIndex> {
        let mut ranks: Vec<_> =
            handles.iter().map(|topic| TopicIndex::new(self.rank[topic.index()])).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }
}

#[cfg(test)]
#[path = "builder_test.rs"]
mod tests;
