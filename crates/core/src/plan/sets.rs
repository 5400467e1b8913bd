//! Which topics move together.

use std::collections::BTreeMap;

use crate::name::TopicName;
use crate::record::MAX_SET;
use crate::state::{Entry, GroupState};

/// Topics whose partitions of the same number are one unit. A topic without a label is a set of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Set {
    /// The topics with their partition counts, by name; never empty.
    pub(super) topics: Vec<(TopicName, u32)>,
}

impl Set {
    /// The set's name: that of its first topic, which belongs to no other set.
    pub(super) fn name(&self) -> &TopicName {
        &self.topics[0].0
    }

    /// How many units it has: topics of unequal counts go together as far as each reaches.
    pub(super) fn units(&self) -> u32 {
        self.topics.iter().map(|(_, partitions)| *partitions).max().unwrap_or_default()
    }
}

/// The sets of all topics that can be read, by their names.
pub(super) fn sets(state: &GroupState) -> Vec<Set> {
    let mut labelled: BTreeMap<&str, Vec<(TopicName, u32)>> = BTreeMap::new();
    let mut sets = Vec::new();
    for (name, topic) in state.topics().iter().filter_map(|(name, entry)| Some((name, entry.readable()?))) {
        match &topic.copartition {
            Some(label) => labelled.entry(label).or_default().push((name.clone(), topic.partitions)),
            None => sets.push(Set { topics: vec![(name.clone(), topic.partitions)] }),
        }
    }
    sets.extend(labelled.into_values().map(|topics| Set { topics }));
    sets.sort_by(|a, b| a.name().cmp(b.name()));
    sets
}

/// A co-partitioned set that is too large to move as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the co-partition label {label:?} would have {topics} topics: at most {MAX_SET} can move as one")]
pub struct SetTooLarge {
    /// The label.
    pub label: String,
    /// How many topics it would have.
    pub topics: usize,
}

/// Whether `topic` may carry `label` beside the topics that carry it.
///
/// # Errors
/// [`SetTooLarge`] where the set's writes would not fit into one transaction.
pub fn check_sets(state: &GroupState, topic: &TopicName, label: &str) -> Result<(), SetTooLarge> {
    let others = state
        .topics()
        .iter()
        .filter(|(name, _)| *name != topic)
        .filter_map(|(_, entry)| Entry::last_good(entry)?.copartition.as_deref())
        .filter(|other| *other == label)
        .count();
    let topics = others + 1;
    if topics > MAX_SET { Err(SetTooLarge { label: label.to_owned(), topics }) } else { Ok(()) }
}
