//! From when to when each owner handled a partition.

use std::collections::BTreeMap;

use kafka_assigner_types::id::{Epoch, TopicPartition};

use crate::{Handled, Micros};

/// The records of one partition that one process handled under one epoch.
#[derive(Debug)]
pub(crate) struct Span<'a> {
    pub(crate) process: &'a str,
    pub(crate) first: Micros,
    pub(crate) last: Micros,
}

/// The spans of what was handled, by partition, in the order of the epochs.
pub(crate) fn spans<'a>(
    handled: impl IntoIterator<Item = &'a Handled>,
) -> BTreeMap<&'a TopicPartition, BTreeMap<Epoch, Span<'a>>> {
    let mut spans: BTreeMap<&TopicPartition, BTreeMap<Epoch, Span<'_>>> = BTreeMap::new();
    for handled in handled {
        let of_slot = spans.entry(&handled.slot).or_default();
        of_slot.entry(handled.epoch).and_modify(|span| span.extend(handled)).or_insert(Span::new(handled));
    }
    spans
}

impl<'a> Span<'a> {
    fn new(handled: &'a Handled) -> Self {
        Self { process: &handled.process, first: handled.at, last: handled.at }
    }

    fn extend(&mut self, handled: &Handled) {
        self.first = self.first.min(handled.at);
        self.last = self.last.max(handled.at);
    }
}
