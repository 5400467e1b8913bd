//! The units that sets make of partitions: [`UnitLayout`].

use std::cmp::Reverse;

use crate::problem::{Problem, TopicIndex, UnitIndex};

/// The partitions of each unit. Units are numbered set after set, sets by the name of their longest topic.
#[derive(Debug)]
pub(super) struct UnitLayout {
    /// The longest topic first, those of one length by name.
    pub(super) sets: Vec<Vec<TopicIndex>>,
    /// By unit: where its partitions begin in `partitions`, and at the end their number.
    first: Vec<u32>,
    partitions: Vec<UnitIndex>,
    /// By partition.
    unit_of: Vec<UnitIndex>,
    /// By unit: its set.
    set_of: Vec<u32>,
}

impl UnitLayout {
    pub(super) fn new(problem: &Problem, sets: &[Vec<TopicIndex>]) -> Self {
        let mut layout = Self {
            sets: complete(problem, sets),
            first: vec![0],
            partitions: Vec::with_capacity(problem.units()),
            unit_of: vec![UnitIndex::new(0); problem.units()],
            set_of: Vec::new(),
        };
        for set in 0..layout.sets.len() {
            let longest = problem.topic(layout.sets[set][0]).partitions;
            (0..longest).for_each(|number| layout.add(problem, set, number));
        }
        layout
    }

    fn add(&mut self, problem: &Problem, set: usize, number: u32) {
        let unit = UnitIndex::new(self.set_of.len());
        let reaches = |topic: &&TopicIndex| number < problem.topic(**topic).partitions;
        for topic in self.sets[set].iter().take_while(reaches) {
            let partition = problem.unit(*topic, number);
            self.unit_of[partition.index()] = unit;
            self.partitions.push(partition);
        }
        self.first.push(u32::try_from(self.partitions.len()).expect("units are counted in u32"));
        self.set_of.push(u32::try_from(set).expect("topics are counted in u32"));
    }

    pub(super) fn units(&self) -> impl Iterator<Item = UnitIndex> + use<> {
        (0..self.set_of.len()).map(UnitIndex::new)
    }

    /// The partitions of `unit`, that of the longest topic first.
    pub(super) fn partitions(&self, unit: UnitIndex) -> impl Iterator<Item = UnitIndex> + '_ {
        let positions = self.first[unit.index()] as usize..self.first[unit.index() + 1] as usize;
        self.partitions[positions].iter().copied()
    }

    /// The number of partitions of `unit`; at least one.
    pub(super) fn size(&self, unit: UnitIndex) -> u32 {
        self.first[unit.index() + 1] - self.first[unit.index()]
    }

    pub(super) fn unit_of(&self, partition: UnitIndex) -> UnitIndex {
        self.unit_of[partition.index()]
    }

    /// The set of `unit` and its partition number.
    pub(super) fn place_of(&self, unit: UnitIndex) -> (usize, u32) {
        let set = self.set_of[unit.index()];
        let first = self.set_of.partition_point(|other| *other < set);
        (set as usize, u32::try_from(unit.index() - first).expect("a topic counts partitions in u32"))
    }

    /// True if the set of `unit` has several topics.
    pub(super) fn is_of_set(&self, unit: UnitIndex) -> bool {
        self.sets[self.set_of[unit.index()] as usize].len() > 1
    }

    /// The sizes of the smallest and of the largest unit; of none, one and one.
    pub(super) fn sizes(&self) -> (u32, u32) {
        let sizes = || self.units().map(|unit| self.size(unit));
        (sizes().min().unwrap_or(1), sizes().max().unwrap_or(1))
    }
}

/// All sets that are not empty, those of single topics among them, in the order of their first topics.
fn complete(problem: &Problem, sets: &[Vec<TopicIndex>]) -> Vec<Vec<TopicIndex>> {
    let mut is_in_set = vec![false; problem.topics().len()];
    for topic in sets.iter().flatten() {
        let was_in_set = std::mem::replace(&mut is_in_set[topic.index()], true);
        assert!(!was_in_set, "{topic:?} is in one set, and once");
    }
    let alone = problem.topic_indices().filter(|topic| !is_in_set[topic.index()]).map(|topic| vec![topic]);
    let mut all: Vec<_> = sets.iter().filter(|set| !set.is_empty()).cloned().chain(alone).collect();
    for set in &mut all {
        set.sort_by_key(|topic| (Reverse(problem.topic(*topic).partitions), *topic));
    }
    all.sort_unstable_by_key(|set| set[0]);
    all
}
