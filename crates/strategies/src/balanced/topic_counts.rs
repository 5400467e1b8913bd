//! The number of units that members have of one topic: [`TopicCounts`].

use std::ops::Range;

use crate::{MemberIndex, Problem, UnitIndex};

/// The scale of levels: units of a topic over capacity.
const ONE: u64 = 1 << 30;

/// By member how many units of the topic at hand it has; the topic follows the units that are looked at.
#[derive(Debug)]
pub(super) struct TopicCounts<'a> {
    problem: &'a Problem,
    positions: Range<usize>,
    /// By member `base` and as many as it has of the topic; what is not above `base` was of topics before.
    counts: Vec<u64>,
    base: u64,
    /// By member: its group, if it is in one.
    group_of: Vec<Option<u32>>,
    /// By group: how many units of the topic its members have, and their capacity in thousandths.
    held: Vec<u64>,
    capacity: Vec<u64>,
}

impl<'a> TopicCounts<'a> {
    pub(super) fn new(problem: &'a Problem, groups: usize) -> Self {
        let members = problem.members().len();
        Self {
            problem,
            positions: 0..0,
            counts: vec![0; members],
            base: 0,
            group_of: vec![None; members],
            held: vec![0; groups],
            capacity: vec![0; groups],
        }
    }

    /// Puts members into `group`, in place of those that were in it.
    pub(super) fn regroup(&mut self, group: usize, members: impl Iterator<Item = MemberIndex>) {
        let number = u32::try_from(group).expect("groups are fewer than members");
        self.group_of.iter_mut().filter(|of| **of == Some(number)).for_each(|of| *of = None);
        (self.held[group], self.capacity[group]) = (0, 0);
        for member in members {
            self.group_of[member.index()] = Some(number);
            self.capacity[group] += self.capacity_of(member);
            self.held[group] += self.count(member);
        }
    }

    fn capacity_of(&self, member: MemberIndex) -> u64 {
        u64::from(self.problem.member(member).capacity.thousandths())
    }

    /// Counts the topic of `unit`, unless it is the one at hand. From then on units that get an owner are to be
    /// [added](Self::add).
    #[inline]
    pub(super) fn turn_to(&mut self, unit: UnitIndex, owner: &[Option<MemberIndex>]) {
        if !self.positions.contains(&unit.index()) {
            self.recount(unit, owner);
        }
    }

    fn recount(&mut self, unit: UnitIndex, owner: &[Option<MemberIndex>]) {
        self.base += self.positions.len() as u64;
        self.held.fill(0);
        let (topic, _) = self.problem.topic_of(unit);
        let first = self.problem.first_unit(topic);
        self.positions = first..first + self.problem.topic(topic).partitions as usize;
        owner[self.positions.clone()].iter().flatten().for_each(|owner| self.add(*owner));
    }

    /// Counts one unit more of the topic at hand.
    #[inline]
    pub(super) fn add(&mut self, member: MemberIndex) {
        let count = &mut self.counts[member.index()];
        *count = self.base.max(*count) + 1;
        if let Some(group) = self.group_of[member.index()] {
            self.held[group as usize] += 1;
        }
    }

    /// The number of units of the topic that `member` has.
    #[inline]
    fn count(&self, member: MemberIndex) -> u64 {
        self.counts[member.index()].saturating_sub(self.base)
    }

    /// The units of the topic that `member` has over its capacity.
    #[inline]
    pub(super) fn level(&self, member: MemberIndex) -> u64 {
        match self.count(member) {
            0 => 0,
            count => count * ONE / self.capacity_of(member),
        }
    }

    /// The same of all members of `group` together.
    #[inline]
    pub(super) fn mean(&self, group: usize) -> u64 {
        match self.held[group] {
            0 => 0,
            held => held * ONE / self.capacity[group].max(1),
        }
    }
}
