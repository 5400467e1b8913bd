//! The units that members give up: [`Releases`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::classes::UnitClass;
use super::equal::{ClassFlow, Flow};
use super::holdings::{ClassHoldings, Holding, Holdings};
use super::roles::Roles;
use crate::{MemberIndex, Problem, RackIndex, RackReader, TopicIndex, UnitIndex};

/// The choice of the units that leave, such that those that take them get topics in turn.
pub(super) struct Releases<'a> {
    problem: &'a Problem,
    roles: &'a Roles,
    /// By member: the position of its units of the class at hand, if not all of them stay.
    positions: Vec<Option<u32>>,
    /// The number of members that take units.
    takers: u64,
    /// By topic: how many units takers have, and how many look for an owner.
    at_takers: Vec<u64>,
    leaving: Vec<u64>,
}

impl<'a> Releases<'a> {
    pub(super) fn of(problem: &'a Problem, roles: &'a Roles, stock: &Holdings, flow: &Flow) -> Self {
        let topics = problem.topics().len();
        let mut releases = Self {
            problem,
            roles,
            positions: vec![None; problem.members().len()],
            takers: 0,
            at_takers: vec![0; topics],
            leaving: vec![0; topics],
        };
        let is_part = |(holding, keeps): (&Holding, &u32)| 0 < *keeps && *keeps < holding.units;
        let parts =
            |(held, flow): (&ClassHoldings, &ClassFlow)| held.holdings.iter().zip(&flow.keeps).any(is_part);
        if stock.classes.iter().zip(&flow.classes).any(parts) {
            releases.count(stock, flow);
        }
        releases
    }

    /// Counts what takers have and what has no owner, by topic.
    fn count(&mut self, stock: &Holdings, flow: &Flow) {
        let takes = |member: MemberIndex| flow.takes[member.index()] > 0;
        let has_any = |member: MemberIndex| takes(member) && stock.loads[member.index()] > 0;
        self.takers = self.problem.member_indices().filter(|member| takes(*member)).count() as u64;
        let is_counted = self.problem.member_indices().any(has_any);
        let is_unowned = stock.classes.iter().any(|of_class| !of_class.unowned.is_empty());
        if !is_counted && !is_unowned {
            return;
        }
        for topic in self.problem.topic_indices() {
            for unit in self.problem.units_of(topic) {
                match stock.owner[unit.index()] {
                    Some(owner) => self.at_takers[topic.index()] += u64::from(takes(owner)),
                    None => self.leaving[topic.index()] += 1,
                }
            }
        }
    }

    /// Takes from owners what they do not keep of `class`; returns that and what no member has, ascending.
    pub(super) fn of_class(
        &mut self,
        class: &UnitClass,
        held: ClassHoldings,
        flow: &ClassFlow,
        owner: &mut [Option<MemberIndex>],
    ) -> Vec<UnitIndex> {
        let ClassHoldings { holdings, unowned: mut leaving } = held;
        let surplus = |(holding, keeps): (&Holding, &u32)| (holding.owner, holding.units - keeps);
        let surplus = holdings.iter().zip(&flow.keeps).map(surplus).filter(|(_, surplus)| *surplus > 0);
        let surplus: Vec<_> = surplus.collect();
        if surplus.is_empty() {
            return leaving;
        }
        for ((giver, surplus), units) in surplus.iter().zip(self.lists(class, &surplus, owner)) {
            match *surplus as usize {
                all if all == units.len() => leaving.extend(units),
                some => self.some_of(*giver, units, some, &mut leaving),
            }
        }
        leaving.iter().for_each(|unit| owner[unit.index()] = None);
        leaving.sort_unstable();
        leaving
    }

