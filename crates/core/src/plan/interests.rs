//! Which sets consumers take: [`Interests`].

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_strategies::{Subscription, TopicHandle};

use super::sets::Set;
use crate::name::TopicName;
use crate::record::{Consumer, Mode};
use crate::state::GroupState;

/// What consumers take of a group's sets. Those of one program are alike, so that what each takes is found out but once.
#[derive(Debug)]
pub(super) struct Interests<'a> {
    /// With the mode in which the set is granted next.
    sets: Vec<(TopicHandle, &'a Set, Mode)>,
    known: BTreeMap<Likeness<'a>, Interest>,
}

/// What decides which sets a consumer takes: the topics it subscribes to, which of all modes it can keep, and its limit.
type Likeness<'a> = (&'a BTreeSet<TopicName>, [bool; Mode::ALL.len()], Option<u32>);

/// What a consumer takes.
#[derive(Debug, Clone)]
pub(super) struct Interest {
    pub(super) subscription: Subscription<TopicHandle>,
    /// How many partitions the largest unit has that it takes; at least one.
    pub(super) largest_unit: u32,
}

impl<'a> Interests<'a> {
    pub(super) fn new(state: &GroupState, sets: impl IntoIterator<Item = (TopicHandle, &'a Set)>) -> Self {
        let with_mode = |(topic, set): (_, &'a Set)| (topic, set, state.mode_of(&set.firsts()));
        Self { sets: sets.into_iter().map(with_mode).collect(), known: BTreeMap::new() }
    }

    pub(super) fn of(&mut self, consumer: &'a Consumer) -> Interest {
        let keeps = Mode::ALL.map(|mode| consumer.keeps(mode));
        let sets = &self.sets;
        let likeness = (&consumer.topics, keeps, consumer.max_partitions);
        self.known.entry(likeness).or_insert_with(|| interest(sets, consumer, keeps == [true; _])).clone()
    }
}

/// A consumer takes a set where it subscribes to all of its topics, can keep what their mode promises, and takes as many
/// partitions as move together. Where it takes none at all, its limit says so by itself.
fn interest(sets: &[(TopicHandle, &Set, Mode)], consumer: &Consumer, keeps_all: bool) -> Interest {
    let most = consumer.max_partitions.filter(|most| *most > 0).map_or(usize::MAX, |most| most as usize);
    let takes = |set: &Set, mode: Mode| {
        let subscribes = set.topics.iter().all(|(topic, _)| consumer.subscribes(topic));
        consumer.keeps(mode) && subscribes && set.sizes()[1] <= most
    };
    let taken = || sets.iter().filter(|(_, set, mode)| takes(set, *mode));
    let largest = taken().map(|(_, set, _)| set.sizes()[1]).max().unwrap_or_default().max(1);
    let subscription = match consumer.topics.is_empty() && keeps_all && most == usize::MAX {
        true => Subscription::All,
        false => taken().map(|(topic, ..)| *topic).collect(),
    };
    Interest { subscription, largest_unit: u32::try_from(largest).unwrap_or(u32::MAX) }
}
