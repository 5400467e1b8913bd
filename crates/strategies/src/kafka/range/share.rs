//! One topic being shared out.

use super::super::Group;
use crate::{MemberIndex, TopicIndex, UnitIndex};

/// A topic's partitions, and how many of them each subscriber may still get.
pub(super) struct Share<'a> {
    pub(super) members: &'a [MemberIndex],
    first_unit: usize,
    /// By partition.
    is_given: Vec<bool>,
    /// By position in `members`.
    taken: Vec<u32>,
    /// The number of partitions that every member gets.
    quota: u32,
    /// The number of members that may still come to have one more than that.
    longer: u32,
}

impl<'a> Share<'a> {
    pub(super) fn of(group: &Group, topic: TopicIndex, members: &'a [MemberIndex]) -> Self {
        let partitions = group.partitions(topic);
        let count = u32::try_from(members.len()).expect("members are counted in u32");
        Self {
            members,
            first_unit: group.first_unit[topic.index()],
            is_given: vec![false; partitions as usize],
            taken: vec![0; members.len()],
            quota: partitions / count,
            longer: partitions % count,
        }
    }

    /// The number of partitions that the member at `position` may still get.
    pub(super) fn room(&self, position: usize) -> u32 {
        (self.quota + u32::from(self.longer > 0)).saturating_sub(self.taken[position])
    }

    pub(super) fn partitions(&self) -> usize {
        self.is_given.len()
    }

    pub(super) fn is_given(&self, partition: usize) -> bool {
        self.is_given[partition]
    }

    pub(super) fn unit(&self, partition: usize) -> UnitIndex {
        UnitIndex::new(self.first_unit + partition)
    }

    /// Gives `partitions`, all at once, to the member at `position`.
    pub(super) fn give(&mut self, position: usize, partitions: &[usize]) {
        partitions.iter().for_each(|partition| self.is_given[*partition] = true);
        let given = u32::try_from(partitions.len()).expect("a topic counts partitions in u32");
        self.taken[position] += given;
        if given > 0 && self.taken[position] > self.quota {
            self.longer = self.longer.saturating_sub(1);
        }
    }

    /// Gives everything that is left: to each member in order the next partitions, as many as it
    /// has room for.
    pub(super) fn give_runs(&mut self, mut gets: impl FnMut(MemberIndex, UnitIndex)) {
        let mut rest = 0;
        let mut run = Vec::new();
        for position in 0..self.members.len() {
            let room = self.room(position) as usize;
            run.clear();
            while run.len() < room && rest < self.partitions() {
                run.extend((!self.is_given[rest]).then_some(rest));
                rest += 1;
            }
            self.give(position, &run);
            run.iter().for_each(|partition| gets(self.members[position], self.unit(*partition)));
            if rest == self.partitions() {
                return;
            }
        }
    }
}
