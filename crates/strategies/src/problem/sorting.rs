//! From what a builder was told, in its order, to a problem, sorted by name.

use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::builder::Pair;
use super::generation;
use super::rack::ReplicaSets;
use super::standby::StandbyList;
use super::topics::TopicTable;
use crate::{
    MemberHandle, MemberIndex, Problem, ProblemBuilder, ProblemMember, RackIndex, Standby, Subscription,
    TopicHandle, TopicIndex, UnitIndex, Weight,
};

/// The problem that `told`, which has no mistakes, describes.
pub(super) fn sorted(mut told: ProblemBuilder) -> Problem {
    let order = Order::of(&told);
    let cooling = std::mem::take(&mut told.cooling);
    let [current, fixed] = [std::mem::take(&mut told.current), std::mem::take(&mut told.fixed)];
    let mut problem = Problem {
        members: order.members(&mut told),
        replica_sets: order.replica_sets(&mut told),
        racks: order.racks.arranged(std::mem::take(&mut told.racks.names)),
        standbys: order.standbys(&told),
        bans: order.pairs(&told.bans),
        pins: order.pairs(&told.pins),
        cooling: sorted_set(cooling.into_iter().map(|(topic, partition)| order.unit(topic, partition))),
        weights: order.weights(&told),
        current: order.holders(&told, current),
        fixed: order.holders(&told, fixed),
        topics: order.topic_table,
        options: told.options,
    };
    problem.choose_pins();
    problem
}

/// The final order of all input.
struct Order {
    topics: Ranks,
    topic_table: Arc<TopicTable>,
    members: Ranks,
    racks: Ranks,
}

impl Order {
    fn of(told: &ProblemBuilder) -> Self {
        let topics = Ranks::by(told.topics.list(), told.topics.is_sorted(), |a, b| a.name.cmp(&b.name));
        Self {
            topic_table: topic_table(&topics, &told.topics),
            topics,
            members: Ranks::by(&told.members, told.member_directory.is_sorted(), |a, b| a.id.cmp(&b.id)),
            racks: Ranks::by(&told.racks.names, told.racks.names.is_sorted(), Ord::cmp),
        }
    }

    fn member(&self, handle: MemberHandle) -> MemberIndex {
        MemberIndex::new(self.members.rank(handle.index()))
    }

    fn topic(&self, handle: TopicHandle) -> TopicIndex {
        TopicIndex::new(self.topics.rank(handle.index()))
    }

    fn rack(&self, told: usize) -> RackIndex {
        RackIndex::new(self.racks.rank(told))
    }

    fn unit(&self, topic: TopicHandle, partition: u32) -> UnitIndex {
        UnitIndex::new(self.topic_table.units_of(self.topic(topic).index()).start + partition as usize)
    }

    /// The slots in the order of their units.
    fn slots(&self, told: &ProblemBuilder) -> impl Iterator<Item = usize> {
        self.topics.order().flat_map(|topic| told.topics.units_of(topic))
    }

    fn members(&self, told: &mut ProblemBuilder) -> Vec<ProblemMember> {
        let mut members = std::mem::take(&mut told.members);
        let mut ranked = Subscriptions { order: self, known: FxHashMap::default() };
        for (member, topics) in &told.lists {
            members[member.index()].subscription = ranked.of(topics);
        }
        let labels: BTreeSet<Label<'_>> = told.labels.iter().map(|(_, label)| Label(label)).collect();
        let labels: Vec<_> = labels.into_iter().collect();
        for (member, label) in &told.labels {
            let generation = labels.partition_point(|other| *other <= Label(label));
            members[member.index()].generation =
                u32::try_from(generation).expect("members are counted in u32");
        }
        if !self.racks.is_sorted {
            let racks = members.iter_mut().filter_map(|member| member.rack.as_mut());
            racks.for_each(|rack| *rack = self.rack(rack.index()));
        }
        self.members.arranged(members)
    }

