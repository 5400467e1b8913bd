//! The progress of one warm-up, as its new owner has told it: [`WarmUp`].

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Handoff, Progress};
use kafka_assigner_types::id::TopicPartition;

/// The progress of a handoff's unit, partition by partition: one of them may be done long before another begins, with
/// numbers of its own.
///
/// A report is progress if `done` rises, if one more partition is ready, or when the end becomes known (once per
/// attempt). A growing end is not progress: with a steady producer the deadline would move for ever.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WarmUp {
    /// The most that was reported as done, in the consumer's own unit.
    done: BTreeMap<TopicPartition, u64>,
    /// The partitions whose end is known.
    ends: BTreeSet<TopicPartition>,
    /// The number of partitions that are ready.
    ready: usize,
}

impl WarmUp {
    /// The warm-up of `handoff` when it is first seen.
    pub(super) fn of(handoff: &Handoff) -> Self {
        Self { ready: handoff.said.len(), ..Self::default() }
    }

    /// Takes in a report on `at`; true if it is progress.
    pub(super) fn hear(&mut self, at: &TopicPartition, report: &Progress) -> bool {
        let is_end_new = report.total.is_some() && self.ends.insert(at.clone());
        let done = self.done.entry(at.clone()).or_default();
        let is_more = report.done > *done;
        *done = report.done.max(*done);
        is_more || is_end_new
    }

    /// Takes in which partitions are ready; true if it is one more.
    pub(super) fn hear_ready(&mut self, handoff: &Handoff) -> bool {
        let before = std::mem::replace(&mut self.ready, handoff.said.len());
        self.ready > before
    }
}
