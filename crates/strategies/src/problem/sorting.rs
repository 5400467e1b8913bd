//! From what a builder was told, in its order, to a problem, sorted by name.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::builder::Pair;
use super::standby::StandbyList;
use super::{Holders, generation};
use crate::{
    Capacity, Member, MemberHandle, MemberIndex, MemberSpec, MemberState, Problem, ProblemBuilder, RackIndex,
    Standby, Subscription, TopicHandle, TopicIndex, UnitIndex, Weight,
};

/// The problem that `told`, which has no mistakes, describes.
pub(super) fn sorted(mut told: ProblemBuilder) -> Problem {
    let order = Order::of(&told);
    let pins = order.pairs(&told.pins);
    let cooling = std::mem::take(&mut told.cooling);
    let mut problem = Problem {
        members: order.members(&told.members),
        racks: order.racks.order.iter().map(|at| told.racks[*at].clone()).collect(),
        replica_racks: told.replica_racks.sorted(&order.racks.rank, order.slots(&told)),
        standbys: order.standbys(&told),
        bans: order.pairs(&told.bans),
        pins: Vec::new(),
        cooling: sorted_set(cooling.into_iter().map(|(topic, partition)| order.unit(topic, partition))),
        weights: order.weights(&told),
        holders: order.holders(&told),
        topics: order.topics.order.iter().map(|at| told.topics[*at].clone()).collect(),
        options: told.options,
        first_unit: order.first_unit,
    };
    problem.pins = effective(&problem, &pins);
    problem
}

/// The pins of units that a member they are pinned to can have.
fn effective(problem: &Problem, pins: &[(UnitIndex, MemberIndex)]) -> Vec<(UnitIndex, MemberIndex)> {
    let can_have = |(unit, member): &(UnitIndex, MemberIndex)| match problem.member(*member).state {
        MemberState::Active => problem.may_own(*unit, *member),
        MemberState::Hold => problem.current(*unit) == Some(*member) && problem.may_own(*unit, *member),
        MemberState::Draining => false,
    };
    let of_one_unit = pins.chunk_by(|a, b| a.0 == b.0);
    of_one_unit.filter(|pins| pins.iter().any(can_have)).flatten().copied().collect()
}

/// How everything that was told is put in order.
struct Order {
    topics: Ranks,
    members: Ranks,
    racks: Ranks,
    first_unit: Vec<usize>,
}

impl Order {
    fn of(told: &ProblemBuilder) -> Self {
        let topics = Ranks::by(&told.topics, |a, b| a.name.cmp(&b.name));
        let mut first_unit = vec![0];
        let mut units = 0;
        first_unit.extend(topics.order.iter().map(|at| {
            units += told.topics[*at].partitions as usize;
            units
        }));
        Self {
            topics,
            members: Ranks::by(&told.members, |a, b| a.id.cmp(&b.id)),
            racks: Ranks::by(&told.racks, Ord::cmp),
            first_unit,
        }
    }

    fn member(&self, handle: MemberHandle) -> MemberIndex {
        MemberIndex::new(self.members.rank[handle.index()])
    }

    fn unit(&self, topic: TopicHandle, partition: u32) -> UnitIndex {
        UnitIndex::new(self.first_unit[self.topics.rank[topic.index()]] + partition as usize)
    }

    /// The slots in the order of their units.
    fn slots(&self, told: &ProblemBuilder) -> impl Iterator<Item = usize> {
        self.topics.order.iter().flat_map(|topic| {
            let first = told.first_slot[*topic];
            first..first + told.topics[*topic].partitions as usize
        })
    }

    fn members(&self, told: &[MemberSpec]) -> Vec<Member> {
        let labels: BTreeSet<Label<'_>> =
            told.iter().filter_map(|spec| spec.generation.as_deref()).map(Label).collect();
        let labels: Vec<_> = labels.into_iter().collect();
        self.members.order.iter().map(|at| self.ranked(&told[*at], &labels)).collect()
    }

    /// The member that `spec` describes; `labels` are all there are, ascending.
    fn ranked(&self, spec: &MemberSpec, labels: &[Label<'_>]) -> Member {
        let label = spec.generation.as_deref().map(Label);
        let generation = label.map_or(0, |label| labels.partition_point(|other| *other <= label));
        Member {
            id: spec.id.clone(),
            subscription: self.subscription(&spec.subscription),
            max_partitions: spec.max_partitions,
            state: spec.state,
            capacity: Capacity::new(spec.capacity).expect("the builder checked it"),
            rack: spec.rack.map(|rack| RackIndex::new(self.racks.rank[rack.index()])),
            generation: u32::try_from(generation).expect("members are counted in u32"),
        }
    }

    fn subscription(&self, told: &Subscription<TopicHandle>) -> Subscription<TopicIndex> {
        let Subscription::Topics(handles) = told else { return Subscription::All };
        let rank = |topic: &TopicHandle| TopicIndex::new(self.topics.rank[topic.index()]);
        let topics = sorted_set(handles.iter().map(rank));
        if topics.len() == self.topics.order.len() { Subscription::All } else { Subscription::Topics(topics) }
    }

    fn holders(&self, told: &ProblemBuilder) -> Vec<Holders<MemberIndex>> {
        let ranked = |holder: Option<MemberHandle>| holder.map(|handle| self.member(handle));
        let of_slot = |slot: usize| {
            let Holders { current, fixed } = told.slots[slot];
            Holders { current: ranked(current), fixed: ranked(fixed) }
        };
        let mut holders = Vec::with_capacity(told.slots.len());
        holders.extend(self.slots(told).map(of_slot));
        holders
    }

    fn weights(&self, told: &ProblemBuilder) -> Vec<Weight> {
        if told.weights.is_empty() {
            return Vec::new();
        }
        let mut weights = Vec::with_capacity(told.slots.len());
        let of_slot = |slot: usize| told.weights.get(slot).copied().unwrap_or(Weight::ONE);
        weights.extend(self.slots(told).map(of_slot));
        weights
    }

    fn standbys(&self, told: &ProblemBuilder) -> StandbyList {
        let ranked = |((topic, partition, member), lag): &(Pair, u64)| {
            (self.unit(*topic, *partition), Standby { lag: *lag, member: self.member(*member) })
        };
        StandbyList::new(told.slots.len(), told.standbys.iter().map(ranked).collect())
    }

    fn pairs(&self, told: &[Pair]) -> Vec<(UnitIndex, MemberIndex)> {
        sorted_set(
            told.iter()
                .map(|(topic, partition, member)| (self.unit(*topic, *partition), self.member(*member))),
        )
    }
}

fn sorted_set<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}

/// A generation's label, ordered as people count.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Label<'a>(&'a str);

impl Ord for Label<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        generation::compare(self.0, other.0)
    }
}

impl PartialOrd for Label<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
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
}
