//! The topics that consumers take partitions of: [`Interests`].

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_strategies::{Subscription, TopicHandle};

use super::sets::Set;
use crate::record::Consumer;
use crate::state::GroupState;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::name::TopicName;

/// The topics that consumers take. Those of one program are alike, so that each likeness is looked at once.
#[derive(Debug)]
pub(super) struct Interests<'a> {
    /// With the mode in which partitions of the topic's set are granted next.
    topics: Vec<(&'a TopicName, TopicHandle, Mode)>,
    known: BTreeMap<Likeness<'a>, Subscription<TopicHandle>>,
}

/// The part of a consumer that decides which topics it takes: those it subscribes to, and which of all modes it can
/// keep.
type Likeness<'a> = (&'a BTreeSet<TopicName>, [bool; Mode::ALL.len()]);

impl<'a> Interests<'a> {
    pub(super) fn new(
        state: &GroupState,
        sets: &'a [Set],
        handles: &BTreeMap<&'a TopicName, TopicHandle>,
    ) -> Self {
        let of_set = |set: &'a Set| {
            let mode = state.mode_of(&set.firsts());
            set.topics.iter().map(move |(topic, _)| (topic, handles[topic], mode))
        };
        Self { topics: sets.iter().flat_map(of_set).collect(), known: BTreeMap::new() }
    }

    /// A consumer takes a topic that it subscribes to, if it can keep what the mode of the topic's set promises.
    pub(super) fn of(&mut self, consumer: &'a Consumer) -> Subscription<TopicHandle> {
        let keeps = Mode::ALL.map(|mode| consumer.keeps(mode));
        let topics = &self.topics;
        let subscription = || match consumer.topics.is_empty() && keeps == [true; _] {
            true => Subscription::All,
            false => {
                let taken = topics
                    .iter()
                    .filter(|(topic, _, mode)| consumer.keeps(*mode) && consumer.subscribes(topic));
                taken.map(|(_, handle, _)| *handle).collect()
            }
        };
        self.known.entry((&consumer.topics, keeps)).or_insert_with(subscription).clone()
    }
}
