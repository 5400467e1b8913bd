//! Units that may change places, since they weigh the same and the same members may own them: [`units`].

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::{Problem, TopicIndex, UnitIndex, Weight};

/// The most kinds of units that are looked at, the most frequent first: where nearly every unit has a weight of its own, none
/// can change places with another.
const MOST_KINDS: usize = 16;

/// The units of one weight of topics with the same subscribers. Whoever gives one of them for another has as much as before, and can
/// trade with the same members.
#[derive(Debug)]
pub(super) struct AlikeUnits {
    weight: Weight,
    /// The topics that have such units, ascending.
    pub(super) topics: Vec<TopicIndex>,
    /// True if these are all units of the problem, so that members may have more of them or less.
    pub(super) are_all: bool,
}

impl AlikeUnits {
    /// True if the unit is one of them.
    pub(super) fn has(&self, problem: &Problem, unit: UnitIndex) -> bool {
        self.are_all || problem.weight(unit) == self.weight
    }
}

/// The kinds of units of the problem, the most frequent first. Where all weigh the same they are one kind.
pub(super) fn units(problem: &Problem) -> Vec<AlikeUnits> {
    if !problem.has_weights() {
        return vec![AlikeUnits {
            weight: Weight::ONE,
            topics: problem.topic_indices().collect(),
            are_all: true,
        }];
    }
    let mut of_kind: BTreeMap<(Weight, usize), (usize, Vec<TopicIndex>)> = BTreeMap::new();
    let mut audiences: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    for topic in problem.topic_indices() {
        let subscribers =
            problem.member_indices().map(|member| problem.is_subscribed(topic, member)).collect();
        let next = audiences.len();
        let audience = *audiences.entry(subscribers).or_insert(next);
        for (weight, count) in counts(problem, topic) {
            let (all, topics) = of_kind.entry((weight, audience)).or_default();
            *all += count;
            topics.push(topic);
        }
    }
    let mut sorted: Vec<_> = of_kind.into_iter().filter(|(_, (_, topics))| topics.len() > 1).collect();
    sorted.sort_by_key(|(kind, (count, _))| (Reverse(*count), *kind));
    let kinds = sorted.into_iter().take(MOST_KINDS);
    kinds.map(|((weight, _), (_, topics))| AlikeUnits { weight, topics, are_all: false }).collect()
}

/// By weight the number of units of the topic.
fn counts(problem: &Problem, topic: TopicIndex) -> BTreeMap<Weight, usize> {
    let mut counts = BTreeMap::new();
    problem.units_of(topic).for_each(|unit| *counts.entry(problem.weight(unit)).or_default() += 1);
    counts
}