    /// By unit what `told` says by slot.
    fn holders(&self, builder: &ProblemBuilder, told: Vec<Option<MemberHandle>>) -> Vec<Option<MemberIndex>> {
        if told.is_empty() {
            return Vec::new();
        }
        if self.topics.is_sorted && self.members.is_sorted && told.len() == builder.topics.units() {
            return told.into_iter().map(|holder| holder.map(MemberIndex::told_in_order)).collect();
        }
        let ranked = |holder: Option<MemberHandle>| holder.map(|handle| self.member(handle));
        let mut holders = Vec::with_capacity(builder.topics.units());
        holders.extend(self.slots(builder).map(|slot| ranked(told.get(slot).copied().flatten())));
        holders
    }

    fn replica_sets(&self, told: &mut ProblemBuilder) -> ReplicaSets {
        let sets = std::mem::take(&mut told.replica_sets);
        sets.sorted(|rack| self.rack(rack.index()), (!self.topics.is_sorted).then(|| self.topics.order()))
    }

    fn weights(&self, told: &ProblemBuilder) -> Vec<Weight> {
        if told.weights.iter().all(|weight| *weight == Weight::ONE) {
            return Vec::new();
        }
        let mut weights = Vec::with_capacity(told.topics.units());
        let of_slot = |slot: usize| told.weights.get(slot).copied().unwrap_or(Weight::ONE);
        weights.extend(self.slots(told).map(of_slot));
        weights
    }

    fn standbys(&self, told: &ProblemBuilder) -> StandbyList {
        let ranked = |((topic, partition, member), lag): &(Pair, u64)| {
            (self.unit(*topic, *partition), Standby { lag: *lag, member: self.member(*member) })
        };
        StandbyList::new(told.topics.units(), told.standbys.iter().map(ranked))
    }

    fn pairs(&self, told: &[Pair]) -> Vec<(UnitIndex, MemberIndex)> {
        sorted_set(
            told.iter()
                .map(|(topic, partition, member)| (self.unit(*topic, *partition), self.member(*member))),
        )
    }
}

/// The table of topics that were told, by `ranks`; the very same where they came in order.
fn topic_table(ranks: &Ranks, told: &Arc<TopicTable>) -> Arc<TopicTable> {
    if ranks.is_sorted {
        return told.clone();
    }
    Arc::new(ranks.order().map(|at| told.list()[at].clone()).collect())
}

pub(super) fn sorted_set<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
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

/// Ranks the topics of subscriptions, of one that members share but once.
struct Subscriptions<'a> {
    order: &'a Order,
    /// By where the list of handles is: all lists were there before the first was ranked, so no two were at one place.
    known: FxHashMap<*const TopicHandle, Subscription<TopicIndex>>,
}

impl Subscriptions<'_> {
    fn of(&mut self, told: &[TopicHandle]) -> Subscription<TopicIndex> {
        if let Some(known) = self.known.get(&told.as_ptr()) {
            return known.clone();
        }
        let ranked = sorted_set(told.iter().map(|topic| self.order.topic(*topic)));
        let ranked = Subscription::of(ranked, self.order.topics.len);
        self.known.insert(told.as_ptr(), ranked.clone());
        ranked
    }
}

/// The order of a list.
struct Ranks {
    len: usize,
    /// True if the old order is the new one. Then nothing else need be known.
    is_sorted: bool,
    /// Positions in the old order, by rank.
    order: Vec<usize>,
    /// By old position.
    rank: Vec<usize>,
}

impl Ranks {
    fn by<T>(items: &[T], is_sorted: bool, compare: impl Fn(&T, &T) -> Ordering) -> Self {
        if is_sorted {
            return Self { len: items.len(), is_sorted, order: Vec::new(), rank: Vec::new() };
        }
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_unstable_by(|a, b| compare(&items[*a], &items[*b]));
        let mut rank = vec![0; items.len()];
        for (at, item) in order.iter().enumerate() {
            rank[*item] = at;
        }
        Self { len: items.len(), is_sorted, order, rank }
    }

    fn rank(&self, old: usize) -> usize {
        if self.is_sorted { old } else { self.rank[old] }
    }

    /// The old positions in the new order.
    fn order(&self) -> impl Iterator<Item = usize> {
        (0..self.len).map(|at| if self.is_sorted { at } else { self.order[at] })
    }

    /// `items` in the new order.
    fn arranged<T: Clone>(&self, items: Vec<T>) -> Vec<T> {
        if self.is_sorted {
            return items;
        }
        self.order.iter().map(|at| items[*at].clone()).collect()
    }
}
