//! The sets of topics that move together.

use std::collections::BTreeMap;

use crate::record::MAX_SET;
use crate::state::{Entry, GroupState};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::TopicName;

/// Topics whose partitions of the same number are one unit. A topic without a label is a set of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Set {
    /// The topics with their partition counts, by name; never empty.
    pub(super) topics: Vec<(TopicName, u32)>,
    /// The fault in the record of one of the topics, where there is one.
    pub(super) unreadable: Option<String>,
}

impl Set {
    /// The set's name: that of its first topic, which belongs to no other set.
    pub(super) fn name(&self) -> &TopicName {
        &self.topics[0].0
    }

    /// The first partition of each of its topics.
    pub(super) fn firsts(&self) -> Vec<TopicPartition> {
        self.topics.iter().map(|(topic, _)| TopicPartition::new(topic.clone(), 0)).collect()
    }

    /// The partitions of the unit `number`: those of its topics that reach so far.
    pub(super) fn unit(&self, number: u32) -> Vec<TopicPartition> {
        let reaching = self.topics.iter().filter(|(_, count)| number < *count);
        reaching.map(|(topic, _)| TopicPartition::new(topic.clone(), number)).collect()
    }

    /// The number of its units: topics of unequal counts go together as far as each reaches.
    pub(super) fn units(&self) -> u32 {
        self.topics.iter().map(|(_, partitions)| *partitions).max().unwrap_or_default()
    }
}

/// The sets of all topics of which anything is known, by their names. A topic that can't be read now counts as
/// what it was last, so that the rest of its set does not move away from it.
pub(super) fn sets(state: &GroupState) -> Vec<Set> {
    let mut labelled: BTreeMap<&str, Set> = BTreeMap::new();
    let mut sets = Vec::new();
    for (name, entry) in state.topics() {
        let Some(topic) = entry.last_good() else { continue };
        let mut single = Set::default();
        let set = match &topic.copartition {
            Some(label) => labelled.entry(label).or_default(),
            None => &mut single,
        };
        set.topics.push((name.clone(), topic.partitions));
        set.unreadable = set.unreadable.take().or_else(|| entry.error().map(str::to_owned));
        sets.extend((!single.topics.is_empty()).then_some(single));
    }
    sets.extend(labelled.into_values());
    sets.sort_by(|a, b| a.name().cmp(b.name()));
    sets
}

/// A co-partitioned set that is too large to move as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the co-partition label {label:?} would have {topics} topics: at most {MAX_SET} can move as one")]
pub struct SetTooLarge {
    /// The label.
    pub label: String,
    /// The number of topics that it would have.
    pub topics: usize,
}

/// Checks that `topic` may carry `label` beside the topics that carry it.
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
