//! Where replicas of units are: sets of racks, each kept once.

use rustc_hash::FxHashMap;

use crate::{RackHandle, RackIndex};

/// The racks that the replicas of a unit are in; empty if that is unknown. Units share their sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RackSets {
    /// Each sorted and distinct; the first is empty.
    sets: Vec<Vec<RackIndex>>,
    /// By unit: its set. Empty if no unit has any.
    of_unit: Vec<u32>,
}

impl RackSets {
    pub(crate) fn of(&self, unit: usize) -> &[RackIndex] {
        &self.sets[self.of_unit.get(unit).map_or(0, |set| *set as usize)]
    }
}

/// Collects the rack sets of units by handle.
#[derive(Clone, Debug)]
pub(super) struct RackSetsBuilder {
    sets: Vec<Vec<RackHandle>>,
    numbers: FxHashMap<Vec<RackHandle>, u32>,
    /// By slot.
    of_slot: Vec<u32>,
}

impl Default for RackSetsBuilder {
    fn default() -> Self {
        let numbers = FxHashMap::from_iter([(Vec::new(), 0)]);
        Self { sets: vec![Vec::new()], numbers, of_slot: Vec::new() }
    }
}

impl RackSetsBuilder {
    /// Says in which racks the unit at `slot`, one of `slots`, has replicas; any order, repeats too.
    pub(super) fn set(&mut self, slot: usize, slots: usize, racks: &[RackHandle]) {
        if self.of_slot.len() < slots {
            self.of_slot.resize(slots, 0);
        }
        self.of_slot[slot] = self.number(racks);
    }

    fn number(&mut self, racks: &[RackHandle]) -> u32 {
        if let Some(number) = self.numbers.get(racks) {
            return *number;
        }
        let mut sorted = racks.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let next = u32::try_from(self.sets.len()).expect("there are no more sets than units");
        let number = *self.numbers.entry(sorted.clone()).or_insert(next);
        if number == next {
            self.sets.push(sorted);
        }
        self.numbers.insert(racks.to_vec(), number);
        number
    }

    /// The sets with racks by rank, and units in the order of `slots`. Sets are numbered by what is
    /// in them, not by when they came.
    pub(super) fn sorted(
        &self,
        rank: impl Fn(RackHandle) -> RackIndex,
        slots: impl Iterator<Item = usize>,
    ) -> RackSets {
        let by_rank = |set: &Vec<RackHandle>| {
            let mut racks: Vec<_> = set.iter().map(|handle| rank(*handle)).collect();
            racks.sort_unstable();
            racks
        };
        let ranked: Vec<_> = self.sets.iter().map(by_rank).collect();
        let mut order: Vec<usize> = (0..ranked.len()).collect();
        order.sort_unstable_by(|a, b| ranked[*a].cmp(&ranked[*b]));
        let mut number = vec![0; order.len()];
        for (new, old) in (0..).zip(&order) {
            number[*old] = new;
        }
        let of = |slot: usize| self.of_slot.get(slot).map_or(0, |set| number[*set as usize]);
        let of_unit = if self.of_slot.is_empty() { Vec::new() } else { slots.map(of).collect() };
        RackSets { sets: order.into_iter().map(|old| ranked[old].clone()).collect(), of_unit }
    }
}
