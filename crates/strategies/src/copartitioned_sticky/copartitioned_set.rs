//! Topics that are co-partitioned: [`CopartitionedSet`].

use std::collections::BTreeMap;

use crate::{MemberIndex, MemberState, Place, Problem, Subscription, TopicIndex, UnitIndex};

/// Topics with as many partitions as each other and the same subscribers. Its slot number `n` is
/// partition `n` of each of them.
#[derive(Debug)]
pub(super) struct CopartitionedSet {
    /// Ascending.
    topics: Vec<Part>,
    pub(super) slots: u32,
    /// The active members that are subscribed, ascending.
    pub(super) takers: Vec<MemberIndex>,
}

/// The place of `member` in `members`, which are ascending and all but `absent` of those there are.
/// It can't be further off from the member's number than that, so the search is short.
pub(super) fn place_of(members: &[MemberIndex], absent: usize, member: MemberIndex) -> Option<usize> {
    let first = member.index().saturating_sub(absent);
    let end = members.len().min(member.index() + 1);
    members.get(first..end)?.binary_search(&member).ok().map(|place| first + place)
}

/// A topic of a set.
#[derive(Debug)]
struct Part {
    index: TopicIndex,
    first_unit: usize,
    /// The number of standbys that each unit should have.
    standbys: u32,
}

impl CopartitionedSet {
    /// All sets with at least one slot, those with the fewest takers first: they have least choice.
    pub(super) fn all(problem: &Problem) -> Vec<Self> {
        let mut sets: Vec<_> = grouped(problem).iter().map(|topics| Self::of(problem, topics)).collect();
        sets.sort_by_key(|set| (set.takers.len(), set.slots, set.topics[0].index));
        sets
    }

    fn of(problem: &Problem, topics: &[TopicIndex]) -> Self {
        let part = |topic: &TopicIndex| Part {
            index: *topic,
            first_unit: problem.unit(*topic, 0).index(),
            standbys: problem.topic(*topic).standbys,
        };
        Self {
            topics: topics.iter().map(part).collect(),
            slots: problem.topic(topics[0]).partitions,
            takers: problem.takers_of(topics[0]).collect(),
        }
    }

    /// The number of units of a slot.
    pub(super) fn size(&self) -> u32 {
        count(self.topics.len())
    }

    /// The number of units of a slot that have standbys.
    pub(super) fn copied(&self) -> u32 {
        count(self.topics.iter().filter(|topic| topic.standbys > 0).count())
    }

    /// The most standbys that any unit of a slot should have.
    pub(super) fn standbys(&self) -> u32 {
        self.topics.iter().map(|topic| topic.standbys).max().unwrap_or(0)
    }

    /// The units of `slot`, by topic.
    pub(super) fn units(&self, slot: u32) -> impl Iterator<Item = UnitIndex> + use<'_> {
        self.topics.iter().map(move |topic| UnitIndex::new(topic.first_unit + slot as usize))
    }

    /// The units of each topic by slot, topic after topic: the order in which they lie in memory.
    pub(super) fn by_topic(&self) -> impl Iterator<Item = impl Iterator<Item = (usize, UnitIndex)>> {
        let slots = 0..self.slots as usize;
        self.topics
            .iter()
            .map(move |topic| slots.clone().map(move |slot| (slot, UnitIndex::new(topic.first_unit + slot))))
    }

    /// True if `member` must not own some unit of `slot`.
    pub(super) fn bars(&self, problem: &Problem, slot: u32, member: MemberIndex) -> bool {
        self.bars_from(Place::Owner, problem, slot, member)
    }

    /// True if `member` must not hold a copy of some unit of `slot`.
    pub(super) fn bars_copy(&self, problem: &Problem, slot: u32, member: MemberIndex) -> bool {
        self.bars_from(Place::Standby, problem, slot, member)
    }

    fn bars_from(&self, place: Place, problem: &Problem, slot: u32, member: MemberIndex) -> bool {
        problem.is_ever_banned() && self.units(slot).any(|unit| problem.is_barred(unit, member, place))
    }

    /// True if `slot` is with several members today, counting one that it is on its way to. A unit without an owner,
    /// such as a new topic's part, is with none.
    pub(super) fn is_spread(&self, problem: &Problem, slot: u32) -> bool {
        let mut holders = self.units(slot).filter_map(|unit| problem.fixed(unit).or(problem.current(unit)));
        let first = holders.next();
        holders.any(|holder| Some(holder) != first)
    }

    /// True if `member` may become or stay standby: one that drains or wants no partitions may not.
    pub(super) fn may_copy(problem: &Problem, member: MemberIndex) -> bool {
        let member = problem.member(member);
        member.state != MemberState::Draining && member.max_partitions != Some(0)
    }

    /// The topics, ascending.
    pub(super) fn topics(&self) -> impl Iterator<Item = TopicIndex> + use<'_> {
        self.topics.iter().map(|topic| topic.index)
    }
}

fn count(topics: usize) -> u32 {
    u32::try_from(topics).expect("units are counted in u32")
}

/// The topics that have partitions, by number of partitions and subscribers.
fn grouped(problem: &Problem) -> Vec<Vec<TopicIndex>> {
    let mut distinct = BTreeMap::new();
    let mut subscribers: Vec<Vec<usize>> = vec![Vec::new(); problem.topics().len()];
    for member in problem.members() {
        let Subscription::Topics(topics) = &member.subscription else { continue };
        let next = distinct.len();
        if distinct.insert(topics, next).is_none() {
            topics.iter().for_each(|topic| subscribers[topic.index()].push(next));
        }
    }
    let mut groups: BTreeMap<_, Vec<TopicIndex>> = BTreeMap::new();
    for (topic, subscribers) in problem.topic_indices().zip(subscribers) {
        let partitions = problem.topic(topic).partitions;
        if partitions > 0 {
            groups.entry((partitions, subscribers)).or_default().push(topic);
        }
    }
    groups.into_values().collect()
}
