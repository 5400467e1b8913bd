//! The units that members give up: [`Releases`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::classes::UnitClass;
use super::equal::{ClassFlow, Flow};
use super::holdings::{ClassHoldings, Holding, Holdings};
use super::owner_runs::OwnerRuns;
use crate::{MemberIndex, Problem, RackIndex, RackReader, UnitIndex};

/// The choice of the units that leave, such that those that take them get topics in turn.
pub(super) struct Releases<'a> {
    problem: &'a Problem,
    /// The number of members that take units.
    takers: u64,
    /// By topic: how many units takers have, and how many look for an owner.
    at_takers: Vec<u64>,
    leaving: Vec<u64>,
}

impl<'a> Releases<'a> {
    pub(super) fn of(problem: &'a Problem, stock: &Holdings, flow: &Flow) -> Self {
        let topics = problem.topics().len();
        let mut releases = Self { problem, takers: 0, at_takers: vec![0; topics], leaving: vec![0; topics] };
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
        let is_unowned = stock.classes.iter().any(|of_class| of_class.unowned > 0);
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
        held: &ClassHoldings,
        runs: &OwnerRuns,
        flow: &ClassFlow,
        owner: &mut [Option<MemberIndex>],
    ) -> Vec<UnitIndex> {
        let mut leaving = Vec::new();
        for (holding, keeps) in held.holdings.iter().zip(&flow.keeps) {
            let surplus = (holding.units - keeps) as usize;
            if *keeps == 0 {
                leaving.extend(runs.descending(holding.last_run));
            } else if surplus > 0 {
                self.some_of(holding, surplus, runs, &mut leaving);
            }
        }
        leaving.iter().for_each(|unit| owner[unit.index()] = None);
        if leaving.len() + held.unowned as usize == class.len() {
            return class.unit_indices().collect();
        }
        leaving.extend(runs.descending(held.last_unowned_run));
        leaving.sort_unstable();
        leaving
    }

    /// Appends to `leaving` as many of the units of one owner as are its `surplus`: of those far from it, if there are
    /// any, and then of the topic in which it has most above what takers have, the last one.
    fn some_of(&mut self, holding: &Holding, surplus: usize, runs: &OwnerRuns, leaving: &mut Vec<UnitIndex>) {
        let (units, mut topics) = self.by_topic(holding, runs);
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

    /// The units of one owner by topic, from the last to the first, in each topic those that are far from it first.
    fn by_topic(&self, holding: &Holding, runs: &OwnerRuns) -> (Vec<UnitIndex>, Vec<TopicHolding>) {
        let mut units: Vec<UnitIndex> = runs.descending(holding.last_run).collect();
        let mut topics = Vec::new();
        let mut start = 0;
        while let Some(unit) = units.get(start) {
            let (topic, _) = self.problem.topic_of(*unit);
            let first = self.problem.first_unit(topic);
            let end = start + units[start..].iter().take_while(|unit| unit.index() >= first).count();
            topics.push(TopicHolding { topic: topic.index(), left: start..end, far_end: start });
            start = end;
        }
        if self.problem.has_replica_racks() {
            let (rack, mut reader) = (self.problem.member(holding.owner).rack, RackReader::of(self.problem));
            for of in &mut topics {
                let of_topic = &mut units[of.left.clone()];
                of_topic.sort_by_cached_key(|unit| !is_far(reader.racks(*unit), rack));
                of.far_end += of_topic.partition_point(|unit| is_far(reader.racks(*unit), rack));
            }
        }
        (units, topics)
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