    /// The units of `class` that each of those with a `surplus` has and may give; the last unit first.
    fn lists(
        &mut self,
        class: &UnitClass,
        surplus: &[(MemberIndex, u32)],
        owner: &[Option<MemberIndex>],
    ) -> Vec<Vec<UnitIndex>> {
        for ((giver, _), at) in surplus.iter().zip(0..) {
            self.positions[giver.index()] = Some(at);
        }
        let mut lists = vec![Vec::new(); surplus.len()];
        let positions = &self.positions[..];
        for units in class.units.iter().rev() {
            for (at, owner) in owner[units.clone()].iter().enumerate().rev() {
                let Some(list) = owner.and_then(|owner| positions[owner.index()]) else { continue };
                let unit = UnitIndex::new(units.start + at);
                if self.roles.keeper(self.problem, unit, *owner).is_none() {
                    lists[list as usize].push(unit);
                }
            }
        }
        surplus.iter().for_each(|(giver, _)| self.positions[giver.index()] = None);
        lists
    }

    /// Appends to `leaving` as many of the `units` of `owner`, the last of which comes first, as are its `surplus`: of
    /// those far from it, if there are any, and then of the topic in which it has most above what takers have, the last
    /// one.
    fn some_of(
        &mut self,
        owner: MemberIndex,
        mut units: Vec<UnitIndex>,
        surplus: usize,
        leaving: &mut Vec<UnitIndex>,
    ) {
        let mut topics = self.by_topic(owner, &mut units);
        let mut queue: BinaryHeap<_> =
            topics.iter().enumerate().map(|(at, of)| Reverse((self.key(of), at))).collect();
        let enough = leaving.len() + surplus;
        while leaving.len() < enough
            && let Some(Reverse((known, at))) = queue.pop()
        {
            let key = self.key(&topics[at]);
            if key == known {
                let of = &mut topics[at];
                leaving.push(units[of.left.start]);
                of.left.start += 1;
                self.leaving[of.topic] += 1;
            }
            if !topics[at].left.is_empty() {
                queue.push(Reverse((self.key(&topics[at]), at)));
            }
        }
    }

    /// The topics of the `units` of `owner`, the last of which come first. In each topic those that are far from the owner
    /// come first afterwards.
    fn by_topic(&self, owner: MemberIndex, units: &mut [UnitIndex]) -> Vec<TopicHolding> {
        let mut topics: Vec<TopicHolding> = Vec::new();
        let mut start = 0;
        while let Some(unit) = units.get(start) {
            let topic = self.topic_of(*unit, topics.last());
            let first = self.problem.first_unit(topic);
            let end = start + units[start..].iter().take_while(|unit| unit.index() >= first).count();
            topics.push(TopicHolding { topic: topic.index(), left: start..end, far_end: start });
            start = end;
        }
        if self.problem.has_replica_racks() {
            let (rack, mut reader) = (self.problem.member(owner).rack, RackReader::of(self.problem));
            for of in &mut topics {
                let of_topic = &mut units[of.left.clone()];
                of_topic.sort_by_cached_key(|unit| !is_far(reader.racks(*unit), rack));
                of.far_end += of_topic.partition_point(|unit| is_far(reader.racks(*unit), rack));
            }
        }
        topics
    }

    /// The topic of `unit`, which mostly is the one before that of the unit looked at `last`.
    fn topic_of(&self, unit: UnitIndex, last: Option<&TopicHolding>) -> TopicIndex {
        let before = last.and_then(|last| last.topic.checked_sub(1)).map(TopicIndex::new);
        let is_of = |topic: &TopicIndex| self.problem.first_unit(*topic) <= unit.index();
        before.filter(is_of).unwrap_or_else(|| self.problem.topic_of(unit).0)
    }

    /// The lower, the sooner the next unit of the topic leaves.
    fn key(&self, of: &TopicHolding) -> (bool, i64, u64) {
        let leaving = self.leaving[of.topic];
        let takers = (self.at_takers[of.topic] + leaving).checked_div(self.takers).unwrap_or(leaving);
        let above = of.left.len() as i64 - takers as i64;
        (of.left.start >= of.far_end, -above, leaving)
    }
}

/// The units of one topic that one member still has.
struct TopicHolding {
    topic: usize,
    /// The positions of its units in the list of the member's units.
    left: Range<usize>,
    /// The end of those that are far from the member.
    far_end: usize,
}

/// True if a unit with replicas in `racks` is known to have none in `rack`, the rack of its owner.
fn is_far(racks: &[RackIndex], rack: Option<RackIndex>) -> bool {
    rack.is_some_and(|rack| !racks.is_empty() && !racks.contains(&rack))
}
