//! The partitions that handoffs bring to consumers with a limit: [`Arrivals`].

use std::collections::{BTreeMap, BTreeSet};

use super::sets::Set;
use crate::record::Handoff;
use crate::state::GroupState;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::MemberName;

/// The consumers to which handoffs in flight would bring more than their limit, if the rest of each set came too. A set
/// that grows under a handoff does that, and a limit that is lowered. What a handoff does not move is not bound to such
/// a consumer, and counts as room that is taken.
#[derive(Debug, Default)]
pub(super) struct Arrivals<'a> {
    over: BTreeMap<&'a MemberName, u32>,
    /// The partitions for which consumers with a limit prepare, while it is open whether they get them: they have to fit.
    prepared: BTreeMap<&'a MemberName, u32>,
}

/// The arrivals of one consumer.
#[derive(Debug, Default)]
struct Arriving {
    /// All partitions of the units to which the handoffs belong.
    whole: BTreeSet<TopicPartition>,
    /// The number of those that are moved by handoffs of a part of their unit.
    in_parts: u32,
}

impl<'a> Arrivals<'a> {
    /// Handoffs that only prepare for the end of a session arrive where that `has_ended`.
    pub(super) fn new(state: &'a GroupState, sets: &[Set], has_ended: bool) -> Self {
        let in_flight = state.handoffs().keys().filter_map(|at| state.handoff(at));
        let in_flight = in_flight.filter(|handoff| handoff.phase.is_in_flight());
        let mut arriving: BTreeMap<&MemberName, Arriving> = BTreeMap::new();
        let mut prepared: BTreeMap<&MemberName, u32> = BTreeMap::new();
        for handoff in in_flight.filter(|handoff| limit(state, &handoff.new.name).is_some()) {
            let name = &handoff.new.name;
            match !has_ended && state.leaves_open(handoff) {
                true => *prepared.entry(name).or_default() += count(handoff),
                false => arriving.entry(name).or_default().add(handoff, whole_unit(sets, handoff)),
            }
        }
        let exceeds = |name: &MemberName, arriving: &Arriving| {
            limit(state, name).is_some_and(|limit| arriving.whole.len() > limit as usize)
        };
        let over = arriving.into_iter().filter(|(name, arriving)| exceeds(name, arriving));
        Self { over: over.map(|(name, arriving)| (name, arriving.in_parts)).collect(), prepared }
    }

    /// True if what is bound for `name` would exceed its limit.
    pub(super) fn exceeds(&self, name: &MemberName) -> bool {
        self.over.contains_key(name)
    }

    /// The partitions that `name` may be given beside those that arrive in parts and those for which it prepares; `limit`
    /// where all have room.
    pub(super) fn room(&self, name: &MemberName, limit: u32) -> u32 {
        let beside = |counts: &BTreeMap<&MemberName, u32>| counts.get(name).copied().unwrap_or_default();
        limit.saturating_sub(beside(&self.over)).saturating_sub(beside(&self.prepared))
    }
}

impl Arriving {
    fn add(&mut self, handoff: &Handoff, whole: Vec<TopicPartition>) {
        if handoff.unit.len() < whole.len() {
            self.in_parts += count(handoff);
        }
        self.whole.extend(whole);
    }
}

fn count(handoff: &Handoff) -> u32 {
    u32::try_from(handoff.unit.len()).unwrap_or(u32::MAX)
}

fn limit(state: &GroupState, name: &MemberName) -> Option<u32> {
    state.registration(name)?.max_partitions
}

/// All partitions of the unit of which `handoff` moves some; empty where its topic is gone.
fn whole_unit(sets: &[Set], handoff: &Handoff) -> Vec<TopicPartition> {
    let lead = handoff.lead();
    let of_lead = |set: &&Set| set.topics.iter().any(|(topic, _)| *topic == lead.topic);
    sets.iter().find(of_lead).map(|set| set.unit(lead.partition)).unwrap_or_default()
}
