//! The history of one partition.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use kafka_assigner_audit::Micros;

use super::tenure::{Change, changes};
use super::{Handled, Step};

/// The history of one partition.
#[derive(Debug)]
pub(super) struct Partition {
    /// In the order of time.
    changes: Vec<Change>,
    /// The times at which a record was handled that had been handled before.
    pub(super) twice: Vec<Micros>,
    /// For each record that nobody handled, when the next one was handled; the end of time where there is none.
    pub(super) lost: Vec<Micros>,
    /// The times at which records were handled, in order.
    handled: Vec<Micros>,
}

impl Partition {
    /// Of what was handled of it, in the order of time, and the offset after its last record.
    pub(super) fn of(handled: &[Handled], end: i64) -> Self {
        let mut first_handled = BTreeMap::new();
        let mut twice = Vec::new();
        for record in handled {
            match first_handled.entry(record.offset) {
                Entry::Vacant(first) => _ = first.insert(record.at),
                Entry::Occupied(_) => twice.push(record.at),
            }
        }
        Self {
            changes: changes(handled),
            twice,
            lost: lost(&first_handled, end),
            handled: handled.iter().map(|record| record.at).collect(),
        }
    }

    /// The changes of hands, each with the step that led to it.
    pub(super) fn changes_in<'a>(&'a self, steps: &'a [Step]) -> Vec<(&'a Step, &'a Change)> {
        let led_to = |change: &Change| steps.iter().find(|step| step.contains(change.at));
        self.changes.iter().filter_map(|change| Some((led_to(change)?, change))).collect()
    }

    /// The longest wait for a record that came within the step.
    pub(super) fn longest_wait(&self, step: &Step) -> Micros {
        let within = self.handled.windows(2).filter(|pair| step.contains(pair[1]));
        within.map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
    }
}

fn lost(first_handled: &BTreeMap<i64, Micros>, end: i64) -> Vec<Micros> {
    let mut lost = Vec::new();
    let mut expected = first_handled.keys().next().copied().unwrap_or(end);
    let missing = |from: i64, to: i64| usize::try_from(to - from).unwrap_or_default();
    for (offset, at) in first_handled {
        lost.extend(std::iter::repeat_n(*at, missing(expected, *offset)));
        expected = offset + 1;
    }
    lost.extend(std::iter::repeat_n(Micros::MAX, missing(expected, end)));
    lost
}
