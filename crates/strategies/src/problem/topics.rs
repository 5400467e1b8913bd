//! All topics, and where the units of each are: [`TopicTable`].

use std::ops::Range;
use std::sync::Arc;

use super::directory::Directory;
use crate::ProblemTopic;

/// Topics in some order, and their units in that order. A builder shares one with its clones, and with the problems
/// that they make if it is sorted by name, for as long as no member adds a topic or wants other standbys.
#[derive(Clone, Debug)]
pub(super) struct TopicTable {
    list: Vec<ProblemTopic>,
    directory: Directory,
    /// The first unit of each topic, and at the end the number of units.
    first_unit: Vec<usize>,
    /// The number of standbys that are wanted of all topics.
    wanted_standbys: u64,
}

impl Default for TopicTable {
    fn default() -> Self {
        Self { list: Vec::new(), directory: Directory::default(), first_unit: vec![0], wanted_standbys: 0 }
    }
}

/// Equal if the same topics are in the same order: everything else follows from that.
impl PartialEq for TopicTable {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Eq for TopicTable {}

impl FromIterator<ProblemTopic> for TopicTable {
    /// Those topics, none of which has the name of another.
    fn from_iter<I: IntoIterator<Item = ProblemTopic>>(topics: I) -> Self {
        let mut table = Self::default();
        for topic in topics {
            assert_eq!(table.admit(&topic.name), Ok(()), "every topic is there once");
            table.push(topic);
        }
        table
    }
}

impl TopicTable {
    pub(super) fn list(&self) -> &[ProblemTopic] {
        &self.list
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    #[inline]
    pub(super) fn units(&self) -> usize {
        self.first_unit[self.list.len()]
    }

    pub(super) fn get(&self, topic: usize) -> Option<&ProblemTopic> {
        self.list.get(topic)
    }

    /// The positions of the units of the topic at `topic`.
    ///
    /// # Panics
    ///
    /// If there is no such topic.
    #[inline]
    pub(super) fn units_of(&self, topic: usize) -> Range<usize> {
        self.first_unit[topic]..self.first_unit[topic + 1]
    }

    /// The position of the unit of `partition` of the topic at `topic`, if there is such a topic and it has that many.
    #[inline]
    pub(super) fn unit_of(&self, topic: usize, partition: u32) -> Option<usize> {
        let (first, end) = (self.first_unit.get(topic)?, self.first_unit.get(topic + 1)?);
        Some(first + partition as usize).filter(|position| position < end)
    }

    /// The topic of the unit at `position`, which exists.
    pub(super) fn topic_at(&self, position: usize) -> usize {
        self.first_unit.partition_point(|first| *first <= position) - 1
    }

    /// The position of the topic of that name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.directory.find(&self.list, name)
    }

    /// True if topics are in the order of their names.
    pub(super) fn is_sorted(&self) -> bool {
        self.directory.is_sorted()
    }

    /// Notes the name of a topic that is to be [pushed](Self::push), unless there is one of that name: then the error
    /// is where.
    pub(super) fn admit(&mut self, name: &Arc<str>) -> Result<(), usize> {
        self.directory.admit(&self.list, name)
    }

    /// Adds a topic whose name has just been [admitted](Self::admit).
    pub(super) fn push(&mut self, topic: ProblemTopic) {
        self.first_unit.push(self.units() + topic.partitions as usize);
        self.wanted_standbys += copies(&topic, topic.standbys);
        self.list.push(topic);
    }

    /// Sets how many standbys each unit of the topic at `topic` should have. Returns how many are wanted of all.
    ///
    /// # Panics
    ///
    /// If there is no such topic.
    pub(super) fn want_standbys(&mut self, topic: usize, standbys: u32) -> u64 {
        let told = &mut self.list[topic];
        let before = std::mem::replace(&mut told.standbys, standbys);
        self.wanted_standbys = self.wanted_standbys - copies(told, before) + copies(told, standbys);
        self.wanted_standbys
    }
}

/// The number of standbys of a topic with so many of `each` unit.
fn copies(topic: &ProblemTopic, each: u32) -> u64 {
    u64::from(topic.partitions) * u64::from(each)
}
