//! The unreadable records of partitions, and the members that have to hear of it when that changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Entry, GroupState, Touched};
use crate::record::HandoffRecord;
use kafka_assigner_types::id::TopicPartition;

impl GroupState {
    /// The partitions of which the assignment or the handoff can't be read now.
    #[must_use]
    pub fn unreadable(&self) -> &BTreeSet<TopicPartition> {
        &self.unreadable
    }

    /// The error in the records of a partition, where there is one.
    #[must_use]
    pub fn error_at(&self, at: &TopicPartition) -> Option<&str> {
        self.assignments.get(at).and_then(Entry::error).or_else(|| self.handoff_error(at))
    }

    /// The error in the handoff of a partition, at the partition itself or where its unit's handoff lies.
    #[must_use]
    pub fn handoff_error(&self, at: &TopicPartition) -> Option<&str> {
        let entry = self.handoffs.get(at)?;
        entry.error().or_else(|| match entry.last_good()? {
            HandoffRecord::Reference(to) => self.handoffs.get(&to.lead)?.error(),
            HandoffRecord::Lead(_) => None,
        })
    }

    /// True if a record of some partition can't be read and never could: then nobody knows whom it names.
    #[must_use]
    pub fn has_mysteries(&self) -> bool {
        self.unreadable.iter().any(|at| {
            self.assignments.get(at).is_some_and(|entry| entry.last_good().is_none())
                || self.handoffs.get(at).is_some_and(|entry| entry.last_good().is_none())
        })
    }

    /// The partitions that refer to a handoff which does not exist, in order; something outside removed it.
    pub fn dangling(&self) -> impl Iterator<Item = &TopicPartition> {
        self.handoffs.keys().filter(|at| self.handoff_of(at).is_none() && self.handoff_error(at).is_none())
    }

    /// The partitions whose handoff lies at `lead`. A search, since only what breaks or heals asks for it.
    pub(super) fn references_to(&self, lead: &TopicPartition) -> Vec<TopicPartition> {
        let refers = |entry: &Entry<HandoffRecord>| matches!(entry.last_good(), Some(HandoffRecord::Reference(to)) if to.lead == *lead);
        self.handoffs.iter().filter(|(_, entry)| refers(entry)).map(|(at, _)| at.clone()).collect()
    }

    /// Plans what can't be read again once it can be; and whoever has a role in it that this state never saw
    /// can't be told by name, so everybody is looked at.
    pub(super) fn note_readability(&mut self, at: &TopicPartition, touched: &mut Touched) {
        let is_broken = self.error_at(at).is_some();
        if is_broken != self.unreadable.contains(at) {
            let unreadable = Arc::make_mut(&mut self.unreadable);
            if is_broken {
                unreadable.insert(at.clone())
            } else {
                unreadable.remove(at)
            };
            touched.readability = true;
            touched.routes.extend([at.clone()]);
            for name in self.consumers.keys() {
                touched.member(name.clone()).extend([at.clone()]);
            }
        }
    }
}
