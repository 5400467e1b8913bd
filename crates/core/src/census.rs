//! A group in numbers, for lists and metrics.

use std::collections::BTreeMap;

use crate::id::TopicPartition;
use crate::record::Phase;
use crate::state::{Entry, GroupState, Presence};

/// How many there are of what, in one group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    /// Registered consumers, also those whose registration can't be read.
    pub consumers: usize,
    /// Registered routers, likewise.
    pub routers: usize,
    /// Topics.
    pub topics: usize,
    /// Partitions of those topics.
    pub partitions: u64,
    /// Those of them that nobody owns, or whose owner's session is over; see [`is_owned`].
    pub unowned: u64,
    /// Those whose owner has not confirmed yet that it goes on in another mode.
    pub switching: usize,
    /// Handoffs by their phase, one for each unit; phases without any are missing.
    pub handoffs: BTreeMap<Phase, usize>,
}

/// Counts everything; takes time in proportion to the group's records.
#[must_use]
pub fn census(state: &GroupState) -> Census {
    let partitions: u64 = topic_sizes(state).map(|(_, partitions)| u64::from(partitions)).sum();
    let owned = state.assignments().keys().filter(|at| exists(state, at) && is_owned(state, at)).count();
    let assignments = state.assignments().values().filter_map(Entry::last_good);
    let switching = assignments.filter(|assignment| assignment.switching.is_some()).count();
    let mut handoffs = BTreeMap::new();
    for handoff in state.handoffs().keys().filter_map(|at| state.handoff(at)) {
        *handoffs.entry(handoff.phase).or_default() += 1;
    }
    Census {
        consumers: state.consumers().len(),
        routers: state.routers().len(),
        topics: state.topics().len(),
        partitions,
        unowned: partitions.saturating_sub(u64::try_from(owned).unwrap_or(u64::MAX)),
        switching,
        handoffs,
    }
}

fn topic_sizes(state: &GroupState) -> impl Iterator<Item = (&crate::name::TopicName, u32)> {
    state.topics().iter().map(|(name, entry)| (name, Entry::last_good(entry).map_or(0, |t| t.partitions)))
}

fn exists(state: &GroupState, at: &TopicPartition) -> bool {
    state.topics().get(&at.topic).and_then(Entry::last_good).is_some_and(|t| at.partition < t.partitions)
}

/// Whether somebody owns `at` whose session is not known to be over. In the strict modes it is over as soon as it is being
/// ended: its owner is fenced, and nobody works until its claim is over. In `overlap` another owner is granted at once.
#[must_use]
pub fn is_owned(state: &GroupState, at: &TopicPartition) -> bool {
    let Some(assignment) = state.assignment(at) else { return false };
    let presence = assignment.owner.as_ref().map(|owner| state.presence(&owner.member()));
    match presence {
        None | Some(Presence::Gone) => false,
        Some(Presence::Ending) => !assignment.mode.is_strict(),
        Some(Presence::Here | Presence::Unknown) => true,
    }
}

/// Every partition of the group in order, from `from` on: those of its topics, and those that are assigned though
/// their topic does not have them any more.
pub fn partitions<'s>(
    state: &'s GroupState,
    from: Option<&TopicPartition>,
) -> impl Iterator<Item = TopicPartition> + 's {
    let from = from.cloned();
    let mut sizes: BTreeMap<&crate::name::TopicName, u32> = topic_sizes(state).collect();
    for at in state.assignments().keys() {
        let size = sizes.entry(&at.topic).or_default();
        *size = (*size).max(at.partition.saturating_add(1));
    }
    sizes
        .into_iter()
        .flat_map(move |(topic, size)| {
            let start = match &from {
                Some(from) if from.topic > *topic => size,
                Some(from) if from.topic == *topic => from.partition,
                _ => 0,
            };
            (start..size).map(|partition| TopicPartition::new(topic.clone(), partition))
        })
        .filter(|at| exists(state, at) || state.assignments().contains_key(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::lab::{Lab, tp};
    use crate::reason::FenceReason;
    use crate::record::{Consumer, GroupConfig, Mode, Standing, encode};

    #[test]
    fn a_partition_counts_as_unowned_until_it_is_granted_and_again_when_its_owner_is_gone() {
        let mut lab = Lab::with_topics(&[("t", 3)]);
        assert_eq!(census(&lab.state).unowned, 3);
        lab.join("a");
        lab.settle();
        let counted = census(&lab.state);
        assert_eq!((counted.consumers, counted.partitions, counted.unowned), (1, 3, 0));
        lab.crash("a");
        assert_eq!(census(&lab.state).unowned, 3);
    }

    #[test]
    fn in_the_strict_modes_a_partition_whose_owner_is_fenced_counts_as_unowned_and_in_overlap_not() {
        for (mode, unowned) in [(Mode::Overlap, 0), (Mode::Exclusive, 2), (Mode::Routed, 2)] {
            let mut lab = Lab::with_topics(&[("t", 2)]);
            lab.configure(&GroupConfig { mode, ..GroupConfig::default() });
            let a = lab.join("a");
            lab.settle();
            let key = Key::Consumer(a.name);
            let consumer: Consumer = lab.stored(&key);
            let standing = Standing::Ending(FenceReason::NoProgress);
            lab.put(&key, encode(&Consumer { standing, ..consumer }));
            assert_eq!(census(&lab.state).unowned, unowned, "{mode}");
        }
    }

    #[test]
    fn handoffs_are_counted_by_phase() {
        let mut lab = Lab::with_topics(&[("t", 4)]);
        lab.join("a");
        lab.settle();
        lab.join("b");
        lab.pass();
        assert_eq!(census(&lab.state).handoffs, BTreeMap::from([(Phase::Warming, 2)]));
    }

    #[test]
    fn partitions_come_in_order_with_those_that_their_topic_lost() {
        let mut lab = Lab::with_topics(&[("a", 2), ("b", 2)]);
        lab.join("c");
        lab.settle();
        lab.topic("a", 1);
        let all = [tp("a", 0), tp("a", 1), tp("b", 0), tp("b", 1)];
        assert_eq!(partitions(&lab.state, None).collect::<Vec<_>>(), all);
        assert_eq!(partitions(&lab.state, Some(&tp("a", 1))).collect::<Vec<_>>(), all[1..]);
    }
}
